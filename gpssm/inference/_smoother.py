"""States of a whole record given a model, by linearising the model about a trajectory."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm._core._compile import compile_by_work
from gpssm._core._params import val
from gpssm.models._batch import Batch
from gpssm.models._gpssm import GPSSM
from gpssm.models._posterior import GaussMarkov
from gpssm.models.emission import LinearGaussian


def linearised_posterior(
    model: GPSSM, data: Batch, means: Float[np.ndarray, "B T D"], *, rounds: int = 3
) -> GaussMarkov:
    """The posterior of the states of every episode, as a chain that runs forward, with the transition's mean function
    replaced by its tangent at `means`; then again at the new means, `rounds` times in all.

    Exact in one round for a linear transition. Every round is a Gauss-Newton step on all states together.
    """
    assert isinstance(model.emission, LinearGaussian)
    posterior = None
    for _ in range(rounds):
        tangents, values = (np.asarray(part) for part in _tangents(model, data, jnp.asarray(means)))
        offsets = values - np.einsum("btij,btj->bti", tangents, means)
        posterior = _chain(model, data, tangents, offsets)
        means = np.asarray(posterior.means)
    assert posterior is not None
    return posterior


@compile_by_work(lambda model, data, means: means.size)
def _tangents(
    model: GPSSM, data: Batch, means: Float[Array, "B T D"]
) -> tuple[Float[Array, "B T D D"], Float[Array, "B T D"]]:
    """Jacobian and value of the mean transition at every state."""
    dynamics = model.transition.condition()

    def mean(x: Float[Array, " D"], u: Float[Array, " P"]) -> Float[Array, " D"]:
        return dynamics.moments(x, u)[0]

    return jax.vmap(jax.vmap(lambda x, u: (jax.jacfwd(mean)(x, u), mean(x, u))))(means, data.u)


def _chain(
    model: GPSSM, data: Batch, tangents: Float[np.ndarray, "B T D D"], offsets: Float[np.ndarray, "B T D"]
) -> GaussMarkov:
    """With beta_t(x) = p(y_t, y_t+1, ... | x_t = x), an information filter run backwards, the chain is
    q(x_t | x_t-1) proportional to p(x_t | x_t-1) beta_t(x_t)."""
    emission = model.emission
    assert isinstance(emission, LinearGaussian)
    weight, offset = np.asarray(val(emission.weight)), np.asarray(val(emission.offset))
    seen = np.asarray(data.observed) / np.asarray(emission.noise_variance())
    precision = np.einsum("bto,oi,oj->btij", seen, weight, weight)
    shift = np.einsum("bto,oi->bti", seen * (np.asarray(data.y) - offset), weight)
    noise_precision = 1.0 / np.asarray(model.transition.noise_variance())

    means, gains, covariances = np.zeros_like(shift), np.zeros_like(precision), np.zeros_like(precision)
    batch, length, dim = shift.shape
    pulls = np.zeros_like(shift)
    for t in reversed(range(length)):
        # The state before the first one is fixed at zero: x[0] ~ N(0, I).
        q = np.ones(dim) if t == 0 else noise_precision
        covariances[:, t] = np.linalg.inv(precision[:, t] + np.diag(q))
        before = np.zeros((batch, dim)) if t == 0 else offsets[:, t - 1]
        pulls[:, t] = np.einsum("bij,bj->bi", covariances[:, t], q * before + shift[:, t])
        if t > 0:
            forward = tangents[:, t - 1]
            backward = np.swapaxes(forward, -1, -2)
            gains[:, t] = covariances[:, t] * q @ forward
            kept = np.diag(q) - q[:, None] * covariances[:, t] * q
            precision[:, t - 1] += backward @ kept @ forward
            shift[:, t - 1] += np.einsum("bij,bj->bi", backward, q * (pulls[:, t] - before))
    for t in range(length):
        means[:, t] = pulls[:, t] + (0.0 if t == 0 else np.einsum("bij,bj->bi", gains[:, t], means[:, t - 1]))
    chols = np.linalg.cholesky(covariances)
    # In centred form the gains act on deviations from the mean.
    return GaussMarkov(jnp.asarray(means), jnp.asarray(gains), jnp.asarray(chols))
