"""A linear transition: the model in which everything is known in closed form, and the natural opponent of the GP."""

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._gaussian import expected_log_normal
from gpssm._core._params import Positive, val
from gpssm.models.transition._base import AbstractDynamics, AbstractFunctionDraw, AbstractTransition, Transitions
from gpssm.models.transition._mean import LinearMean


class LinearTransition(AbstractTransition):
    """next = A x + B u + c + noise, with parameters that are learnt and no uncertainty about them."""

    mean: LinearMean
    noise: Positive

    def condition(self) -> "LinearDynamics":
        """Nothing to factorise."""
        return LinearDynamics(self.mean, self.noise_variance())

    def noise_variance(self) -> Float[Array, " D"]:
        """Process noise variance, also where it is tied."""
        return jnp.broadcast_to(val(self.noise), self.mean.offset.shape)


class LinearDynamics(AbstractDynamics):
    """The linear map and its noise."""

    mean: LinearMean
    noise: Float[Array, " D"]

    def moments(self, x: Float[Array, " D"], u: Float[Array, " P"]) -> tuple[Float[Array, " D"], Float[Array, " D"]]:
        """The linear prediction, without uncertainty about the function."""
        return self.mean(x, u), jnp.zeros_like(x)

    def expected_log_prob(self, transitions: Transitions) -> Float[Array, ""]:
        """Gaussian log-density with the next state's variance added."""
        means = self.mean(transitions.states, transitions.controls)
        squares = (transitions.next_means - means) ** 2 + transitions.next_variances
        return jnp.sum(transitions.weights[:, None] * expected_log_normal(squares, self.noise[None, :]))

    def kl(self) -> Float[Array, ""]:
        """Zero: there is no distribution over functions."""
        return jnp.zeros((), self.mean.offset.dtype)

    def noise_variance(self) -> Float[Array, " D"]:
        """Process noise variance."""
        return self.noise

    def draw(self, *, num_features: int, key: PRNGKeyArray) -> "LinearDraw":
        """The function is certain: every draw is the same."""
        return LinearDraw(self.mean)

    def jitter(self) -> Float[Array, ""]:
        """Zero."""
        return jnp.zeros((), self.noise.dtype)


class LinearDraw(AbstractFunctionDraw):
    """The linear map as a function draw."""

    mean: LinearMean

    def __call__(self, x: Float[Array, " D"], u: Float[Array, " P"], *, key: PRNGKeyArray) -> Float[Array, " D"]:
        """The linear prediction."""
        return self.mean(x, u)
