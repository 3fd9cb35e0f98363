"""The classes that a model file may name: those of the package, and those that users register. Loading makes objects of
these and of no others."""

import inspect
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TypeVar, overload

import paramax

from gpssm._core._linalg import Factor
from gpssm._core._params import LowerTriangular, Positive
from gpssm.data import Recipe, Scaler
from gpssm.inference.recognition import GRU, BiRNN, TanhRNN
from gpssm.inference.recognition._birnn import Head
from gpssm.models._gpssm import GPSSM
from gpssm.models._joint import JointPosterior, SampledPosterior
from gpssm.models._sampled_models import SampledModels
from gpssm.models.emission import LinearGaussian, Magnitude
from gpssm.models.transition import (
    FadingMean,
    IdentityMean,
    LinearMean,
    LinearTransition,
    SparseGP,
    StableMean,
)
from gpssm.models.transition._basis import Basis
from gpssm.models.transition._sparse_dynamics import SparseDynamics
from gpssm.models.transition._stable import StableMatrices
from gpssm.predict import (
    Autoregression,
    Channels,
    ConstantPredictor,
    Lags,
    LinearPredictor,
    LinearSystem,
    MixturePredictor,
    RepeatPredictor,
    System,
)
from gpssm.predict.autoregression import LinearRegression, NoMean, SparseRegression
from gpssm.predict.autoregression._exact_gp import ExactGP, Prior

# A name in this table is part of the file format: it stays when a class moves or is renamed. Those that need GPJax are
# in `_kernel_classes`, which is imported when a file names one, or holds one: files of linear models do not.
CLASSES: dict[str, type] = {
    "gpssm.GPSSM": GPSSM,
    "gpssm.JointPosterior": JointPosterior,
    "gpssm.SampledPosterior": SampledPosterior,
    "gpssm.SampledModels": SampledModels,
    "gpssm.SparseGP": SparseGP,
    "gpssm.Linear": LinearTransition,
    "gpssm.KeepState": IdentityMean,
    "gpssm.FadingMean": FadingMean,
    "gpssm.LinearMean": LinearMean,
    "gpssm.StableMean": StableMean,
    "gpssm.StableMatrices": StableMatrices,
    "gpssm.LinearGaussian": LinearGaussian,
    "gpssm.Magnitude": Magnitude,
    "gpssm.BiRNN": BiRNN,
    "gpssm.BiRNN.Head": Head,
    "gpssm.GRU": GRU,
    "gpssm.TanhRNN": TanhRNN,
    "gpssm.Positive": Positive,
    "gpssm.LowerTriangular": LowerTriangular,
    "gpssm.System": System,
    "gpssm.Autoregression": Autoregression,
    "gpssm.MixturePredictor": MixturePredictor,
    "gpssm.ConstantPredictor": ConstantPredictor,
    "gpssm.RepeatPredictor": RepeatPredictor,
    "gpssm.LinearPredictor": LinearPredictor,
    "gpssm.LinearSystem": LinearSystem,
    "gpssm.Channels": Channels,
    "gpssm.Scaler": Scaler,
    "gpssm.Recipe": Recipe,
    "gpssm.Lags": Lags,
    "gpssm.LinearRegression": LinearRegression,
    "gpssm.SparseRegression": SparseRegression,
    "gpssm.ExactGP": ExactGP,
    "gpssm.ExactGP.Prior": Prior,
    "gpssm.NoMean": NoMean,
    "gpssm.SparseDynamics": SparseDynamics,
    "gpssm.Basis": Basis,
    "gpssm.Factor": Factor,
    "paramax.NonTrainable": paramax.NonTrainable,
}

# Classes that work without JAX: their arrays are NumPy's.
ON_HOST = (Scaler, ConstantPredictor, LinearSystem, RepeatPredictor)

C = TypeVar("C", bound=type)

_RESERVED = ("gpssm", "gpjax", "paramax")
_WITH_GPJAX = ("gpssm.kernels.", "gpjax.")
"""How names and modules of classes begin that need GPJax."""
_names: dict[type, str] = {cls: name for name, cls in CLASSES.items()}
_registered: dict[str, type] = {}


@overload
def register(cls: C, name: str | None = None) -> C: ...
@overload
def register(cls: str) -> Callable[[C], C]: ...
@overload
def register(*, name: str) -> Callable[[C], C]: ...
def register(cls: type | str | None = None, name: str | None = None) -> type | Callable:
    """Let model files hold a class of your own: a kernel, an emission, a mean function, a network or a part of one.

    Put `@gpssm.files.register` above the class, or `@gpssm.files.register("mylab.Student")` to give it a name that
    stays when the class moves; without a name it is the module and the class. The same module has to be imported
    before a file that holds such a class is loaded: a file never imports anything by itself. `register(cls)` does the
    same for a class of somebody else.

    The class must be an `eqx.Module` or a dataclass, because its fields are what is stored. Loading sets the fields
    and does not call `__init__`; it does call `__check_init__`, which is the place to refuse values that make no
    sense. A class may be registered under several names: the first is written, all are understood.
    """
    if cls is None or isinstance(cls, str):
        return partial(_register, name=name if cls is None else cls)
    return _register(cls, name)


def _register(cls: C, name: str | None) -> C:
    if not isinstance(cls, type) or "__dataclass_fields__" not in vars(cls):
        raise TypeError(
            f"{cls!r} has no fields that a file could store: make it an `eqx.Module`, or put `@dataclass` "
            "between `@register` and the class"
        )
    if cls.__dictoffset__ == 0 or inspect.isabstract(cls):
        raise TypeError(f"{cls.__qualname__} has slots or is abstract: a file cannot hold objects of such a class")
    name = _default_name(cls) if name is None else name
    if not name.isprintable() or not name.strip():
        raise ValueError(f"{name!r} cannot be the name of a class in a file: choose one such as 'mylab.{cls.__name__}'")
    if is_reserved(name):
        raise ValueError(f"'{name}': names that begin with {', '.join(_RESERVED)} are reserved: choose another")
    taken = _registered.get(name, cls)
    if not _same(taken, cls):
        raise ValueError(
            f"'{name}' is already the name of {taken.__module__}.{taken.__qualname__}: give another one, as in "
            f'@register("mylab.{cls.__name__}")'
        )
    _registered[name] = cls
    if name_of(cls) is None:
        _names[cls] = name
    return cls


def _default_name(cls: type) -> str:
    # Nobody could import the one or the other to load the file.
    if cls.__module__ in ("__main__", "__mp_main__") or "<locals>" in cls.__qualname__:
        raise ValueError(
            f"{cls.__qualname__} is defined in a script, a notebook or a function, where nobody can import it: give it "
            f'a name, as in @register("mylab.{cls.__name__}"), and register it before files are loaded'
        )
    return f"{cls.__module__}.{cls.__qualname__}"


def _same(a: type, b: type) -> bool:
    """The same class, or one of them after its module or the cell of a notebook was run again."""
    again = (a.__module__, a.__qualname__) == (b.__module__, b.__qualname__)
    # Each call of a function makes a class of its own.
    return a is b or (again and "<locals>" not in a.__qualname__)


def is_reserved(name: str) -> bool:
    """Whether only the package may give this name to a class."""
    return name.partition(".")[0] in _RESERVED


def class_named(name: str) -> type | None:
    """The class that a file means, or None."""
    if name.startswith(_WITH_GPJAX):
        return _kernels().CLASSES.get(name)
    return CLASSES.get(name) or _registered.get(name)


def name_of(cls: type) -> str | None:
    """The name of a class in files, or None."""
    if cls not in _names and cls.__module__.startswith(_WITH_GPJAX):
        return _kernels().NAMES.get(cls)
    return _names.get(cls)


def engine_named(name: str) -> object | None:
    """The way of computing kernels that a file means, or None."""
    return _kernels().ENGINES.get(name)


def engine_name(cls: type) -> str | None:
    """The name of a way of computing kernels in files, or None."""
    return _kernels().ENGINE_NAMES.get(cls) if cls.__module__.startswith(_WITH_GPJAX) else None


def _kernels() -> ModuleType:
    from gpssm.files import _kernel_classes

    return _kernel_classes
