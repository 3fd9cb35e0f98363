"""Small sparse-GP transitions, each beside its plain NumPy twin: two states, one control."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from gpssm._core._params import LowerTriangular, Positive, cast
from gpssm.models import IdentityMean, SparseGP, Transitions
from tests.reference import sparse_gp as plain
from tests.reference.kernel_cases import CASES

D, P, M, N = 2, 1, 5, 7
NOISE = np.array([0.3, 0.7])


@dataclass(frozen=True)
class Case:
    """The transition, and for each state dimension the GP it should be."""

    transition: SparseGP
    gps: tuple[plain.SparseGP, ...]


def random_q(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Mean and Cholesky factor of a q that is far from the prior."""
    chol = 0.3 * np.tril(rng.standard_normal((D, M, M)))
    chol[:, np.arange(M), np.arange(M)] = np.exp(0.5 * rng.standard_normal((D, M)) - 0.5)
    return rng.standard_normal((D, M)), chol


def make(*names: str, whitened: bool = True, per_dimension: bool = False, seed: int = 0) -> Case:
    """A transition with these kernels (one, shared, or one for each state) and random q(u)."""
    rng = np.random.default_rng(seed)
    made = [CASES[name]() for name in names]
    sets = rng.standard_normal((D, M, D + P)) if per_dimension else rng.standard_normal((M, D + P))
    mean, chol = random_q(rng)
    transition = SparseGP(
        kernels=tuple(kernel for kernel, _ in made),
        inducing=jnp.asarray(sets),
        q_mean=jnp.asarray(mean),
        q_chol=LowerTriangular.of(jnp.asarray(chol)),
        noise=Positive.of(NOISE),
        mean=IdentityMean(),
        whitened=whitened,
    )
    gps = []
    for d in range(D):
        inducing = sets[d] if per_dimension else sets
        gp = plain.SparseGP(made[d % len(made)][1], inducing, mean[d], chol[d] @ chol[d].T)
        gps.append(plain.whitened(gp, mean[d], chol[d]) if whitened else gp)
    return Case(cast(transition, np.float64), tuple(gps))


def random_transitions(rng: np.random.Generator, rows: int = N) -> Transitions:
    """A table of transitions with unequal weights, one of them zero."""
    weights = rng.uniform(0.5, 2.0, rows)
    weights[1] = 0.0
    arrays = (
        rng.standard_normal((rows, D)),
        rng.standard_normal((rows, P)),
        rng.standard_normal((rows, D)),
        rng.uniform(0.1, 0.5, (rows, D)),
        weights,
    )
    return Transitions(*map(jnp.asarray, arrays))


def with_q(transition: SparseGP, mean: np.ndarray, chol: np.ndarray) -> SparseGP:
    """The same transition with another q(u)."""
    q = (jnp.asarray(mean), LowerTriangular.of(jnp.asarray(chol)))
    return eqx.tree_at(lambda t: (t.q_mean, t.q_chol), transition, q)
