"""The posterior of the function once training has found it: what the measurements tell, averaged over what they leave
open."""

from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._compile import compile_by_work
from gpssm.inference.marginal._laplace import FilterLaplace
from gpssm.models import GPSSM, Batch

NEW = 0.6
"""Weight of the new information in each round: between rounds the draws differ, and the estimate should settle."""


class FunctionPosterior(NamedTuple):
    """q(v) = N(values, covariance), and how good it is."""

    covariance: Float[np.ndarray, "K K"]
    elbo: float
    """E_q log p(Y | v) - KL[q(v) || p(v)], in nats: a bound on the evidence of these hyper-parameters, where the
    filter's own is right."""


def function_posterior(
    inference: FilterLaplace, model: GPSSM, batch: Batch, *, draws: int, rounds: int = 3, key: PRNGKeyArray
) -> FunctionPosterior:
    """The precision I + E_q[A'A], with the expectation over q itself by antithetic draws.

    At the optimum alone, A'A speaks of one function only; where the posterior is wide, others that fit as well tell
    less, or more. With no draws, it is that of the optimum.
    """
    values = np.asarray(inference.values())
    size = values.size
    eye = np.eye(size)

    def seen(noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        drawn = (values.ravel() + noise).reshape(-1, *values.shape)
        evidences, information = _at_draws(inference, model, jnp.asarray(drawn), batch)
        return np.asarray(evidences), np.asarray(information)

    precision = eye + seen(np.zeros((1, size)))[1]
    keys = jr.split(key, rounds + 1)
    half = max(draws // 2, 1)
    for round_key in keys[:-1] if draws else ():
        precision = (1.0 - NEW) * precision + NEW * (eye + seen(_antithetic(precision, half, round_key))[1])
    evidences, _ = seen(_antithetic(precision, half, keys[-1]))
    covariance = np.linalg.inv(precision)
    divergence = 0.5 * (np.trace(covariance) + (values**2).sum() - size + np.linalg.slogdet(precision)[1])
    return FunctionPosterior(0.5 * (covariance + covariance.T), float(evidences.mean() - divergence))


def _antithetic(precision: Float[np.ndarray, "K K"], half: int, key: PRNGKeyArray) -> Float[np.ndarray, "N K"]:
    """Draws from N(0, precision^-1) and their mirror images."""
    rng = np.random.default_rng(np.asarray(jr.key_data(key)))
    drawn = np.linalg.solve(np.linalg.cholesky(precision).T, rng.standard_normal((len(precision), half))).T
    return np.concatenate([drawn, -drawn])


@compile_by_work(lambda inference, model, drawn, batch: batch.valid.size * drawn.shape[0])
def _at_draws(
    inference: FilterLaplace, model: GPSSM, drawn: Float[Array, "N D M"], batch: Batch
) -> tuple[Float[Array, " N"], Float[Array, "K K"]]:
    """log p(Y | v) at each of some values, and the mean of A'A over them."""

    def add(total: Array, values: Float[Array, "D M"]) -> tuple[Array, Array]:
        found = inference.evidence(model, values, batch)
        return total + found.information, found.log_evidence

    size = drawn[0].size
    total, evidences = lax.scan(add, jnp.zeros((size, size), drawn.dtype), drawn)
    return evidences, total / drawn.shape[0]
