"""Scaling and undoing it, checked against plain NumPy."""

import dataclasses
import json

import jaxtyping
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpssm.data import DataError, Episode, Episodes, Scaler

# No deadline: on a busy machine the time of a single example says nothing.
quick = settings(deadline=None, max_examples=40)

values = st.floats(-1e6, 1e6, allow_subnormal=False)


@st.composite
def records(draw: st.DrawFn) -> dict[str, list[np.ndarray]]:
    """Arguments for `Episodes.from_arrays`: several records of unequal length with missing values."""
    outputs, inputs = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    # Without a fully observed record, a channel could be missing throughout.
    y, u = [np.ones((1, outputs))], [np.ones((1, inputs))]
    for steps in draw(st.lists(st.integers(1, 8), min_size=1, max_size=3)):
        y.append(draw(hnp.arrays(np.float64, (steps, outputs), elements=values | st.just(np.nan))))
        u.append(draw(hnp.arrays(np.float64, (steps, inputs), elements=values)))
    return {"y": y, "u": u}


@st.composite
def statistics(draw: st.DrawFn) -> dict[str, np.ndarray]:
    """Arguments for `Scaler`."""
    outputs, inputs = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    scales = st.floats(1e-3, 1e3)
    return {
        "output_mean": draw(hnp.arrays(np.float64, outputs, elements=st.floats(-1e3, 1e3))),
        "output_scale": draw(hnp.arrays(np.float64, outputs, elements=scales)),
        "input_mean": draw(hnp.arrays(np.float64, inputs, elements=st.floats(-1e3, 1e3))),
        "input_scale": draw(hnp.arrays(np.float64, inputs, elements=scales)),
    }


@quick
@given(records())
def test_statistics_ignore_what_is_missing(arrays):
    episodes = Episodes.from_arrays(**arrays, dt=0.1)
    scaler = Scaler.from_episodes(episodes)
    y = np.concatenate([episode.y_with_nan for episode in episodes])
    u = np.concatenate([episode.u for episode in episodes])
    for mean, scale, columns in (
        (scaler.output_mean, scaler.output_scale, y),
        (scaler.input_mean, scaler.input_scale, u),
    ):
        assert mean.shape == scale.shape == (columns.shape[1],)
        for i, column in enumerate(columns.T):
            present = column[~np.isnan(column)]
            size = np.abs(present).max()
            np.testing.assert_allclose(mean[i], present.mean(), rtol=0, atol=1e-14 * size)
            expected = present.std()
            if np.ptp(present) <= 1e-15 * size:
                assert scale[i] == 1.0
            elif np.ptp(present) > 1e-14 * size:
                np.testing.assert_allclose(scale[i], expected, rtol=1e-9, atol=1e-14 * size)


@quick
@given(records())
def test_applying_gives_unit_scale(arrays):
    episodes = Episodes.from_arrays(**arrays, dt=0.1)
    scaler = Scaler.from_episodes(episodes)
    scaled = scaler.apply(episodes)
    y = np.concatenate([episode.y_with_nan for episode in scaled])
    raw = np.concatenate([episode.y_with_nan for episode in episodes])
    for column, before in zip(y.T, raw.T, strict=True):
        present, before = column[~np.isnan(column)], before[~np.isnan(before)]
        if np.ptp(before) > 1e-6 * np.abs(before).max():
            np.testing.assert_allclose([present.mean(), present.std()], [0.0, 1.0], atol=1e-7)


@quick
@given(records())
def test_round_trip(arrays):
    episodes = Episodes.from_arrays(**arrays, dt=0.1)
    scaler = Scaler.from_episodes(episodes)
    scaled = scaler.apply(episodes)
    assert len(scaled) == len(episodes)
    size = 1e-14 * max(np.abs(episode.y).max() for episode in episodes)
    for before, after in zip(episodes, scaled, strict=True):
        np.testing.assert_array_equal(after.observed, before.observed)
        assert not after.y[~after.observed].any()
        undone = np.where(before.observed, scaler.undo_mean(after.y), 0.0)
        np.testing.assert_allclose(undone, before.y, rtol=1e-12, atol=size)
        np.testing.assert_array_equal(after.u, scaler.apply_inputs(before.u))
        alone = scaler.apply(before)
        np.testing.assert_array_equal(alone.y, after.y)
        assert (after.name, after.dt, after.output_names, after.input_names) == (
            before.name,
            before.dt,
            before.output_names,
            before.input_names,
        )


@quick
@given(records())
def test_a_scaled_episode_is_what_the_constructor_would_have_made(arrays):
    """It is put together without checks, from arrays that are known to be good."""
    episodes = Episodes.from_arrays(**arrays, dt=0.1)
    scaler = Scaler.from_episodes(episodes)
    for before, after in zip(episodes, scaler.apply(episodes), strict=True):
        built = Episode(
            y=(before.y_with_nan - scaler.output_mean) / scaler.output_scale,
            u=scaler.apply_inputs(before.u),
            dt=before.dt,
            name=before.name,
            output_names=before.output_names,
            input_names=before.input_names,
        )
        for field in dataclasses.fields(Episode):
            found, expected = getattr(after, field.name), getattr(built, field.name)
            np.testing.assert_array_equal(found, expected)
            assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)
        assert not any(array.flags.writeable for array in (after.y, after.u, after.observed))


@quick
@given(statistics(), st.data())
def test_inputs_are_scaled_by_the_definition(given_statistics, data):
    scaler = Scaler(**given_statistics)
    shape = (*data.draw(hnp.array_shapes(max_dims=2, max_side=3)), len(scaler.input_mean))
    u = data.draw(hnp.arrays(np.float64, shape, elements=values))
    scaled = scaler.apply_inputs(u)
    for position in np.ndindex(*shape):
        channel = position[-1]
        expected = (u[position] - scaler.input_mean[channel]) / scaler.input_scale[channel]
        np.testing.assert_allclose(scaled[position], expected, rtol=1e-14)


@quick
@given(statistics(), st.integers(0, 2**32 - 1))
def test_undoing_commutes_with_moments(given_statistics, seed):
    """Moments of undone samples are the undone moments of the samples, exactly and not only on average."""
    scaler = Scaler(**given_statistics)
    rng = np.random.default_rng(seed)
    count = len(scaler.output_mean)
    samples = rng.normal(size=(20, count)) @ rng.normal(size=(count, count))
    undone = scaler.undo_samples(samples)
    tolerance = 1e-9 * (np.abs(scaler.output_mean).max() + scaler.output_scale.max()) ** 2
    np.testing.assert_allclose(undone.mean(0), scaler.undo_mean(samples.mean(0)), rtol=1e-10, atol=tolerance)
    np.testing.assert_allclose(undone.std(0), scaler.undo_std(samples.std(0)), rtol=1e-7, atol=1e-9)


def test_undoing_by_hand():
    scaler = Scaler(
        output_mean=np.array([1.0, -2.0]),
        output_scale=np.array([2.0, 10.0]),
        input_mean=np.zeros(0),
        input_scale=np.zeros(0),
    )
    np.testing.assert_array_equal(scaler.undo_mean([3.0, 1.0]), [7.0, 8.0])
    np.testing.assert_array_equal(scaler.undo_samples(np.ones((4, 3, 2))), np.broadcast_to([3.0, 8.0], (4, 3, 2)))
    np.testing.assert_array_equal(scaler.undo_std([[1.0, 0.5]]), [[2.0, 5.0]])
    np.testing.assert_array_equal(scaler.apply_inputs(np.zeros((5, 0))), np.zeros((5, 0)))


@pytest.mark.parametrize("constant", [0.0, 0.1, -1e80, 1e-120])
def test_constant_channels_become_zero(constant):
    episodes = Episodes([Episode(y=np.full(1001, constant), u=np.full(1001, constant))])
    scaler = Scaler.from_episodes(episodes)
    assert scaler.output_scale.tolist() == scaler.input_scale.tolist() == [1.0]
    assert not scaler.apply(episodes)[0].y.any()
    assert not scaler.apply(episodes)[0].u.any()


def test_channels_constant_but_for_rounding():
    scaler = Scaler.from_episodes(Episodes([Episode(y=[0.3, 0.1 + 0.2] * 5)]))
    assert scaler.output_scale.tolist() == [1.0]


@pytest.mark.parametrize("size", [1e-90, 1e-20, 1.0, 1e90])
def test_any_unit_and_a_large_offset(size):
    wave = np.sin(np.arange(50.0))
    unit = Scaler.from_episodes(Episodes([Episode(y=wave)])).output_scale
    np.testing.assert_allclose(unit, wave.std(), rtol=1e-14)
    scaler = Scaler.from_episodes(Episodes([Episode(y=size * (wave + 1e6))]))
    np.testing.assert_allclose(scaler.output_scale, size * unit, rtol=1e-9)
    np.testing.assert_allclose(scaler.output_mean, size * (1e6 + wave.mean()), rtol=1e-14)


@quick
@given(records())
def test_stored_as_json_it_comes_back_bit_for_bit(arrays):
    episodes = Episodes.from_arrays(**arrays, dt=0.1)
    scaler = Scaler.from_episodes(episodes)
    again = Scaler.from_dict(json.loads(json.dumps(scaler.to_dict())))
    for name in ("output_mean", "output_scale", "input_mean", "input_scale"):
        np.testing.assert_array_equal(getattr(again, name), getattr(scaler, name))
        assert getattr(again, name).dtype == np.float64


def state(**change: list[float]) -> dict[str, list[float]]:
    return {"output_mean": [0.0, 0.0], "output_scale": [1.0, 2.0], "input_mean": [0.0], "input_scale": [1.0]} | change


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (state(output_scale=[1.0, 0.0]), "output_scale .*positive"),
        (state(input_scale=[-1.0]), "input_scale .*positive"),
        (state(output_mean=[0.0, float("nan")]), "output_mean .*finite"),
        (state(output_mean=[0.0]), "1 means but 2 scales"),
        (state(extra=[0.0]), "keys"),
        ({"output_mean": [0.0]}, "keys"),
    ],
)
def test_bad_stored_scalers(stored, message, monkeypatch):
    # The run-time type checks of the test-suite would complain first; users run without them.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(DataError, match=message):
        Scaler.from_dict(stored)


def test_complaints():
    scaler = Scaler.from_dict(state())
    with pytest.raises(DataError, match=r"run: 1 outputs.*learnt with 2"):
        scaler.apply(Episode(y=np.ones(3), u=np.ones(3), name="run"))
    with pytest.raises(DataError, match=r"run: 0 inputs.*learnt with 1"):
        scaler.apply(Episode(y=np.ones((3, 2)), name="run"))
    with pytest.raises(DataError, match=r"2 outputs.*\(5, 3\)"):
        scaler.undo_mean(np.ones((5, 3)))
    with pytest.raises(DataError, match=r"1 inputs.*\(5,\)"):
        scaler.apply_inputs(np.ones(5))
    with pytest.raises(DataError, match=r"'u0' .*NaN at row 2.*interpolate"):
        scaler.apply_inputs([[0.0], [1.0], [np.nan]])


def test_a_channel_never_seen_has_no_scale():
    complete, lacking = Episode(y=[[1.0, 2.0]]), Episode(y=[[1.0, np.nan]])
    episodes = Episodes([complete, lacking])
    with pytest.raises(DataError, match="output 'y1' is missing at every step"):
        Scaler.from_episodes(episodes[1:])


def test_the_scaler_is_read_only():
    mean = np.zeros(1)
    scaler = Scaler(output_mean=mean, output_scale=np.ones(1), input_mean=np.zeros(0), input_scale=np.zeros(0))
    mean[:] = 5.0
    assert scaler.output_mean.tolist() == [0.0]
    with pytest.raises(ValueError, match="read-only"):
        scaler.output_mean[0] = 1.0
