"""What a transition must answer, and the table of expected transitions that inference hands to it."""

from abc import abstractmethod

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray


class Transitions(eqx.Module):
    """Transitions of all episodes as one weighted table: row n went from `states[n]` under `controls[n]` to a
    Gaussian next state.

    The next state is described by its mean and variance given the state it came from, so that its own noise is
    integrated out exactly and only the state it came from has to be sampled or put on quadrature nodes.
    """

    states: Float[Array, "*N D"]
    controls: Float[Array, "*N P"]
    next_means: Float[Array, "*N D"]
    next_variances: Float[Array, "*N D"]
    weights: Float[Array, "*N"]
    """How many real transitions a row stands for; zero for padding."""


class AbstractFunctionDraw(eqx.Module):
    """One transition function drawn from the posterior, to be followed along a whole trajectory."""

    @abstractmethod
    def __call__(self, x: Float[Array, " D"], u: Float[Array, " P"], *, key: PRNGKeyArray) -> Float[Array, " D"]:
        """The next state without process noise. The key serves only what the draw cannot hold consistent (often
        nothing)."""


class AbstractDynamics(eqx.Module):
    """A transition conditioned once, to be queried many times."""

    @abstractmethod
    def moments(self, x: Float[Array, " D"], u: Float[Array, " P"]) -> tuple[Float[Array, " D"], Float[Array, " D"]]:
        """Mean and variance of the transition function at one point; process noise not included."""

    @abstractmethod
    def expected_log_prob(self, transitions: Transitions) -> Float[Array, ""]:
        """Weighted sum of E[log p(next | state, f)] over the function and the next states."""

    @abstractmethod
    def kl(self) -> Float[Array, ""]:
        """Divergence of the posterior over functions from the prior, summed over dimensions."""

    @abstractmethod
    def noise_variance(self) -> Float[Array, " D"]:
        """Variance of the process noise for each state dimension."""

    @abstractmethod
    def draw(self, *, num_features: int, key: PRNGKeyArray) -> AbstractFunctionDraw:
        """A function-consistent draw from the posterior over transition functions."""

    @abstractmethod
    def jitter(self) -> Float[Array, ""]:
        """The largest relative jitter that conditioning needed; zero where nothing is factorised."""


class AbstractTransition(eqx.Module):
    """The distribution of the next state given the present one and the control."""

    @abstractmethod
    def condition(self) -> AbstractDynamics:
        """Do all work that does not depend on a query point."""

    @abstractmethod
    def noise_variance(self) -> Float[Array, " D"]:
        """Variance of the process noise for each state dimension."""


class Conditioned(AbstractTransition):
    """A transition that has been conditioned already, for uses that query it again and again, such as a control
    loop."""

    dynamics: AbstractDynamics

    def condition(self) -> AbstractDynamics:
        """What was computed before."""
        return self.dynamics

    def noise_variance(self) -> Float[Array, " D"]:
        """Process noise variance."""
        return self.dynamics.noise_variance()
