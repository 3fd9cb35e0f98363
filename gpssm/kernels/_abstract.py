"""GPJax's abstract kernel for annotations and `isinstance`, without importing GPJax.

GPJax takes half a second to import, and linear methods need none of it. Type checkers read its own class here. At run
time a class stands for that: it can be checked against, by us, by equinox and by what checks annotations in tests, and
nothing can inherit from it. What makes kernels, or inherits from the class, imports GPJax, within this package only.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpjax.kernels import AbstractKernel as AbstractKernel
else:

    class _StandsFor(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return cls.__subclasscheck__(type(instance))

        def __subclasscheck__(cls, subclass: type) -> bool:
            # Nothing is a kernel before GPJax has been imported, by whomever.
            if subclass is cls or "gpjax" not in sys.modules:
                return subclass is cls
            from gpjax.kernels import AbstractKernel

            return issubclass(subclass, AbstractKernel)

    class AbstractKernel(metaclass=_StandsFor):
        """A kernel of GPJax, or one that inherits from `gpjax.kernels.AbstractKernel`."""

        def __init_subclass__(cls) -> None:
            raise TypeError(f"{cls.__name__}: kernels inherit from gpjax.kernels.AbstractKernel")
