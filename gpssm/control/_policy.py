"""A radial-basis-function policy, squashed to the control limits."""

from typing import final

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.linalg as jsl
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.control._gp import ConditionedGP
from gpssm.control._moments import Gaussian, Moments
from gpssm.control._trigonometry import squash, squash_moments

# Of the pseudo-targets, relative to a unit signal: it only keeps the linear system well conditioned.
_NOISE_VARIANCE = 1e-4


class RBFPolicy(eqx.Module):
    """The mean of a Gaussian process through pseudo-targets at movable centres; all leaves are free parameters.

    Optimising targets instead of basis weights makes every parameter's effect local and of similar size.
    """

    centres: Float[Array, "C D"]
    targets: Float[Array, "C P"]
    log_lengthscales: Float[Array, "P D"]

    @classmethod
    def random(
        cls,
        around: Gaussian,
        *,
        num_centres: int,
        num_actions: int,
        log_lengthscales: Float[Array, " D"],
        key: PRNGKeyArray,
    ) -> "RBFPolicy":
        """Centres drawn from a Gaussian over the policy's inputs; targets that use the whole range of actions."""
        key_centres, key_targets = jr.split(key)
        noise = jr.normal(key_centres, (num_centres, len(around.mean)), around.mean.dtype)
        return cls(
            centres=around.mean[None, :] + noise @ jnp.linalg.cholesky(around.cov).T,
            targets=jr.normal(key_targets, (num_centres, num_actions), around.mean.dtype),
            log_lengthscales=jnp.tile(log_lengthscales[None, :], (num_actions, 1)),
        )

    def condition(self) -> "Controller":
        """Solve for the basis weights once; the controller is then evaluated many times."""
        count, outputs = self.targets.shape
        lengthscales = jnp.exp(self.log_lengthscales)
        weights = []
        # One factorisation per action in a plain loop: batched LAPACK calls in compiled code can hang.
        for p in range(outputs):
            scaled = self.centres / lengthscales[p][None, :]
            squared = ((scaled[:, None, :] - scaled[None, :, :]) ** 2).sum(2)
            kernel = jnp.exp(-squared / 2.0) + _NOISE_VARIANCE * jnp.eye(count, dtype=scaled.dtype)
            weights.append(jsl.cho_solve((jnp.linalg.cholesky(kernel), True), self.targets[:, p]))
        return Controller(
            ConditionedGP(
                inputs=self.centres,
                lengthscales=lengthscales,
                signal_variance=jnp.ones(outputs, lengthscales.dtype),
                weights=jnp.stack(weights),
                reductions=jnp.zeros((outputs, count, count), lengthscales.dtype),
                spare=jnp.zeros(outputs, lengthscales.dtype),
            )
        )


@final
class Controller(eqx.Module):
    """A policy that is ready to act."""

    network: ConditionedGP

    def act(self, z: Float[Array, " D"], limit: float) -> Float[Array, " P"]:
        """The action at a known input."""
        return squash(self.network.mean(z), limit)

    def moments(self, given: Gaussian, limit: float) -> Moments:
        """Moments of the action at a Gaussian input."""
        raw = self.network.moments(given)
        bounded = squash_moments(Gaussian(raw.mean, raw.cov), limit)
        return Moments(bounded.mean, bounded.cov, raw.gain @ bounded.gain)
