"""How q(u) is treated: as parameters, at its closed-form optimum, or by natural-gradient steps."""

from abc import abstractmethod

import equinox as eqx
from jaxtyping import Array, Float

from gpssm._core._sharding import AbstractShare, Unsharded
from gpssm.models.transition import AbstractTransition, SparseGP, Transitions

Terms = tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]
"""Expected log transition density and KL, as far as they fall to this share of the work, and the jitter."""


class AbstractInducing(eqx.Module):
    """The treatment of q(u) within the bound and after a step."""

    @abstractmethod
    def terms(
        self, transition: AbstractTransition, transitions: Transitions, share: AbstractShare = Unsharded()
    ) -> Terms:
        """The part of the bound that involves the transition function."""

    @abstractmethod
    def after_step(
        self, transition: AbstractTransition, transitions: Transitions, share: AbstractShare = Unsharded()
    ) -> AbstractTransition:
        """The transition with q(u) brought up to date by anything but a gradient step."""

    @abstractmethod
    def finish(self, transition: AbstractTransition, transitions: Transitions) -> AbstractTransition:
        """The transition with the q(u) that predictions use, once training is over."""

    @abstractmethod
    def leaves_to_gradients(self) -> bool:
        """Whether gradient steps train q(u)."""

    @abstractmethod
    def needs_full_batch(self) -> bool:
        """Whether a bound from some of the episodes would be biased."""

    @abstractmethod
    def steps_between(self) -> bool:
        """Whether `after_step` changes q(u)."""


class Explicit(AbstractInducing):
    """q(u) is trained by gradients together with everything else; works with minibatches and any transition."""

    def terms(
        self, transition: AbstractTransition, transitions: Transitions, share: AbstractShare = Unsharded()
    ) -> Terms:
        """The bound's transition term and KL at the stored q(u)."""
        dynamics = transition.condition()
        return dynamics.expected_log_prob(transitions), share.fraction() * dynamics.kl(), dynamics.jitter()

    def after_step(
        self, transition: AbstractTransition, transitions: Transitions, share: AbstractShare = Unsharded()
    ) -> AbstractTransition:
        """Nothing to do."""
        return transition

    def finish(self, transition: AbstractTransition, transitions: Transitions) -> AbstractTransition:
        """Nothing to do."""
        return transition

    def leaves_to_gradients(self) -> bool:
        """Gradients train it."""
        return True

    def needs_full_batch(self) -> bool:
        return False

    def steps_between(self) -> bool:
        return False


class Collapsed(AbstractInducing):
    """q(u) is always at its optimum given q(X): the bound no longer depends on it. For full batches.

    The statistics stand inside an inverse and a logarithm, so that a minibatch would bias the bound.
    """

    def terms(
        self, transition: AbstractTransition, transitions: Transitions, share: AbstractShare = Unsharded()
    ) -> Terms:
        """The collapsed bound."""
        log_prob, kl, jitter = _sparse(transition).collapsed(transitions, share)
        return share.fraction() * log_prob, share.fraction() * kl, jitter

    def after_step(
        self, transition: AbstractTransition, transitions: Transitions, share: AbstractShare = Unsharded()
    ) -> AbstractTransition:
        """Nothing to do: the bound does not depend on the stored q(u)."""
        return transition

    def finish(self, transition: AbstractTransition, transitions: Transitions) -> AbstractTransition:
        """Store the optimum."""
        return _sparse(transition).towards_optimum(transitions)

    def leaves_to_gradients(self) -> bool:
        """The bound does not depend on the stored q(u)."""
        return False

    def needs_full_batch(self) -> bool:
        return True

    def steps_between(self) -> bool:
        return False


class NaturalGradient(AbstractInducing):
    """q(u) takes a natural-gradient step after each gradient step on the rest: for minibatches."""

    rate: float = eqx.field(static=True, default=0.1)

    def __check_init__(self) -> None:
        """The rate must be in (0, 1]."""
        if not 0.0 < self.rate <= 1.0:
            raise ValueError(f"rate={self.rate}: a natural-gradient step must lie in (0, 1]")

    def terms(
        self, transition: AbstractTransition, transitions: Transitions, share: AbstractShare = Unsharded()
    ) -> Terms:
        """As for an explicit q(u)."""
        return Explicit().terms(transition, transitions, share)

    def after_step(
        self, transition: AbstractTransition, transitions: Transitions, share: AbstractShare = Unsharded()
    ) -> AbstractTransition:
        """Move towards the optimum for this batch."""
        return _sparse(transition).towards_optimum(transitions, self.rate, share)

    def finish(self, transition: AbstractTransition, transitions: Transitions) -> AbstractTransition:
        """Nothing to do: the steps have averaged over batches already."""
        return transition

    def leaves_to_gradients(self) -> bool:
        """Natural-gradient steps train it instead."""
        return False

    def needs_full_batch(self) -> bool:
        return False

    def steps_between(self) -> bool:
        return True


def _sparse(transition: AbstractTransition) -> SparseGP:
    if not isinstance(transition, SparseGP):
        raise TypeError(f"{type(transition).__name__} has no q(u): use Explicit()")
    return transition
