"""GPJax, imported when a kernel is needed for the first time, wherever that is."""

import sys
from importlib import import_module
from types import ModuleType

import jax

from gpssm._core._garbage import set_aside

ALL = "gpssm.kernels._all"


def everything() -> ModuleType:
    """The package's own kernels, and its rules for GPJax's."""
    if ALL in sys.modules:
        return import_module(ALL)  # it waits for whoever has begun to import it
    # GPJax makes arrays when it is imported. Within a function that is being traced, they would belong to that.
    with set_aside(), jax.ensure_compile_time_eval():
        return import_module(ALL)
