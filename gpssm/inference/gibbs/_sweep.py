"""One sweep of particle Gibbs: states, kernels, function and noises, each given the others."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from gpssm._core._gaussian import expected_log_normal
from gpssm.inference.gibbs import _kernels, _noises
from gpssm.inference.gibbs._conditional_smc import conditional_smc
from gpssm.inference.gibbs._function_step import ellipse_about, function_steps
from gpssm.inference.gibbs._moving import Moving
from gpssm.inference.gibbs._regression import Features, Rows, draw_values, errors_of, features_of, rows_of
from gpssm.inference.gibbs._target import Target, Unknowns
from gpssm.inference.marginal import GivenFunction
from gpssm.models import GPSSM, Batch, SparseGP

ACCEPTED = 0.35
"""Share of accepted proposals for a kernel at which the random walk over its few parameters goes furthest."""
LEARNING = 0.1
"""How fast step sizes follow the chain while it warms up."""
FOLLOWING = 0.04
"""How fast the reference does: an average over a few dozen sweeps."""
MOVES = 4
"""Steps of the function with the paths moving along, in a sweep."""


class Chain(NamedTuple):
    """Where a chain is, and what it has learnt of how to move. Under `vmap`, one of several."""

    paths: Float[Array, "*C E T D"]
    unknowns: Unknowns
    log_steps: Float[Array, "*C 2 G"]
    """Logarithms of the step sizes of the random walks over the kernels, with the paths held and with them moving."""
    reference: Float[Array, "*C E T D"]
    """Where the paths are about; held after the warm-up, and so is what follows."""
    variances: Float[Array, "*C E T D"]
    """How far the paths are from it."""
    images: Float[Array, "*C E T D"]
    """Where the function leads from the reference."""
    information: Float[Array, "*C E S D"]
    """What the outputs tell of the function at each step of the reference."""


def pooled(chains: Chain) -> Chain:
    """Chains that have learnt from each other where paths and function are about, while they warm up."""

    def mean(part: Array) -> Array:
        return jnp.broadcast_to(jnp.mean(part, axis=0, keepdims=True), part.shape)

    # The distance between the chains' own references belongs to how far paths are from the common one.
    reference = mean(chains.reference)
    variances = mean(chains.variances + (chains.reference - reference) ** 2)
    images, information = mean(chains.images), mean(chains.information)
    return chains._replace(reference=reference, variances=variances, images=images, information=information)


class Told(NamedTuple):
    """What a sweep tells of itself."""

    process: Float[Array, "*C D"]
    """Process variances."""
    noise: Float[Array, "*C O"]
    """Measurement variances."""
    function: Float[Array, "*C D M"]
    """The function at the inducing inputs, of what the mean function leaves."""
    log_joint: Float[Array, "*C"]
    """log p(y, x, v, hyper-parameters), up to a constant."""
    updated: Bool[Array, "*C E T"]
    """Which states the particles have changed."""


class Gibbs(eqx.Module):
    """A Markov chain whose stationary distribution is p(states, function, hyper-parameters | outputs)."""

    target: Target
    particles: int = eqx.field(static=True, default=12)

    def start(self, unknowns: Unknowns, paths: Float[Array, "E T D"], batch: Batch, *, key: PRNGKeyArray) -> Chain:
        """A chain from guessed paths and noises: its function is drawn from what these show."""
        unknowns = self._function(rows_of(self.target.transition, paths, batch), unknowns, key)[0]
        steps = jnp.full((2, len(unknowns.kernels)), jnp.log(0.3), paths.dtype)
        moving = Moving(self.target, batch, paths)
        lines = moving.lines(unknowns)
        information = moving.information(unknowns, lines, jnp.zeros_like(paths))
        return Chain(paths, unknowns, steps, paths, jnp.zeros_like(paths), moving.images(lines), information)

    def sweep(self, chain: Chain, batch: Batch, *, warm: Bool[Array, ""], key: PRNGKeyArray) -> tuple[Chain, Told]:
        """Everything once. While not `warm`, the chain learns how to move."""
        path_key, kernel_key, value_key, noise_key, *moving_keys = jr.split(key, 7)
        paths = self._paths(chain, batch, path_key)
        updated = jnp.any(paths != chain.paths, axis=-1)
        unknowns, rows = chain.unknowns, rows_of(self.target.transition, paths, batch)
        held = moved = jnp.zeros_like(chain.log_steps[0])
        if self.target.prior.kernel:
            unknowns, held = _kernels.with_paths_held(self.target, unknowns, rows, chain.log_steps[0], key=kernel_key)
        unknowns, seen = self._function(rows, unknowns, value_key)
        unknowns = _noises.with_paths_held(self.target, unknowns, paths, seen, rows, batch, key=noise_key)
        moving = Moving(self.target, batch, chain.reference)
        coordinates = moving.whitened(unknowns, moving.lines(unknowns), paths)
        unknowns = _noises.with_paths_moving(moving, unknowns, coordinates, key=moving_keys[0])
        about = chain.images, chain.information
        if self.target.prior.kernel:
            unknowns, moved = _kernels.with_paths_moving(
                moving, unknowns, coordinates, *about, chain.log_steps[1], key=moving_keys[1]
            )
        ellipse = ellipse_about(moving, unknowns, *about)
        unknowns, paths = function_steps(moving, unknowns, coordinates, ellipse, count=MOVES, key=moving_keys[2])
        lines = moving.lines(unknowns)

        def learnt(before: Array, now: Array) -> Array:
            return jnp.where(warm, before, before + FOLLOWING * (now - before))

        after = Chain(
            paths,
            unknowns,
            jnp.where(warm, chain.log_steps, chain.log_steps + LEARNING * (jnp.stack([held, moved]) - ACCEPTED)),
            learnt(chain.reference, paths),
            learnt(chain.variances, (paths - chain.reference) ** 2),
            learnt(chain.images, moving.images(lines)),
            learnt(chain.information, moving.information(unknowns, lines, chain.variances)),
        )
        return after, self._told(after, batch, updated)

    def _paths(self, chain: Chain, batch: Batch, key: PRNGKeyArray) -> Float[Array, "E T D"]:
        model = self.target.model_at(chain.unknowns)
        function, noise = _function_of(model, chain.unknowns), model.transition.noise_variance()

        def one(episode: Batch, path: Array, key: PRNGKeyArray) -> Array:
            return conditional_smc(
                function,
                noise,
                model.emission,
                episode,
                path,
                particles=self.particles,
                fitc=self.target.fitc,
                key=key,
            )

        return jax.vmap(one)(batch, chain.paths, jr.split(key, batch.valid.shape[0]))

    def _function(self, rows: Rows, unknowns: Unknowns, key: PRNGKeyArray) -> tuple[Unknowns, tuple[Features, ...]]:
        model = self.target.model_at(unknowns)
        assert isinstance(model.transition, SparseGP)
        seen = tuple(features_of(basis, rows, fitc=self.target.fitc) for basis in model.transition.bases())
        values = draw_values(seen, rows, model.transition.noise_variance(), key=key)
        return unknowns._replace(values=values), seen

    def _told(self, chain: Chain, batch: Batch, updated: Array) -> Told:
        unknowns, paths = chain.unknowns, chain.paths
        model = self.target.model_at(unknowns)
        assert isinstance(model.transition, SparseGP)
        bases = model.transition.bases()
        function = jnp.stack([bases[d % len(bases)].factor.chol @ v for d, v in enumerate(unknowns.values)])
        process, noise = model.transition.noise_variance(), model.emission.noise_variance()
        return Told(process, noise, function, self._log_joint(model, unknowns, paths, batch), updated)

    def _log_joint(self, model: GPSSM, unknowns: Unknowns, paths: Array, batch: Batch) -> Float[Array, ""]:
        assert isinstance(model.transition, SparseGP)
        rows = rows_of(model.transition, paths, batch)
        bases = model.transition.bases()
        seen = tuple(features_of(basis, rows, fitc=self.target.fitc) for basis in bases)
        left = jnp.stack([seen[d % len(seen)].unexplained for d in range(paths.shape[-1])], axis=1)
        errors = errors_of(seen, unknowns.values, rows)
        steps = expected_log_normal(errors**2, model.transition.noise_variance()[None, :] + left)
        seen_by = jax.vmap(jax.vmap(model.emission.log_prob))(batch.y, paths)
        return (
            jnp.sum(rows.weights[:, None] * steps)
            + jnp.sum(jnp.where(batch.observed, seen_by, 0.0) * batch.weight[:, None, None])
            - 0.5 * jnp.sum(batch.weight[:, None] * paths[:, 0] ** 2)
            - 0.5 * jnp.sum(unknowns.values**2)
            + self.target.log_prior(unknowns)
        )


def _function_of(model: GPSSM, unknowns: Unknowns) -> GivenFunction:
    assert isinstance(model.transition, SparseGP)
    return GivenFunction.of(model.transition, unknowns.values)
