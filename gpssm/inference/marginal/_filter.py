"""The evidence of one episode for a given function, states integrated out, and how its innovations move with the
function."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from gpssm._core._gaussian import expected_log_normal, matvec
from gpssm._core._linalg import small_cholesky
from gpssm._core._params import val
from gpssm.inference._defaults import default_rule
from gpssm.inference.marginal._carry import AbstractCarry, small_inverse
from gpssm.inference.marginal._function import GivenFunction
from gpssm.models import AbstractEmission, Batch, LinearGaussian

RIDGE = 1e-10
"""Added to the variances of a state before its covariance is factorised, in units of scaled states."""


class Filtered(NamedTuple):
    """What the filter tells of an episode."""

    log_evidence: Float[Array, "*B"]
    rows: Float[Array, "*B T O D M"]
    """Derivative of each innovation by the weights, over its standard deviation; zero where nothing was measured."""
    innovations: Float[Array, "*B T O"]
    """Zero where nothing was measured."""
    variances: Float[Array, "*B T O"]
    """Of the innovations; one where nothing was measured."""


class Belief(NamedTuple):
    """The state given the outputs so far, N(mean, covariance), and how its mean moves with the function."""

    mean: Float[Array, " D"]
    covariance: Float[Array, "D D"]
    sensitivity: Float[Array, "D D M"]
    """d mean_i / d weights_dm, by the recursion of Ljung's prediction-error method."""


def filtered(
    function: GivenFunction,
    noise: Float[Array, " D"],
    emission: AbstractEmission,
    episode: Batch,
    carry: AbstractCarry,
    *,
    fitc: bool,
    sensitive: bool = True,
    read: Bool[Array, " T"] | None = None,
    judged: Bool[Array, " T"] | None = None,
) -> Filtered:
    """A Gaussian filter for a given function along one episode, from x[0] ~ N(0, I).

    With `fitc` what the inducing values leave unexplained counts as noise of the transition; without, it is left out
    (DTC). Without `sensitive`, how innovations move with the function is left out. Where a step is not `read`, its
    outputs are predicted and not learnt from: a free run, whose innovations are its errors. Where it is not `judged`,
    it is filtered and not told of.
    """
    dims, size = function.weights.shape
    size = size if sensitive else 0
    dtype = noise.dtype

    def step(belief: Belief, now: tuple[Array, ...]) -> tuple[Belief, Filtered]:
        y, u, observed, goes_on, reads = now
        known, told = measured(belief, emission, y, observed)
        if read is not None:
            known = _either(reads, known, belief)
        moved = _moved(known, function, noise, u, carry, fitc)
        # Before a record begins and where it has ended the state stays: what is computed there is finite and not used.
        return _either(goes_on, moved, known), told

    start = Belief(jnp.zeros(dims, dtype), jnp.eye(dims, dtype=dtype), jnp.zeros((dims, dims, size), dtype))
    goes_on = jnp.concatenate([episode.valid[:-1] & episode.valid[1:], jnp.zeros(1, bool)])
    reads = episode.valid if read is None else read
    told = lax.scan(step, start, (episode.y, episode.u, episode.observed, goes_on, reads))[1]
    if judged is not None:
        rows = jnp.where(judged[:, None, None, None], told.rows, 0.0)
        told = told._replace(log_evidence=jnp.where(judged, told.log_evidence, 0.0), rows=rows)
    return told._replace(log_evidence=jnp.sum(told.log_evidence))


def _either(condition: Bool[Array, ""], one: Belief, other: Belief) -> Belief:
    return Belief(*(jnp.where(condition, a, b) for a, b in zip(one, other, strict=True)))


def measured(
    belief: Belief, emission: AbstractEmission, y: Float[Array, " O"], observed: Bool[Array, " O"]
) -> tuple[Belief, Filtered]:
    """One output after the other, so that no matrix is inverted and a missing one is left out."""
    mean, covariance, sensitivity = belief
    expected, slopes, spread = linearised_outputs(emission, mean, covariance)
    noise, before = emission.noise_variance() + spread, mean
    rows, innovations, variances = [], [], []
    for o in range(y.shape[0]):
        slope, seen = slopes[o], observed[o]
        cross = matvec(covariance, slope)
        variance = jnp.where(seen, jnp.sum(slope * cross) + noise[o], 1.0)
        innovation = jnp.where(seen, y[o] - expected[o] - jnp.sum(slope * (mean - before)), 0.0)
        gain = jnp.where(seen, cross / variance, 0.0)
        moved = jnp.sum(slope[:, None, None] * sensitivity, axis=0)
        rows.append(jnp.where(seen, moved / jnp.sqrt(variance), 0.0))
        innovations.append(innovation)
        variances.append(variance)
        mean = mean + gain * innovation
        covariance = covariance - variance * gain[:, None] * gain[None, :]
        sensitivity = sensitivity - gain[:, None, None] * moved[None]
    after = Belief(mean, 0.5 * (covariance + covariance.T), sensitivity)
    e, s = jnp.stack(innovations), jnp.stack(variances)
    log_prob = jnp.sum(jnp.where(observed, expected_log_normal(e**2, s), 0.0))
    return after, Filtered(log_prob, jnp.stack(rows), e, s)


def linearised_outputs(
    emission: AbstractEmission, mean: Float[Array, " D"], covariance: Float[Array, "D D"]
) -> tuple[Float[Array, " O"], Float[Array, "O D"], Float[Array, " O"]]:
    """Expected outputs, the line that is closest over the state's Gaussian, and the variance about it."""
    if isinstance(emission, LinearGaussian):
        weight = val(emission.weight)
        return emission.mean(mean), weight, jnp.zeros(weight.shape[0], mean.dtype)
    nodes, weights = (jnp.asarray(part, mean.dtype) for part in default_rule(mean.shape[0]).nodes(mean.shape[0]))
    chol = state_factor(covariance)
    outputs = emission.mean(mean[None] + nodes @ chol.T)
    expected = weights @ outputs
    deviations = (outputs - expected[None]) * jnp.sqrt(weights)[:, None]
    along = deviations.T @ (nodes * jnp.sqrt(weights)[:, None])
    about = jnp.maximum(jnp.sum(deviations**2, axis=0) - jnp.sum(along**2, axis=1), 0.0)
    return expected, along @ small_inverse(chol), about


def _moved(
    belief: Belief,
    function: GivenFunction,
    noise: Float[Array, " D"],
    u: Float[Array, " P"],
    carry: AbstractCarry,
    fitc: bool,
) -> Belief:
    mean, covariance, sensitivity = belief
    image = carry(function, mean, state_factor(covariance), u)
    spread = noise + function.unexplained(mean, u) if fitc else noise
    after = image.covariance + jnp.diag(spread)
    moved = jnp.sum(image.slope[:, :, None, None] * sensitivity[None], axis=1)
    eye = jnp.eye(mean.shape[0], dtype=mean.dtype)
    features = jnp.stack([image.features[d % len(image.features)] for d in range(mean.shape[0])])
    features = features[:, : sensitivity.shape[-1]]
    return Belief(image.mean, 0.5 * (after + after.T), moved + eye[:, :, None] * features[None])


def state_factor(covariance: Float[Array, "D D"]) -> Float[Array, "D D"]:
    return small_cholesky(covariance + RIDGE * jnp.eye(covariance.shape[0], dtype=covariance.dtype))
