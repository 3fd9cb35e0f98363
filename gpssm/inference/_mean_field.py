"""The variational bound of the paper for a batch of episodes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from gpssm._core._compile import compile_by_work
from gpssm._core._sharding import AbstractShare, Unsharded
from gpssm.inference._base import AbstractInference, Needs
from gpssm.inference._bound import Bound
from gpssm.inference._expectation import AbstractExpectation, MonteCarlo
from gpssm.inference._q_u import AbstractInducing, Explicit
from gpssm.inference.recognition import AbstractRecognition
from gpssm.models import GPSSM, Batch, GaussMarkov, SparseGP, Transitions

FINAL_PATHS = 32
FINAL_ROWS = 200_000
"""Paths from which q(u) is computed at the end, and the most rows that they may have together."""


class EpisodeTerms(eqx.Module):
    """What one episode contributes: closed-form terms, and its expected transitions."""

    likelihood: Float[Array, "*B"]
    initial: Float[Array, "*B"]
    entropy: Float[Array, "*B"]
    transitions: Transitions


class MeanField(AbstractInference):
    """q(X) from a recognition model, q(u) treated one way or another, expectations by one rule or another."""

    recognition: AbstractRecognition
    inducing: AbstractInducing = Explicit()
    expectation: AbstractExpectation = MonteCarlo()

    def posterior(self, episodes: Batch) -> GaussMarkov:
        """q(X) of each episode of a batch."""
        return jax.vmap(self.recognition.posterior)(episodes)

    def episode_terms(self, model: GPSSM, episode: Batch, *, key: PRNGKeyArray) -> EpisodeTerms:
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
        self, model: GPSSM, episodes: Batch, *, share: AbstractShare = Unsharded(), key: PRNGKeyArray
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
        bound = Bound.of(
            {
                "likelihood": jnp.sum(weight * terms.likelihood),
                "initial": jnp.sum(weight * terms.initial),
                "transition": log_prob,
                "entropy": jnp.sum(weight * terms.entropy),
                "inducing": -kl,
            },
            jitter=jitter,
            once=("inducing",),
        )
        return bound, transitions

    def after_step(self, model: GPSSM, told: Transitions, *, share: AbstractShare = Unsharded()) -> GPSSM:
        """q(u) moved as its treatment says."""
        return eqx.tree_at(lambda m: m.transition, model, self.inducing.after_step(model.transition, told, share))

    def finish(self, model: GPSSM, batch: Batch, *, key: PRNGKeyArray) -> GPSSM:
        """The q(u) that predictions use, from more paths than a training step takes, as far as memory allows."""
        averaged = self
        if isinstance(self.expectation, MonteCarlo):
            affordable = max(2, min(FINAL_PATHS, FINAL_ROWS // batch.valid.size) // 2 * 2)
            rule = MonteCarlo(max(affordable, self.expectation.num), antithetic=self.expectation.antithetic)
            averaged = eqx.tree_at(lambda i: i.expectation, self, rule)
        return eqx.tree_at(lambda m: m.transition, model, _finish(model, averaged, batch, key))

    def held(self, model: GPSSM) -> PyTree:
        """q(u), unless it is left to gradients."""
        if not isinstance(model.transition, SparseGP) or self.inducing.leaves_to_gradients():
            return ()
        return (model.transition.q_mean, model.transition.q_chol)

    def needs(self) -> Needs:
        """As q(u) and q(X) ask."""
        return Needs(
            full_batch=self.inducing.needs_full_batch(),
            whole_episodes=self.recognition.needs_whole_episodes(),
            steps_between=self.inducing.steps_between(),
        )

    def reader(self) -> AbstractRecognition | None:
        """The recognition network, if it reads other episodes than those it was trained on."""
        return self.recognition if self.recognition.reads_new_episodes() else None

    def for_new_records(self) -> "MeanField | None":
        """With q(u) as training has left it."""
        if not self.recognition.reads_new_episodes():
            return None
        return eqx.tree_at(lambda i: i.inducing, self, Explicit())


@compile_by_work(lambda model, inference, batch, key: batch.valid.size)
def _finish(model: GPSSM, inference: MeanField, batch: Batch, key: PRNGKeyArray):
    _, transitions = inference.bound(model, batch, key=key)
    return inference.inducing.finish(model.transition, transitions)


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
