"""Methods: ways to learn a system, as objects. `gpssm.fit` takes them."""

from gpssm.fitting import AbstractMethod, Then
from gpssm.methods._around_linear import AroundLinear
from gpssm.methods._auto import Auto
from gpssm.methods._combine import BestOf, Mixture, Stacked
from gpssm.methods._constant import Constant, PreviousEpisode
from gpssm.methods._direct import Direct
from gpssm.methods._fit import fit
from gpssm.methods._gp_correction import GPCorrection
from gpssm.methods._model_spec import AbstractMeanFromData, ModelSpec, SubspaceMean
from gpssm.methods._pairs import Pairs
from gpssm.methods._polished import Polished
from gpssm.methods._q_x import AbstractStates, Network, PerStep
from gpssm.methods._restarts import Restarts
from gpssm.methods._variational import Variational
from gpssm.methods.autoregressive import ARX, GPNARX
from gpssm.methods.linear import Linear, Subspace
from gpssm.methods.marginal import AbstractGuess, Differences, Marginal, SubspaceStates
from gpssm.methods.output_error import OutputError
from gpssm.methods.particle_gibbs import ParticleGibbs

__all__ = [
    "ARX",
    "GPNARX",
    "AbstractGuess",
    "AbstractMeanFromData",
    "AbstractMethod",
    "AbstractStates",
    "AroundLinear",
    "Auto",
    "BestOf",
    "Constant",
    "Differences",
    "Direct",
    "GPCorrection",
    "Linear",
    "Marginal",
    "Mixture",
    "ModelSpec",
    "Network",
    "OutputError",
    "Pairs",
    "ParticleGibbs",
    "PerStep",
    "Polished",
    "PreviousEpisode",
    "Restarts",
    "Stacked",
    "Subspace",
    "SubspaceMean",
    "SubspaceStates",
    "Then",
    "Variational",
    "fit",
]
