"""The padded form: masks tell the truth and padding changes nothing else."""

from collections.abc import Iterable

import equinox as eqx
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpssm.data import DataError, Episode, Episodes
from gpssm.models import Batch

# No deadline: on a busy machine the time of a single example says nothing.
quick = settings(deadline=None, max_examples=40)

values = st.floats(-1e6, 1e6)


@st.composite
def records(draw: st.DrawFn) -> dict[str, list[np.ndarray]]:
    """Arguments for `Episodes.from_arrays`: several records of unequal length with missing values."""
    outputs, inputs = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    # Without a fully observed record, a channel could be missing throughout.
    y, u = [np.ones((1, outputs))], [np.ones((1, inputs))]
    for steps in draw(st.lists(st.integers(1, 8), min_size=1, max_size=4)):
        y.append(draw(hnp.arrays(np.float64, (steps, outputs), elements=values | st.just(np.nan))))
        u.append(draw(hnp.arrays(np.float64, (steps, inputs), elements=values)))
    return {"y": y, "u": u}


def padded_numpy(episodes: Iterable[Episode], length: int | None = None) -> Batch:
    """As NumPy arrays, since JAX would compile every comparison anew for every shape."""
    return jax.tree.map(np.asarray, Batch.of(episodes, length=length))


@quick
@given(records(), st.integers(0, 5))
def test_padding_adds_invalid_steps_and_nothing_else(arrays, extra):
    episodes = Episodes.from_arrays(**arrays)
    length = episodes.max_length + extra
    padded = padded_numpy(episodes, length)
    assert padded.y.shape == padded.observed.shape == (len(episodes), length, episodes.num_outputs)
    assert padded.u.shape == (len(episodes), length, episodes.num_inputs)
    for i, episode in enumerate(episodes):
        steps = len(episode)
        np.testing.assert_array_equal(padded.valid[i], np.arange(length) < steps)
        np.testing.assert_array_equal(padded.y[i, :steps], episode.y)
        np.testing.assert_array_equal(padded.u[i, :steps], episode.u)
        np.testing.assert_array_equal(padded.observed[i, :steps], episode.observed)
        assert not padded.observed[i, steps:].any()
        assert not padded.y[i, steps:].any()
        assert not padded.u[i, steps:].any()
    np.testing.assert_array_equal(padded.index, np.arange(len(episodes)))
    np.testing.assert_array_equal(padded.weight, np.ones(len(episodes)))


@quick
@given(records(), st.integers(1, 5))
def test_longer_padding_extends_the_shorter(arrays, extra):
    episodes = Episodes.from_arrays(**arrays)
    short, long = padded_numpy(episodes), padded_numpy(episodes, episodes.max_length + extra)
    for name in ("y", "u", "observed", "valid"):
        np.testing.assert_array_equal(getattr(short, name), getattr(long, name)[:, : episodes.max_length])
    assert int(short.valid.sum()) == int(long.valid.sum()) == episodes.num_steps


def test_any_collection_of_episodes_will_do():
    """Also of one that `Episodes` would refuse: a record whose output is missing throughout can be tested on."""
    episodes = [Episode(y=[1.0, 2.0], u=[1.0, 2.0]), Episode(y=[np.nan], u=[4.0])]
    expected = padded_numpy(Episodes(episodes))
    for same in (episodes, tuple(episodes), iter(episodes)):
        jax.tree.map(np.testing.assert_array_equal, padded_numpy(same), expected)
    alone = padded_numpy(episodes[1:], 2)
    np.testing.assert_array_equal(alone.observed, np.zeros((1, 2, 1), bool))
    np.testing.assert_array_equal(alone.u[0, :, 0], [4.0, 0.0])
    with pytest.raises(DataError, match="at least one episode"):
        Batch.of([])


def test_types():
    episodes = Episodes([Episode(y=[1.0, 2.0], u=[1.0, 2.0]), Episode(y=[3.0], u=[4.0])])
    padded = Batch.of(episodes)
    assert padded.y.dtype == padded.u.dtype == padded.weight.dtype == jnp.float64
    assert padded.observed.dtype == padded.valid.dtype == jnp.bool_
    assert padded.index.dtype == jnp.int32
    single = Batch.of(episodes, dtype=np.float32)
    assert single.y.dtype == single.u.dtype == single.weight.dtype == jnp.float32
    with jax.enable_x64(False):
        assert Batch.of(episodes).y.dtype == jnp.float32
    assert all(eqx.is_array(leaf) for leaf in jax.tree.leaves(padded))


def test_under_vmap_it_is_one_episode():
    episodes = Episodes([Episode(y=[1.0, np.nan, 5.0]), Episode(y=[3.0])])

    def sum_of_one(one: Batch) -> jax.Array:
        assert one.y.shape == (3, 1)
        assert one.valid.shape == (3,)
        assert one.weight.shape == ()
        return one.weight * jnp.sum(jnp.where(one.observed, one.y, 0.0)) + one.index

    np.testing.assert_array_equal(eqx.filter_jit(eqx.filter_vmap(sum_of_one))(Batch.of(episodes)), [6.0, 4.0])


def test_bad_requests():
    episodes = Episodes([Episode(y=np.ones(5))])
    with pytest.raises(DataError, match=r"pad to 4 steps.*has 5"):
        Batch.of(episodes, length=4)
    with pytest.raises(DataError, match="int32"):
        Batch.of(episodes, dtype=np.int32)
    large = Episodes([Episode(y=[1.0, 1e39], output_names=["p"], name="run")])
    assert float(Batch.of(large).y.max()) == 1e39
    with pytest.raises(DataError, match=r"run: 'p' is 1e\+39 at row 1.*float32.*Scaler"):
        Batch.of(large, dtype=np.float32)


def test_shapes_must_agree(monkeypatch):
    # The run-time type checks of the test-suite would complain first; users run without them.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    padded = Batch.of(Episodes([Episode(y=np.ones(5))]))
    leaves = {name: getattr(padded, name) for name in ("y", "u", "observed", "valid", "index", "weight")}
    Batch(**leaves)
    for name, leaf in leaves.items():
        with pytest.raises(ValueError, match="disagree in shape"):
            Batch(**(leaves | {name: jnp.concatenate([leaf, leaf])}))
