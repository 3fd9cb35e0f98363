"""Every figure draws on the axes it is given, returns them, and shows the numbers it was given."""

import matplotlib

matplotlib.use("Agg")
import jax.numpy as jnp
import jax.random as jr
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import binom

import gpssm
from gpssm import metrics, models, plots
from gpssm._core._params import Positive
from gpssm.predict import Channels, States


@pytest.fixture
def axes():
    figure, drawn = plt.subplots()
    yield drawn
    plt.close(figure)


def episodes(dt: float | None = 0.5) -> gpssm.Episodes:
    rng = np.random.default_rng(0)
    y = rng.standard_normal((12, 2))
    y[3, 0] = np.nan
    return gpssm.Episodes(
        gpssm.Episode(y=y, u=rng.standard_normal(12), dt=dt, output_names=["height", "speed"], input_names=["force"])
        for _ in range(2)
    )


def rollout() -> gpssm.Rollout:
    signals = np.random.default_rng(1).standard_normal((50, 8, 2))
    return gpssm.Rollout(4, signals, signals, signals, np.array([0.1, 0.1]), ("height", "speed"), 0.5)


def history() -> gpssm.History:
    curve = -1.0 / np.arange(1.0, 101.0)
    return gpssm.History(100.0, bound=2 * curve, terms={"likelihood": curve, "entropy": curve}, held_out=[(50, -0.5)])


def test_rollout(axes):
    assert plots.rollout(axes, rollout(), episodes()[0], output=1, paths=3) is axes
    assert axes.get_ylabel() == "speed"
    assert "0.5" in axes.get_xlabel()
    median = next(line for line in axes.lines if line.get_label() == "predicted median")
    np.testing.assert_allclose(median.get_ydata(), rollout().median[:, 1])
    np.testing.assert_allclose(median.get_xdata(), 0.5 * np.arange(4, 12))
    assert len(axes.lines) == 3 + 1 + 1 + 1, "paths, median, measurements, start"


def test_training(axes):
    assert plots.bound(axes, history()) is axes
    np.testing.assert_allclose(axes.lines[0].get_ydata(), history().bound)
    assert axes.lines[1].get_xdata().tolist() == [50]
    assert axes.get_ylim()[0] > history().bound.min(), "the first steps would make the rest look flat"


def test_terms(axes):
    late = history()
    late.terms["late"] = np.ones(10)
    assert plots.terms(axes, late) is axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["likelihood", "entropy", "late"]
    assert axes.lines[2].get_xdata()[0] == 90, "a term of a later stage stands at the end"


def test_data(axes):
    assert plots.data(axes, episodes(), episodes(), channel="force") is axes
    assert axes.get_ylabel() == "force"
    series = [line for line in axes.lines if len(line.get_xdata()) == 12]
    assert [line.get_xdata()[0] for line in series] == [0.0, 6.0, 12.0, 18.0]
    np.testing.assert_allclose(series[0].get_ydata(), episodes()[0].u[:, 0])
    with pytest.raises(ValueError, match="no channel 'torque'"):
        plots.data(axes, episodes(), channel="torque")


def test_data_leaves_gaps_where_values_are_missing(axes):
    plots.data(axes, episodes(dt=None), channel="height")
    assert np.isnan(axes.lines[0].get_ydata()[3])
    assert axes.get_xlabel().startswith("step")


def test_states(axes):
    chols = np.tile(2.0 * np.eye(2), (6, 1, 1))
    estimated = States(np.zeros((6, 2)), chols, np.zeros((6, 1)), np.zeros((6, 1)))
    assert plots.states(axes, estimated, state=1, dt=0.1) is axes
    assert axes.get_ylabel() == "state 2"
    low, high = axes.collections[0].get_datalim(axes.transData).intervaly
    assert (low, high) == pytest.approx((-3.92, 3.92))


def test_residual_correlation(axes):
    rng = np.random.default_rng(2)
    e = rng.standard_normal(200)
    test = metrics.residual_whiteness(e[1:] + 0.9 * e[:-1], lags=5)
    assert plots.residual_correlation(axes, test, name="height") is axes
    outside = next(line for line in axes.lines if line.get_label() == "outside")
    assert 1 in outside.get_xdata()
    assert "height" in axes.get_ylabel()


def test_input_correlation(axes):
    rng = np.random.default_rng(3)
    test = metrics.input_independence(rng.standard_normal(100), rng.standard_normal((100, 2)), lags=4)
    assert plots.input_correlation(axes, test, channel=1, name="force") is axes
    drawn = np.concatenate([np.atleast_1d(line.get_ydata()) for line in axes.lines[:-1]])
    np.testing.assert_allclose(np.sort(drawn), np.sort(test.cross_correlation[:, 0, 1]))


def test_pit(axes):
    values = np.append(np.linspace(0.0, 0.499, 100), np.nan)
    assert plots.pit(axes, values, bins=4) is axes
    assert [bar.get_height() for bar in axes.patches[:4]] == pytest.approx([2.0, 2.0, 0.0, 0.0], abs=0.1)


def test_bounds_of_a_histogram_hold_one_bin_as_often_as_they_say():
    low, high = plots.pit_bounds(80.0, bins=10, level=0.9)
    count = binom.pmf(np.arange(81), 80, 0.1)
    density = np.arange(81) * 10 / 80
    inside = count[(density >= low - 1e-9) & (density <= high + 1e-9)].sum()
    assert 0.9 <= inside < 0.96
    wide = plots.pit_bounds(20.0, bins=10, level=0.9)
    assert wide[1] - wide[0] > high - low, "correlated values are worth fewer, so the bounds are wider"


def linear(size: int) -> gpssm.System:
    mean = models.LinearMean(0.5 * jnp.eye(size), jnp.ones((size, 1)), jnp.zeros(size))
    model = models.GPSSM(
        models.LinearTransition(mean, Positive.of(jnp.full(size, 0.01))),
        models.LinearGaussian.first_states(2, size),
        size,
    )
    scaler = gpssm.Scaler(
        output_mean=np.zeros(2), output_scale=np.ones(2), input_mean=np.array([5.0]), input_scale=np.array([2.0])
    )
    return gpssm.System(model, scaler, Channels(("height", "speed"), ("force",), 0.5))


def test_slices_are_the_function(axes):
    slices = plots.transition_slices(linear(2), episodes())
    assert [(s.state, s.along) for s in slices] == [
        (d, name) for name in ("state 1", "state 2", "force") for d in range(2)
    ]
    own, cross, driven = slices[0], slices[1], slices[4]
    np.testing.assert_allclose(np.diff(own.mean) / np.diff(own.values), -0.5, rtol=1e-6)  # the change, not the state
    np.testing.assert_allclose(np.diff(cross.mean), 0.0, atol=1e-9)
    np.testing.assert_allclose(np.diff(driven.mean) / np.diff(driven.values), 0.5, rtol=1e-6)  # per unit of the user
    assert not len(own.inducing)
    assert plots.transition(axes, own) is axes
    assert axes.get_ylabel() == "change of state 1"


def test_a_curve_passes_through_its_inducing_points(axes):
    records = gpssm.Episodes.from_arrays(y=np.sin(np.arange(30.0)))
    model = models.GPSSM.from_data(records, state_dim=1, num_inducing=5, key=jr.key(0))
    system = gpssm.System(model, gpssm.Scaler.from_episodes(records), Channels.of(records))
    (curve,) = plots.transition_slices(system, records)
    assert not curve.is_change
    assert curve.inducing_mean is not None
    inside = (curve.inducing > curve.values[0]) & (curve.inducing < curve.values[-1])
    expected = np.interp(curve.inducing[inside], curve.values, curve.mean)
    np.testing.assert_allclose(curve.inducing_mean[inside], expected, atol=0.02)
    plots.transition(axes, curve)
    points = next(line for line in axes.lines if line.get_label() == "inducing points")
    np.testing.assert_allclose(points.get_ydata(), curve.inducing_mean)
