"""Ground-truth systems whose states are known, for tests, experiments and controller learning."""

from gpssm.systems._base import AbstractContinuousSystem, AbstractIntegrator, Simulated
from gpssm.systems._cart_pole import CartPole
from gpssm.systems._double_pendulum import DoublePendulum
from gpssm.systems._integrators import Adaptive, RungeKutta4
from gpssm.systems._kink import Kink, SmoothKink
from gpssm.systems._pendulum import Pendulum
from gpssm.systems._simulate import step, trajectory

__all__ = [
    "AbstractContinuousSystem",
    "AbstractIntegrator",
    "Adaptive",
    "CartPole",
    "DoublePendulum",
    "Kink",
    "Pendulum",
    "RungeKutta4",
    "Simulated",
    "SmoothKink",
    "step",
    "trajectory",
]
