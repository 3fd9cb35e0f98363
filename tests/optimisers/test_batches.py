"""Batches stand for the whole data: their weights add up, and a window never leaves its record."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.fitting._batches import cut_window, window_positions
from gpssm.inference import Collapsed, MeanField
from gpssm.models import Batch
from gpssm.optimisers import Adam, FullBatch, Minibatches, Windows
from tests.optimisers.small_task import Task

LENGTHS = (40, 9, 25, 3)


@pytest.fixture(scope="module")
def data() -> Batch:
    """Records whose outputs tell where they come from: 1000 times the number of the record plus the step."""
    ys = [1000.0 * i + np.arange(steps, dtype=float)[:, None] for i, steps in enumerate(LENGTHS)]
    us = [y + 0.5 for y in ys]
    return Batch.of(gpssm.Episodes.from_arrays(y=ys, u=us), length=45)


def _draws(batches, data: Batch, count: int) -> Batch:
    return jax.jit(jax.vmap(lambda key: batches.draw(data, key=key)))(jr.split(jr.key(0), count))


@pytest.fixture(scope="module", params=[9, 20])
def windows(data, request) -> tuple[int, Batch]:
    """Many batches of two windows each, and the length of the windows."""
    return request.param, _draws(Windows(length=request.param, size=2), data, 4000)


def test_full_batch_is_the_data(data):
    assert FullBatch().draw(data, key=jr.key(0)) is data
    assert FullBatch().is_full()


def test_minibatches_hold_different_episodes_with_the_right_weight(data):
    drawn = _draws(Minibatches(3), data, 200)
    assert drawn.y.shape == (200, 3, 45, 1)
    assert all(len(set(row)) == 3 for row in np.asarray(drawn.index).tolist())
    np.testing.assert_allclose(drawn.weight, 4.0 / 3.0)
    assert set(np.asarray(drawn.index).ravel().tolist()) == {0, 1, 2, 3}
    assert np.array_equal(drawn.y, np.asarray(data.y)[np.asarray(drawn.index)])
    assert not Minibatches(3).is_full()


def test_minibatches_are_unbiased(data):
    drawn = _draws(Minibatches(2), data, 4000)
    total = np.sum(np.asarray(drawn.weight)[..., None] * np.asarray(drawn.valid), axis=(1, 2))
    error = total.std() / np.sqrt(len(total))
    assert error > 0.0
    assert abs(total.mean() - sum(LENGTHS)) < 4.0 * error


def test_minibatches_keep_the_weights_that_episodes_had(data):
    weighted = eqx.tree_at(lambda d: d.weight, data, jnp.asarray([2.0, 1.0, 1.0, 1.0]))
    drawn = Minibatches(2).draw(weighted, key=jr.key(0))
    np.testing.assert_allclose(drawn.weight, 2.0 * np.asarray(weighted.weight)[np.asarray(drawn.index)])


def test_a_minibatch_cannot_exceed_the_population(data):
    drawn = Minibatches(50).draw(data, key=jr.key(0))
    assert sorted(np.asarray(drawn.index).tolist()) == [0, 1, 2, 3]
    np.testing.assert_allclose(drawn.weight, 1.0)


def test_windows_stay_within_their_record(windows):
    length, drawn = windows
    assert drawn.y.shape == (4000, 2, length, 1)
    valid, y, index = (np.asarray(leaf) for leaf in (drawn.valid, drawn.y[..., 0], drawn.index))
    origin = 1000.0 * index[..., None]
    steps = y - origin
    records = np.asarray(LENGTHS)[index][..., None]
    assert np.all((steps >= 0) & (steps < records), where=valid)
    assert np.all(np.diff(steps, axis=-1) == 1.0, where=valid[..., 1:]), "steps follow each other"
    assert np.all(valid[..., 0])
    shown = valid.sum(axis=-1)
    # All of a record that fits into a window, and at most a window of any other.
    assert np.array_equal(shown[records[..., 0] <= length], records[records <= length])
    assert shown.max() == length and shown[records[..., 0] > length].min() == 1
    assert np.array_equal(np.asarray(drawn.u)[..., 0][valid], y[valid] + 0.5)
    padding = (np.asarray(leaf)[~valid] for leaf in (drawn.y, drawn.u, drawn.observed))
    assert not any(leaf.any() for leaf in padding)


@pytest.mark.parametrize("length", [2, 9, 20, 24, 45])
def test_every_step_counts_once_over_all_windows(data, length):
    """By enumeration: each window with its probability and its weight."""
    lengths = jnp.asarray(LENGTHS)
    first, positions, copies = (np.asarray(leaf) for leaf in window_positions(lengths, length))
    probability = positions / copies / np.sum(positions / copies)
    weight = np.sum(positions / copies)
    cut = jax.jit(lambda record, start: cut_window(record, start, length).valid)
    for i, steps in enumerate(LENGTHS):
        record = jax.tree.map(lambda leaf, i=i: leaf[i], data)
        counts = np.zeros(steps)
        for start in range(first[i], first[i] + positions[i]):
            shown = np.arange(max(start, 0), max(start, 0) + int(np.sum(cut(record, jnp.asarray(start)))))
            counts[shown] += probability[i] / positions[i] * weight
        np.testing.assert_allclose(counts, 1.0, rtol=1e-12)


def test_windows_are_drawn_with_these_probabilities_and_weights(windows):
    """Every step of every record counts once on average, the first and the last as any other."""
    _, drawn = windows
    valid, index, weight = (np.asarray(leaf) for leaf in (drawn.valid, drawn.index, drawn.weight))
    steps = (np.asarray(drawn.y)[..., 0] - 1000.0 * index[..., None]).astype(int)
    for i, length in enumerate(LENGTHS):
        counted = np.zeros((len(weight), length))
        batch, window, step = np.nonzero(valid & (index == i)[..., None])
        np.add.at(counted, (batch, steps[batch, window, step]), weight[batch, window])
        error = counted.std(axis=0) / np.sqrt(len(counted))
        assert np.all(np.abs(counted.mean(axis=0) - 1.0) < 5.0 * error)


def test_windows_keep_the_weights_that_episodes_had(data):
    weighted = eqx.tree_at(lambda d: d.weight, data, jnp.asarray([2.0, 1.0, 1.0, 1.0]))
    drawn, plain = (_draws(Windows(length=9, size=2), each, 50) for each in (weighted, data))
    np.testing.assert_allclose(
        drawn.weight, np.asarray(plain.weight) * np.where(np.asarray(plain.index) == 0, 2.0, 1.0)
    )


def test_empty_episodes_are_never_drawn_as_windows(data):
    """Padding the number of episodes, as for several devices, adds episodes without a valid step."""
    empty = jax.tree.map(lambda leaf: jnp.zeros_like(leaf[:1]), data)
    more = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), data, empty)
    drawn = _draws(Windows(length=10, size=2), more, 300)
    assert np.all(np.asarray(drawn.valid)[..., 0])
    assert np.isfinite(np.asarray(drawn.weight)).all()


@pytest.mark.parametrize("make", [lambda: Minibatches(0), lambda: Windows(1), lambda: Windows(5, 0)])
def test_impossible_batches_are_refused(make):
    with pytest.raises(ValueError, match="at least"):
        make()


def test_collapsed_refuses_minibatches(task):
    collapsed = Task(task.model, MeanField(task.inference.recognition, Collapsed()), task.data)
    for batches in (Minibatches(2), Windows(5)):
        with pytest.raises(ValueError, match="full batches"):
            collapsed.train(Adam(1, batches=batches), key=jr.key(0))


def test_states_at_each_step_refuse_windows(task):
    with pytest.raises(ValueError, match="whole episodes"):
        task.train(Adam(1, batches=Windows(5)), key=jr.key(0))
