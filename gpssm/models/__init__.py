"""Models: an initial state, a transition and an emission, and the form in which traced code sees episodes."""

from gpssm.models._batch import Batch
from gpssm.models._gpssm import GPSSM
from gpssm.models._joint import AbstractJoint, JointPosterior, SampledPosterior
from gpssm.models._posterior import GaussMarkov
from gpssm.models._sampled_models import SampledModels
from gpssm.models.emission import AbstractEmission, LinearGaussian, Magnitude
from gpssm.models.transition import (
    AbstractMean,
    AbstractTransition,
    FadingMean,
    IdentityMean,
    LinearMean,
    LinearTransition,
    SparseGP,
    StableMean,
    Transitions,
)

__all__ = [
    "GPSSM",
    "AbstractEmission",
    "AbstractJoint",
    "AbstractMean",
    "AbstractTransition",
    "Batch",
    "FadingMean",
    "GaussMarkov",
    "IdentityMean",
    "JointPosterior",
    "LinearGaussian",
    "LinearMean",
    "LinearTransition",
    "Magnitude",
    "SampledModels",
    "SampledPosterior",
    "SparseGP",
    "StableMean",
    "Transitions",
]
