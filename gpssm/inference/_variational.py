"""The variational bound of the paper for a batch of episodes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._model import GPSSM
from gpssm._posterior import GaussMarkov
from gpssm._share import AbstractShare, Whole
from gpssm.data import Padded
from gpssm.inference._bound import Bound
from gpssm.inference._expectation import AbstractExpectation, Paths
from gpssm.inference._inducing import AbstractInducing, Explicit
from gpssm.recognition import AbstractRecognition
from gpssm.transition import Transitions


class EpisodeTerms(eqx.Module):
    """What one episode contributes: closed-form terms, and its expected transitions."""

    likelihood: Float[Array, "*B"]
    initial: Float[Array, "*B"]
    entropy: Float[Array, "*B"]
    transitions: Transitions


class Variational(eqx.Module):
    """q(X) from a recognition model, q(u) treated one way or another, expectations by one rule or another."""

    recognition: AbstractRecognition
    inducing: AbstractInducing = Explicit()
    expectation: AbstractExpectation = Paths()

    def posterior(self, episodes: Padded) -> GaussMarkov:
        """q(X) of each episode of a batch."""
        return jax.vmap(self.recognition.posterior)(episodes)

    def episode_terms(self, model: GPSSM, episode: Padded, *, key: PRNGKeyArray) -> EpisodeTerms:
        """The terms of one episode."""
        q = self.recognition.posterior(episode)
        covariances = q.covariances()
        states, weights = self.expectation.states(q, covariances, key=key)
        next_means, next_variances = q.next_given(states)
        count = states.shape[0]
        rows = jnp.where(episode.valid[1:], episode.weight, 0.0)
        controls = episode.u[:-1]
        return EpisodeTerms(
            likelihood=model.emission.expected_log_prob(episode.y, q.means, covariances, where=episode.observed),
            initial=model.initial_expected_log_prob(q.means[0], covariances[0]),
            entropy=q.entropy(where=episode.valid),
            transitions=Transitions(
                states=states[:, :-1],
                controls=jnp.broadcast_to(controls, (count, *controls.shape)),
                next_means=next_means,
                next_variances=jnp.broadcast_to(next_variances, (count, *next_variances.shape)),
                weights=weights[:, None] * rows[None, :],
            ),
        )

    def bound(
        self, model: GPSSM, episodes: Padded, *, share: AbstractShare = Whole(), key: PRNGKeyArray
    ) -> tuple[Bound, Transitions]:
        """The bound for all episodes that the batch stands for, and the transitions it was computed from.

        If the episodes are a `share` of a batch, the terms are what they contribute: adding up the shares gives the
        bound. An episode's random numbers depend on its place in the batch, not on the share that it fell into.
        """
        keys = jax.vmap(lambda place: jr.fold_in(key, place))(share.positions(episodes.valid.shape[0]))
        terms = jax.vmap(lambda e, k: self.episode_terms(model, e, key=k))(episodes, keys)
        transitions = _as_one_table(terms.transitions)
        log_prob, kl, jitter = self.inducing.terms(model.transition, transitions, share)
        weight = episodes.weight
        bound = Bound(
            likelihood=jnp.sum(weight * terms.likelihood),
            initial=jnp.sum(weight * terms.initial),
            transition=log_prob,
            entropy=jnp.sum(weight * terms.entropy),
            inducing=-kl,
            jitter=jitter,
        )
        return bound, transitions


def _as_one_table(transitions: Transitions) -> Transitions:
    """Episodes, paths and steps become rows."""
    rows = transitions.weights.size
    return Transitions(
        states=transitions.states.reshape(rows, transitions.states.shape[-1]),
        controls=transitions.controls.reshape(rows, transitions.controls.shape[-1]),
        next_means=transitions.next_means.reshape(rows, transitions.next_means.shape[-1]),
        next_variances=transitions.next_variances.reshape(rows, transitions.next_variances.shape[-1]),
        weights=transitions.weights.reshape(rows),
    )
