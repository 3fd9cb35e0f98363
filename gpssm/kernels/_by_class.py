"""Functions that do something else for each class of kernels, and know GPJax's as soon as there are any."""

import sys
from functools import singledispatch, wraps
from typing import TYPE_CHECKING, Any

from gpssm._core._code_state import part_of_programs
from gpssm.kernels._late import everything

if TYPE_CHECKING:
    by_class = singledispatch  # which it is, to whoever uses it
else:

    def by_class(function):
        """As `functools.singledispatch`; what the package itself registers is there whenever it matters.

        Those rules are for classes of GPJax and cannot be written without importing it, and nobody has a kernel, or a
        class to register, before it was imported. So they come first, as if they had been registered at once.
        """
        rules = singledispatch(function)

        def known() -> Any:
            if "gpjax" in sys.modules:
                everything()
            return rules

        def dispatch(cls):
            return known().dispatch(cls)

        def register(cls, func=None):
            return known().register(cls, func)

        @wraps(function)
        def answer(kernel, /, *args, **kwargs):
            return dispatch(type(kernel))(kernel, *args, **kwargs)

        answer.dispatch, answer.register, answer.registry = dispatch, register, rules.registry
        part_of_programs(known)
        return answer
