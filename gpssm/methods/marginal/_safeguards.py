"""What is said with every marginal fit: whether its approximations can be believed."""

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._compile import compile_by_work
from gpssm.inference.marginal import (
    FilterLaplace,
    FunctionPosterior,
    GivenFunction,
    Parts,
    PointMass,
    particle_log_evidence,
)
from gpssm.methods._copies import copies_measurements
from gpssm.models import GPSSM, Batch, LinearGaussian, SparseGP

WRONG_FILTER = 0.02
"""Nats a step by which the evidence of the Gaussian filter may differ from that of particles."""
TOO_NARROW = 0.3
"""Nats a step by which Laplace's evidence may exceed the bound of the same posterior."""
PARTICLES = 500
STEPS = 2000
"""Particles are run over so many steps at most, from the first episode on."""


class Gap(NamedTuple):
    """Evidence of the learnt function by the Gaussian filter less that by one that is right: particles or, with one
    state, a grid. In nats a step."""

    off: float
    doubt: float
    """By how much two sets of particles differ; none on a grid. Where sensors are nearly exact and states that nobody
    measures move on slowly, all particles may lose them, and then they judge nothing."""


def on_a_line(model: GPSSM) -> bool:
    """Whether a grid about a Gaussian belief covers what may be: there is one state, and a measurement tells of one
    place only. One that loses the sign tells of two, which are narrow where the belief is wide."""
    return model.state_dim == 1 and isinstance(model.emission, LinearGaussian)


def filter_gap(inference: FilterLaplace, model: GPSSM, batch: Batch, *, key: PRNGKeyArray) -> Gap:
    """Of the first episodes, as many as particles are run over."""
    valid = np.asarray(batch.valid)
    count = max(1, int(np.sum(np.cumsum(valid.sum(axis=1)) <= STEPS)))
    # One record alone may be longer.
    last = min(valid.shape[1], max(STEPS, int(valid[1:count].any(axis=0).sum())))

    def first(leaf: Array) -> Array:
        kept = np.asarray(leaf)[:count]
        return jax.device_put(kept[:, :last] if kept.ndim > 1 else kept)

    part = jax.tree.map(first, batch)
    steps = float(np.asarray(part.valid).sum())
    off, doubt = (float(found) / steps for found in _gap(inference, model, part, key))
    return Gap(off, doubt)


@compile_by_work(lambda inference, model, batch, key: batch.valid.size)
def _gap(
    inference: FilterLaplace, model: GPSSM, batch: Batch, key: PRNGKeyArray
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    grid = inference.exact or PointMass()
    # Of whole records, and of nothing but the evidence.
    inference = replace(inference, exact=None, free=None, parts=Parts())
    values, fitc = inference.values(), inference.fitc
    gaussian = inference.evidence(model, values, batch).log_evidence
    if on_a_line(model):
        exact = replace(inference, exact=grid).evidence(model, values, batch).log_evidence
        return gaussian - exact, jnp.zeros_like(gaussian)
    assert isinstance(model.transition, SparseGP)
    function, noise = GivenFunction.of(model.transition, values), model.transition.noise_variance()

    def by_particles(episode: Batch, key: PRNGKeyArray) -> Array:
        return particle_log_evidence(
            function, noise, model.emission, episode, fitc=fitc, count=PARTICLES, key=key
        )  # fmt: skip

    keys = jr.split(key, (2, batch.valid.shape[0]))
    found = jax.vmap(jax.vmap(by_particles), in_axes=(None, 0))(batch, keys) @ batch.weight
    # Particles are right on average as a likelihood, not as its logarithm.
    return gaussian - logsumexp(found) + jnp.log(2.0), jnp.abs(found[0] - found[1])


def remarks(
    inference: FilterLaplace, model: GPSSM, batch: Batch, evidence: float | None, posterior: FunctionPosterior, gap: Gap
) -> list[str]:
    """Sentences for the console and the history; `evidence` is Laplace's, in nats a step, if that was maximised."""
    on_grid = inference.exact is not None
    steps, measured = float(np.sum(np.asarray(batch.valid))), int(np.sum(np.asarray(batch.observed)))
    assert isinstance(model.transition, SparseGP)
    bound, size = posterior.elbo / steps, model.transition.q_mean.size
    verb, lost = "would be" if on_grid else "is", not gap.doubt <= WRONG_FILTER
    judged = "could not be checked" if lost else f"{verb} off by {gap.off:+.4f}"
    laplace = "" if evidence is None else f"Laplace evidence {evidence:.4f} a step, "
    told = [
        f"{laplace}bound of the {'' if evidence is None else 'same '}posterior {bound:.4f}; the evidence of a Gaussian "
        f"filter {judged}; {size} inducing values for {measured} measured numbers"
    ]
    if lost:
        told.append(
            "the filter that training trusted could not be checked: two sets of particles lose the state and do not "
            "agree; compare with Variational or OutputError"
        )
    elif abs(gap.off) > WRONG_FILTER and not on_grid:
        told.append(
            f"the filter that training trusted is off by {gap.off:+.3f} nats a step: states are uncertain on the scale "
            "on which the function bends, and noises and bands may be wrong; compare with Variational or OutputError"
        )
    if evidence is not None and evidence - bound > TOO_NARROW:
        told.append(
            f"Laplace's evidence exceeds the bound by {evidence - bound:.2f} nats a step: the fit is too sure of "
            "itself; use fewer inducing points or more data"
        )
    if 2 * size > measured:
        told.append(
            f"{size} inducing values in all states are more than half of the {measured} measured numbers: use fewer "
            f"inducing points, {max(measured // (2 * model.state_dim), 1)} at most"
        )
    if copies_measurements(model):
        told.append(
            "the process noise exceeds the measurement noise in every measured state: the model may copy its "
            "measurements instead of smoothing them"
        )
    return told
