"""Learning controllers from few trials: probabilistic dynamics, closed-form predictions and policy search.

The method is PILCO (Deisenroth and Rasmussen, 2011). It produces the pendulum trials on which identified models are
compared.
"""

from gpssm.control._cost import expected_saturating_cost, saturating_cost
from gpssm.control._dynamics_model import DynamicsModel, condition, fit_dynamics
from gpssm.control._gp import ConditionedGP
from gpssm.control._hyperparameters import Hyperparameters, fit_hyperparameters
from gpssm.control._moments import Gaussian, Moments
from gpssm.control._optimise import Improved, improve_policy
from gpssm.control._pilco import Trial, learn, replay
from gpssm.control._plan import expected_cost, loss_and_gradient, next_state, predict
from gpssm.control._policy import Controller, RBFPolicy
from gpssm.control._storage import as_simulated, load_trials, save_summary, save_trials
from gpssm.control._task import Task, cart_pole_swing_up, double_pendulum_swing_up, quick_version
from gpssm.control._trigonometry import sine_cosine_moments, squash, squash_moments

__all__ = [
    "ConditionedGP",
    "Controller",
    "DynamicsModel",
    "Gaussian",
    "Hyperparameters",
    "Improved",
    "Moments",
    "RBFPolicy",
    "Task",
    "Trial",
    "as_simulated",
    "cart_pole_swing_up",
    "condition",
    "double_pendulum_swing_up",
    "expected_cost",
    "expected_saturating_cost",
    "fit_dynamics",
    "fit_hyperparameters",
    "improve_policy",
    "learn",
    "load_trials",
    "loss_and_gradient",
    "next_state",
    "predict",
    "quick_version",
    "replay",
    "saturating_cost",
    "save_summary",
    "save_trials",
    "sine_cosine_moments",
    "squash",
    "squash_moments",
]
