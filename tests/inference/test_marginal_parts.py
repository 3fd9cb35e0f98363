"""Marginal inference over pieces of records, some at a time, and with a share of free runs, against whole records and
dense Gaussians."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from gpssm._core._params import val
from gpssm.data import Episode, Episodes
from gpssm.inference.marginal import (
    FilterLaplace,
    FreeRuns,
    Parts,
    PointMass,
    Tangent,
    evidence_of,
)
from gpssm.models import Batch
from tests.inference.test_marginal import KALMAN, linear_model, records
from tests.reference.compiling import jit
from tests.reference.gaussian import log_density
from tests.reference.kalman import joint

VALUES = np.array([[0.4], [-1.1]])


@jit
def told(model, values, batch, free, parts):
    return evidence_of(model, values, batch, Tangent(), fitc=False, free=free, parts=parts)


def long_records() -> Batch:
    """Two lengths that no piece divides, with gaps."""
    rng, found = np.random.default_rng(5), []
    for length in (23, 11):
        y = rng.standard_normal((length, 2))
        y[3] = np.nan
        y[7, 1] = np.nan
        found.append(Episode(y=y, u=rng.standard_normal((length, 1))))
    return Batch.of(Episodes(found))


def same(found, expected, rtol: float) -> None:
    np.testing.assert_allclose(found.log_evidence, expected.log_evidence, rtol=rtol)
    np.testing.assert_allclose(found.information, expected.information, rtol=rtol, atol=1e-10)


def test_pieces_whose_warm_up_reaches_back_to_the_start_are_the_whole_record():
    model, batch = linear_model(), long_records()
    whole = told(model, jnp.asarray(VALUES), batch, None, Parts())
    for steps in (1, 4, 9, 22):
        same(told(model, jnp.asarray(VALUES), batch, None, Parts(steps, warm_up=23)), whole, 1e-10)


def test_the_longer_pieces_warm_up_the_closer_they_are_to_the_whole_record():
    model, batch = linear_model(), long_records()
    whole = told(model, jnp.asarray(VALUES), batch, None, Parts()).log_evidence
    errors = [
        abs(float(told(model, jnp.asarray(VALUES), batch, None, Parts(5, warm_up=n)).log_evidence - whole))
        for n in (0, 3, 8)
    ]
    assert errors[0] > 1e-2 and errors[1] < 0.5 * errors[0] and errors[2] < 0.01 * errors[0]


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_in_groups_nothing_changes_not_even_gradients(count: int):
    model, batch = linear_model(), long_records()
    values = jnp.asarray(VALUES)

    @jit
    def value_and_slope(values, parts):
        def summed(values):
            found = evidence_of(model, values, batch, Tangent(), fitc=False, free=FreeRuns(0.4, 2), parts=parts)
            return found.log_evidence - 0.5 * jnp.linalg.slogdet(jnp.eye(2) + found.information)[1]

        return jax.value_and_grad(summed)(values)

    expected = value_and_slope(values, Parts(4, warm_up=3))
    found = value_and_slope(values, Parts(4, warm_up=3, at_once=count))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    same(told(model, values, batch, None, Parts(at_once=count)), told(model, values, batch, None, Parts()), rtol=1e-10)


def dense_free_run(episode: Episode, reads: int) -> float:
    """Of the outputs read, their density; of each step after that, its density given these, one step by itself."""
    shifted = KALMAN.__class__(**{**vars(KALMAN), "c": KALMAN.c + np.sqrt(0.7) * VALUES[:, 0]})
    mean, covariance = joint(shifted, episode.u)
    W = np.kron(np.eye(len(episode)), KALMAN.W)
    m, S = W @ mean + np.tile(KALMAN.b, len(episode)), W @ covariance @ W.T
    S = S + np.diag(np.tile(KALMAN.R, len(episode)))
    y, seen = episode.y.ravel(), episode.observed
    known = np.flatnonzero(np.arange(len(y)) // 2 < reads)
    known = known[seen.ravel()[known]]
    total = log_density(y[known], m[known], S[np.ix_(known, known)]) if len(known) else 0.0
    for t in range(reads, len(episode)):
        now = 2 * t + np.flatnonzero(seen[t])
        if not len(now):
            continue
        gain = (
            np.linalg.solve(S[np.ix_(known, known)], S[np.ix_(known, now)]).T if len(known) else np.zeros((len(now), 0))
        )
        expected = m[now] + gain @ (y[known] - m[known])
        total += log_density(y[now], expected, S[np.ix_(now, now)] - gain @ S[np.ix_(known, now)])
    return float(total)


@pytest.mark.parametrize("reads", [0, 2, 5])
def test_a_free_run_is_judged_by_each_step_given_what_was_read(reads: int):
    expected = sum(dense_free_run(e, reads) for e in records())
    values, batch = jnp.asarray(VALUES), Batch.of(records())
    run = told(linear_model(), values, batch, FreeRuns(1.0, reads), Parts())
    np.testing.assert_allclose(run.log_evidence, expected, rtol=1e-5)
    # A share is a share, of what is told of the values as well.
    plain = told(linear_model(), values, batch, None, Parts())
    mixed = told(linear_model(), values, batch, FreeRuns(0.3, reads), Parts())
    np.testing.assert_allclose(mixed.log_evidence, 0.7 * plain.log_evidence + 0.3 * run.log_evidence, rtol=1e-10)
    np.testing.assert_allclose(mixed.information, 0.7 * plain.information + 0.3 * run.information, rtol=1e-9)


def test_a_share_of_zero_is_none():
    assert FilterLaplace.about(linear_model(), Batch.of(records()), exact=PointMass(), free=FreeRuns(0.0)).free is None


def test_a_free_run_that_reads_everything_is_the_evidence():
    values, batch = jnp.asarray(VALUES), Batch.of(records())
    same(
        told(linear_model(), values, batch, FreeRuns(1.0, 6), Parts()),
        told(linear_model(), values, batch, None, Parts()),
        rtol=1e-10,
    )


def test_pieces_run_freely_from_where_they_are_judged():
    """With a warm-up that reaches back to the start, each piece is a free run that has read all before it."""
    values, batch = jnp.asarray(VALUES), long_records()
    found = told(linear_model(), values, batch, FreeRuns(1.0, 0), Parts(1, warm_up=23))
    # Pieces of one step have read everything before: single steps ahead, which is what the evidence is made of.
    same(found, told(linear_model(), values, batch, None, Parts()), rtol=1e-10)


def test_what_free_runs_tell_is_searched_by_and_not_believed():
    """The errors of a free run are one error seen again and again: counted at each step, they would make the function
    several times too certain."""
    batch, found = Batch.of(records()), []
    for free in (None, FreeRuns(0.9, 2)):
        inference = FilterLaplace.about(linear_model(), batch, carry=Tangent(), free=free)
        found.append(inference.finish(linear_model(), batch, key=jr.key(0)).transition)
    np.testing.assert_array_equal(*(np.asarray(val(transition.q_chol)) for transition in found))


def test_records_without_inputs_are_cut_and_grouped():
    batch = Batch.of(Episodes.from_arrays(y=[np.ones((n, 1)) for n in (5, 7)]))
    pieces, grouped = jit(lambda batch: ((found := Parts(3, warm_up=1).cut(batch, 0)), found.in_turn(4)))(batch)
    assert pieces.batch.u.shape == (6, 4, 0) and grouped.batch.u.shape == (2, 3, 4, 0)


@pytest.mark.parametrize(("count", "shape"), [(64, (1, 15)), (14, (2, 8)), (4, (4, 4)), (1, (15, 1))])
def test_groups_are_of_one_size_and_hardly_filled_up(count: int, shape: tuple[int, int]):
    batch = Batch.of(Episodes.from_arrays(y=[np.ones((5, 1))] * 3))
    grouped = jit(lambda batch: Parts(1, warm_up=0).cut(batch, 0).in_turn(count))(batch)
    assert grouped.batch.valid.shape == (*shape, 1)
    assert int(np.asarray(grouped.judged).sum()) == 15


def test_numbers_that_cannot_be_are_refused():
    for kind, settings in (
        (FreeRuns, {"share": -0.1}),
        (FreeRuns, {"share": 1.1}),
        (FreeRuns, {"reads": -1}),
        (Parts, {"steps": 0}),
        (Parts, {"warm_up": -1}),
        (Parts, {"at_once": 0}),
    ):
        with pytest.raises(ValueError, match=next(iter(settings))):
            kind(**settings)
    with pytest.raises(ValueError, match="exact"):
        FilterLaplace.about(linear_model(), Batch.of(records()), exact=PointMass(), free=FreeRuns())
