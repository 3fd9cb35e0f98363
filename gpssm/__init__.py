"""gpssm: learn a dynamical system from data with a Gaussian-process state-space model."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpssm import baselines, kernels, metrics, plots, pools, readers, report, selection
    from gpssm._alternate import fit_alternating
    from gpssm._devices import Devices
    from gpssm._emission import AbstractEmission, LinearGaussian, Magnitude
    from gpssm._grow import grow
    from gpssm._history import History
    from gpssm._identify import FitResult, fit, fit_free, identify, refine
    from gpssm._model import GPSSM
    from gpssm._posterior import AbstractStatePosterior, GaussMarkov
    from gpssm._processes import PeerLostError, distributed
    from gpssm._restarts import FitMany, fit_many
    from gpssm._result import FitError, Result
    from gpssm.data import DataError, Episode, Episodes, Padded, Scaler
    from gpssm.files import Checkpoints, FileError, ResumeError, StorageError, describe, load, save
    from gpssm.fit import Console, FullBatch, Minibatches, Plateau, Rates, Silent, Windows, adam, drive, polish, train
    from gpssm.inference import Bound, Collapsed, Cubature, Explicit, GaussHermite, NaturalGradient, Paths, Variational
    from gpssm.output_error import Signed, Unsigned, fit_output_error
    from gpssm.predict import (
        EKF,
        UKF,
        Ensemble,
        Filtered,
        Identified,
        IndependentSteps,
        MeanOnly,
        OnlineFilter,
        ParticleFilter,
        Pathwise,
        Recognised,
        Rollout,
        States,
    )
    from gpssm.readers import (
        from_benchmark,
        from_dataframe,
        from_pairs,
        from_xarray,
        read_csv,
        read_mat,
        read_npz,
        read_parquet,
    )
    from gpssm.recognition import GRU, AbstractRecognition, BiRNN, FreeStates, TanhRNN
    from gpssm.selection import Selection, Sweep, select, sweep
    from gpssm.transition import AbstractMean, AbstractTransition, KeepState, Linear, LinearMean, SparseGP

__version__ = "0.1.0"

# Importing JAX takes a second or more. Nothing is imported before it is asked for, so that the command line answers at
# once and data are checked without JAX. Type checkers read the imports above; this table says the same at run time.
_PUBLIC = {
    "gpssm": ("baselines", "kernels", "metrics", "plots", "pools", "readers", "report", "selection"),
    "gpssm._alternate": ("fit_alternating",),
    "gpssm._devices": ("Devices",),
    "gpssm._emission": ("AbstractEmission", "LinearGaussian", "Magnitude"),
    "gpssm._grow": ("grow",),
    "gpssm._history": ("History",),
    "gpssm._identify": ("FitResult", "fit", "fit_free", "identify", "refine"),
    "gpssm._model": ("GPSSM",),
    "gpssm._posterior": ("AbstractStatePosterior", "GaussMarkov"),
    "gpssm._processes": ("PeerLostError", "distributed"),
    "gpssm._restarts": ("FitMany", "fit_many"),
    "gpssm._result": ("FitError", "Result"),
    "gpssm.data": ("DataError", "Episode", "Episodes", "Padded", "Scaler"),
    "gpssm.files": ("Checkpoints", "FileError", "ResumeError", "StorageError", "describe", "load", "save"),
    "gpssm.fit": (
        "Console",
        "FullBatch",
        "Minibatches",
        "Plateau",
        "Rates",
        "Silent",
        "Windows",
        "adam",
        "drive",
        "polish",
        "train",
    ),
    "gpssm.inference": (
        "Bound",
        "Collapsed",
        "Cubature",
        "Explicit",
        "GaussHermite",
        "NaturalGradient",
        "Paths",
        "Variational",
    ),
    "gpssm.output_error": ("Signed", "Unsigned", "fit_output_error"),
    "gpssm.predict": (
        "EKF",
        "UKF",
        "Ensemble",
        "Filtered",
        "Identified",
        "IndependentSteps",
        "MeanOnly",
        "OnlineFilter",
        "ParticleFilter",
        "Pathwise",
        "Recognised",
        "Rollout",
        "States",
    ),
    "gpssm.readers": (
        "from_benchmark",
        "from_dataframe",
        "from_pairs",
        "from_xarray",
        "read_csv",
        "read_mat",
        "read_npz",
        "read_parquet",
    ),
    "gpssm.recognition": ("GRU", "AbstractRecognition", "BiRNN", "FreeStates", "TanhRNN"),
    "gpssm.selection": ("Selection", "Sweep", "select", "sweep"),
    "gpssm.transition": ("AbstractMean", "AbstractTransition", "KeepState", "Linear", "LinearMean", "SparseGP"),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'gpssm' has no attribute {name!r}")
    value = import_module(f"gpssm.{name}") if home == "gpssm" else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """A module in which a subpackage does not hide a public function of the same name.

    Importing the subpackage `gpssm.fit` sets the attribute `fit` of `gpssm`, which is the function `gpssm.fit`.
    """

    def __setattr__(self, name: str, value: object) -> None:
        hides = isinstance(value, ModuleType) and _HOME.get(name, "gpssm") != "gpssm"
        if not hides:
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

__all__ = [
    "EKF",
    "GPSSM",
    "GRU",
    "UKF",
    "AbstractEmission",
    "AbstractMean",
    "AbstractRecognition",
    "AbstractStatePosterior",
    "AbstractTransition",
    "BiRNN",
    "Bound",
    "Checkpoints",
    "Collapsed",
    "Console",
    "Cubature",
    "DataError",
    "Devices",
    "Ensemble",
    "Episode",
    "Episodes",
    "Explicit",
    "FileError",
    "Filtered",
    "FitError",
    "FitMany",
    "FitResult",
    "FreeStates",
    "FullBatch",
    "GaussHermite",
    "GaussMarkov",
    "History",
    "Identified",
    "IndependentSteps",
    "KeepState",
    "Linear",
    "LinearGaussian",
    "LinearMean",
    "Magnitude",
    "MeanOnly",
    "Minibatches",
    "NaturalGradient",
    "OnlineFilter",
    "Padded",
    "ParticleFilter",
    "Paths",
    "Pathwise",
    "PeerLostError",
    "Plateau",
    "Rates",
    "Recognised",
    "Result",
    "ResumeError",
    "Rollout",
    "Scaler",
    "Selection",
    "Signed",
    "Silent",
    "SparseGP",
    "States",
    "StorageError",
    "Sweep",
    "TanhRNN",
    "Unsigned",
    "Variational",
    "Windows",
    "adam",
    "baselines",
    "describe",
    "distributed",
    "drive",
    "fit",
    "fit_alternating",
    "fit_free",
    "fit_many",
    "fit_output_error",
    "from_benchmark",
    "from_dataframe",
    "from_pairs",
    "from_xarray",
    "grow",
    "identify",
    "kernels",
    "load",
    "metrics",
    "plots",
    "polish",
    "pools",
    "read_csv",
    "read_mat",
    "read_npz",
    "read_parquet",
    "readers",
    "refine",
    "report",
    "save",
    "select",
    "selection",
    "sweep",
    "train",
]
