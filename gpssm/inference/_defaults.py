"""What is chosen for those who do not choose."""

from gpssm.inference._expectation import AbstractQuadrature, Cubature, GaussHermite
from gpssm.inference._q_u import AbstractInducing, Collapsed, Explicit
from gpssm.models.transition import AbstractTransition, SparseGP


def default_rule(state_dim: int) -> AbstractQuadrature:
    """Quadrature while it is cheap, cubature beyond: both deterministic, as L-BFGS needs."""
    points = {1: 8, 2: 4, 3: 3}
    return GaussHermite(points[state_dim]) if state_dim in points else Cubature()


def coarse_rule(state_dim: int) -> AbstractQuadrature:
    """A few nodes, for searches that check the outcome: a quarter of the time with two or three states."""
    return default_rule(state_dim) if state_dim == 1 else Cubature()


def closed_form(transition: AbstractTransition) -> AbstractInducing:
    """q(u) at its optimum, where there is a q(u)."""
    return Collapsed() if isinstance(transition, SparseGP) else Explicit()
