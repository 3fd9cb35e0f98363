"""What is said with every marginal fit: whether its approximations can be believed."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._compile import compile_by_work
from gpssm.inference.marginal import (
    FilterLaplace,
    FunctionPosterior,
    GivenFunction,
    PointMass,
    evidence_of,
    log_evidence_of,
    particle_log_evidence,
)
from gpssm.methods._copies import copies_measurements
from gpssm.models import GPSSM, Batch, SparseGP

WRONG_FILTER = 0.02
"""Nats a step by which the evidence of the Gaussian filter may differ from that of particles."""
TOO_NARROW = 0.3
"""Nats a step by which Laplace's evidence may exceed the bound of the same posterior."""
PARTICLES = 500
STEPS = 2000
"""Particles are run over so many steps at most, from the first episode on."""


def filter_gap(inference: FilterLaplace, model: GPSSM, batch: Batch, *, key: PRNGKeyArray) -> float:
    """Evidence of the learnt function by the Gaussian filter less that by one that is right: particles or, with one
    state, a grid. In nats a step."""
    counted = np.cumsum(np.asarray(batch.valid).sum(axis=1))
    count = max(1, int(np.sum(counted <= STEPS)))
    part = jax.tree.map(lambda leaf: jax.device_put(np.asarray(leaf)[:count]), batch)
    return float(_gap(inference, model, part, key)) / float(counted[count - 1])


@compile_by_work(lambda inference, model, batch, key: batch.valid.size)
def _gap(inference: FilterLaplace, model: GPSSM, batch: Batch, key: PRNGKeyArray) -> Float[Array, ""]:
    values, fitc = inference.values(), inference.fitc
    gaussian = evidence_of(model, values, batch, inference.carry, fitc=fitc).log_evidence
    if model.state_dim == 1:
        on_grid = replace(inference, exact=inference.exact or PointMass())
        return gaussian - log_evidence_of(on_grid, model, values, batch, gaussian)
    assert isinstance(model.transition, SparseGP)
    function, noise = GivenFunction.of(model.transition, values), model.transition.noise_variance()

    def by_particles(episode: Batch, key: PRNGKeyArray) -> Array:
        return particle_log_evidence(
            function, noise, model.emission, episode, fitc=fitc, count=PARTICLES, key=key
        )  # fmt: skip

    keys = jr.split(key, batch.valid.shape[0])
    return gaussian - jnp.sum(batch.weight * jax.vmap(by_particles)(batch, keys))


def remarks(
    model: GPSSM, batch: Batch, evidence: float, posterior: FunctionPosterior, gap: float, on_grid: bool
) -> list[str]:
    """Sentences for the console and the history; `evidence` is Laplace's, in nats a step."""
    steps, measured = float(np.sum(np.asarray(batch.valid))), int(np.sum(np.asarray(batch.observed)))
    assert isinstance(model.transition, SparseGP)
    bound, size = posterior.elbo / steps, model.transition.q_mean.size
    verb = "would be" if on_grid else "is"
    told = [
        f"Laplace evidence {evidence:.4f} a step, bound of the same posterior {bound:.4f}; the evidence of a Gaussian "
        f"filter {verb} off by {gap:+.4f}; {size} inducing values for {measured} measured numbers"
    ]
    if abs(gap) > WRONG_FILTER and not on_grid:
        told.append(
            f"the filter that training trusted is off by {gap:+.3f} nats a step: states are uncertain on the scale on "
            "which the function bends, and noises and bands may be wrong; compare with Variational or OutputError"
        )
    if evidence - bound > TOO_NARROW:
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
