"""How a state moves when the model runs free."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.models.transition import AbstractDynamics


class AbstractPropagation(eqx.Module):
    """A way to run one trajectory."""

    @abstractmethod
    def run(
        self,
        dynamics: AbstractDynamics,
        start: Float[Array, " D"],
        controls: Float[Array, "S P"],
        *,
        function_key: PRNGKeyArray,
        key: PRNGKeyArray,
    ) -> Float[Array, "S D"]:
        """The states after each control: x[t+1] from x[t] and controls[t].

        Runs with the same `function_key` follow the same function, where a propagation holds one; `key` serves all
        else.
        """

    @abstractmethod
    def count(self, asked: int) -> int:
        """How many of the trajectories that were asked for differ."""

    @abstractmethod
    def holds_function(self) -> bool:
        """Whether a trajectory follows one function, so that it makes sense to draw it together with all else."""

    @abstractmethod
    def start_spread(self, chol: Float[Array, "*B D D"]) -> Float[Array, "*B D D"]:
        """The factor of the first state's covariance with which trajectories start."""


class Pathwise(AbstractPropagation):
    """One function draw for the whole trajectory: what is not known about the function is the same error at each
    visit."""

    num_features: int = eqx.field(static=True, default=256)

    def run(
        self,
        dynamics: AbstractDynamics,
        start: Float[Array, " D"],
        controls: Float[Array, "S P"],
        *,
        function_key: PRNGKeyArray,
        key: PRNGKeyArray,
    ) -> Float[Array, "S D"]:
        """Follow one drawn function, with process noise."""
        noise_key, step_key = jr.split(key)
        function = dynamics.draw(num_features=self.num_features, key=function_key)
        noise = _process_noise(dynamics, controls, start, noise_key)
        return _scan(lambda x, u, k: function(x, u, key=k), start, controls, noise, step_key)

    def count(self, asked: int) -> int:
        return asked

    def holds_function(self) -> bool:
        return True

    def start_spread(self, chol: Float[Array, "*B D D"]) -> Float[Array, "*B D D"]:
        return chol


class IndependentSteps(AbstractPropagation):
    """The function is drawn anew at each step. Cheap, but errors then average out and the bands come out too narrow."""

    def run(
        self,
        dynamics: AbstractDynamics,
        start: Float[Array, " D"],
        controls: Float[Array, "S P"],
        *,
        function_key: PRNGKeyArray,
        key: PRNGKeyArray,
    ) -> Float[Array, "S D"]:
        """Draw each step from the marginal of the function there, with process noise."""
        noise_key, step_key = jr.split(key)

        def step(x: Array, u: Array, k: PRNGKeyArray) -> Array:
            mean, variance = dynamics.moments(x, u)
            return mean + jnp.sqrt(variance) * jr.normal(k, mean.shape, mean.dtype)

        return _scan(step, start, controls, _process_noise(dynamics, controls, start, noise_key), step_key)

    def count(self, asked: int) -> int:
        return asked

    def holds_function(self) -> bool:
        return False

    def start_spread(self, chol: Float[Array, "*B D D"]) -> Float[Array, "*B D D"]:
        return chol


class MeanOnly(AbstractPropagation):
    """The mean function without any noise: one deterministic trajectory. Needs no key; the one given is not used."""

    def run(
        self,
        dynamics: AbstractDynamics,
        start: Float[Array, " D"],
        controls: Float[Array, "S P"],
        *,
        function_key: PRNGKeyArray,
        key: PRNGKeyArray,
    ) -> Float[Array, "S D"]:
        """Follow the mean."""
        silence = jnp.zeros((controls.shape[0], start.shape[0]), start.dtype)
        return _scan(lambda x, u, k: dynamics.moments(x, u)[0], start, controls, silence, key)

    def count(self, asked: int) -> int:
        return 1

    def holds_function(self) -> bool:
        return False

    def start_spread(self, chol: Float[Array, "*B D D"]) -> Float[Array, "*B D D"]:
        return jnp.zeros_like(chol)


def _process_noise(dynamics: AbstractDynamics, controls: Array, start: Array, key: PRNGKeyArray) -> Array:
    noise = jr.normal(key, (controls.shape[0], start.shape[0]), start.dtype)
    return jnp.sqrt(dynamics.noise_variance())[None, :] * noise


def _scan(step, start: Array, controls: Array, noise: Array, key: PRNGKeyArray) -> Array:
    def body(x: Array, now: tuple[Array, Array, PRNGKeyArray]) -> tuple[Array, Array]:
        u, e, k = now
        x = step(x, u, k) + e
        return x, x

    return lax.scan(body, start, (controls, noise, jr.split(key, controls.shape[0])))[1]
