"""gpssm: learn a dynamical system from data with a Gaussian-process state-space model.

`gpssm.fit(data, method)` learns; methods are objects. What it returns simulates, forecasts and predicts, and can be
saved, reported on and compared.
"""

import gc
import time
from importlib import import_module
from types import ModuleType

__version__ = "0.1.0"
BEGAN = globals().get("BEGAN") or time.time_ns()
"""Before any other module of the package was read, the first time: what is written there later may not be what runs."""

# Importing JAX takes a second or more. Nothing is imported before it is asked for, so that the command line answers at
# once and data are checked without JAX. Type checkers read `__init__.pyi`, which says the same.
_PUBLIC = {
    "gpssm._core._devices": ("Devices",),
    "gpssm._core._distributed": ("distributed",),
    "gpssm._core._errors": ("FileError",),
    "gpssm._core._history": ("History",),
    "gpssm._core._result": (
        "FitError",
        "Result",
    ),
    "gpssm.data": (
        "DataError",
        "Episode",
        "Episodes",
        "Scaler",
    ),
    "gpssm.evaluate": (
        "Selection",
        "judge",
        "select",
    ),
    "gpssm.files": (
        "Checkpoints",
        "describe",
        "load",
        "save",
    ),
    "gpssm.fitting": (
        "Console",
        "Fit",
        "Silent",
    ),
    "gpssm.methods": (
        "ARX",
        "GPNARX",
        "Auto",
        "BestOf",
        "Constant",
        "GPCorrection",
        "Linear",
        "Marginal",
        "Mixture",
        "ModelSpec",
        "Network",
        "OutputError",
        "PerStep",
        "Polished",
        "Restarts",
        "Stacked",
        "Subspace",
        "Then",
        "Variational",
        "fit",
    ),
    "gpssm.predict": (
        "Rollout",
        "System",
    ),
    "gpssm.readers": ("read",),
    "gpssm.reporting": (
        "compare",
        "report",
    ),
}
_MODULES = (
    "baselines",
    "control",
    "data",
    "evaluate",
    "files",
    "filters",
    "fitting",
    "inference",
    "kernels",
    "methods",
    "metrics",
    "models",
    "optimisers",
    "plots",
    "pools",
    "predict",
    "readers",
    "reporting",
    "systems",
)
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted([*_HOME, *_MODULES])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name in _MODULES:
        return _imported(f"gpssm.{name}")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'gpssm' has no attribute {name!r}")
    value = getattr(_imported(home), name)
    globals()[name] = value
    return value


def _imported(name: str) -> ModuleType:
    """The module, without looking for garbage meanwhile: two thousand modules leave none, and each look at what they
    have made takes a third of a second."""
    looks = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        if looks:
            gc.enable()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
