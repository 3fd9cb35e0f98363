"""Predictions that draw whole models: errors that cancel stay cancelled, and every model reads its own start."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import Constant

import gpssm
from gpssm._core._params import Positive
from gpssm.filters import beliefs
from gpssm.models import GPSSM, JointPosterior, LinearGaussian, LinearMean, SampledPosterior, SparseGP
from gpssm.predict import Channels, MeanOnly, _run
from tests.reference.compiling import jit
from tests.reference.filtering import kalman_filter
from tests.reference.kalman import LinearModel
from tests.reference.linear_case import linear_case

pytestmark = pytest.mark.system
LEVEL = 0.5
"""Variance of a constant kernel: v_d shifts state d by sqrt(LEVEL) v_d at each step."""


def model(reference: LinearModel) -> GPSSM:
    mean = LinearMean(*map(jnp.asarray, (reference.A, reference.B, reference.c)))
    gp = SparseGP.create(Constant(constant=LEVEL), jnp.zeros((1, 3)), state_dim=2, mean=mean)
    gp = eqx.tree_at(lambda t: t.noise, gp, Positive.of(jnp.asarray(reference.Q)))
    emission = LinearGaussian(jnp.asarray(reference.W), jnp.asarray(reference.b), Positive.of(jnp.asarray(reference.R)))
    return GPSSM(gp, emission, 2)


def shifted(reference: LinearModel, values: np.ndarray) -> LinearModel:
    return LinearModel(**{**vars(reference), "c": reference.c + np.sqrt(LEVEL) * values})


def system(joint, reference: LinearModel) -> gpssm.System:
    case = linear_case().system
    return gpssm.System(model(reference), case.scaler, case.channels, joint=joint)


def test_the_written_out_filter_is_kalmans_where_everything_is_linear():
    case = linear_case()
    expected = kalman_filter(case.reference, case.y, case.u, case.observed)
    known = JointPosterior(jnp.zeros((2, 2))).draw(
        model(case.reference), model(case.reference).transition.condition(), key=jr.key(0)
    )
    means, chols = jit(
        lambda: beliefs(known, *map(jnp.asarray, (case.y, case.u, case.observed)), steps=jnp.asarray(len(case.y)))
    )()
    np.testing.assert_allclose(means, expected.means, rtol=1e-5, atol=1e-6)
    found = np.asarray(chols) @ np.swapaxes(np.asarray(chols), 1, 2)
    np.testing.assert_allclose(found, expected.covariances, rtol=1e-5, atol=1e-6)


def test_each_start_is_read_by_the_model_that_runs_on_from_it():
    case = linear_case()
    factor = np.array([[0.7, 0.0], [-0.4, 0.9]])
    built, joint = model(case.reference), JointPosterior(jnp.asarray(factor))
    key, count = jr.key(5), 8
    arrays = case.y, case.u, case.observed, np.asarray(len(case.y))
    means, _ = _run.drawn_beliefs(built, joint, *arrays, count, key)
    for i, sample_key in enumerate(jr.split(key, count)):
        drawn = factor @ np.asarray(jr.normal(jr.fold_in(sample_key, _run.JOINT), (2,)))
        held = np.asarray(built.transition.q_mean)[:, 0]
        expected = kalman_filter(shifted(case.reference, held + drawn), *arrays[:3])
        np.testing.assert_allclose(np.asarray(means)[i], expected.means, rtol=1e-4, atol=1e-4)


def silent() -> LinearModel:
    """Next to no noise, and one output that is the sum of two equal states."""
    return LinearModel(
        A=0.5 * np.eye(2),
        B=np.zeros((2, 1)),
        c=np.zeros(2),
        Q=np.full(2, 1e-10),
        W=np.array([[1.0, 1.0], [1.0, 0.0]]),
        b=np.zeros(2),
        R=np.full(2, 1e-6),
    )


def spread(joint) -> np.ndarray:
    """Standard deviations of both outputs at the end of free runs, in scaled units."""
    case = linear_case()
    made = system(joint, silent())
    run = made.simulate(case.episode, n_init=3, num_samples=200, seed=2)
    return run.signals[:, -1].std(axis=0) / case.system.scaler.output_scale


def test_errors_that_cancel_in_the_output_cancel_in_the_draws():
    opposite = JointPosterior(jnp.asarray([[1.0, 0.0], [-1.0, 0.0]]))
    independent = JointPosterior(jnp.eye(2))
    # x settles at 2 sqrt(LEVEL) v: the sum does not move if v_1 = -v_2, the first state does.
    settled = 2.0 * np.sqrt(LEVEL)
    np.testing.assert_allclose(spread(opposite), [0.0, settled], atol=0.2)
    assert spread(opposite)[0] < 0.01
    np.testing.assert_allclose(spread(independent), [np.sqrt(2.0) * settled, settled], rtol=0.15)


def test_drawn_models_are_taken_with_equal_shares_and_whole():
    reference = silent()
    rng = np.random.default_rng(0)
    values = rng.standard_normal((4, 2, 1))
    mean = (
        np.stack([reference.A] * 4),
        np.stack([reference.B] * 4),
        np.arange(8.0).reshape(4, 2),
    )
    emission = (np.stack([reference.W * (i + 1) for i in range(4)]), np.zeros((4, 2)))
    joint = SampledPosterior(jnp.asarray(values), tuple(map(jnp.asarray, mean)), tuple(map(jnp.asarray, emission)))
    built = model(reference)
    assert joint.fits(built)
    dynamics = built.transition.condition()

    @jit
    def drawn(keys):
        def one(key):
            found = joint.draw(built, dynamics, key=key)
            known = found.transition.condition()
            return known.q_mean, known.mean.offset, found.emission.weight, known.q_chol

        return jax.vmap(one)(keys)

    found, offsets, weights, chols = map(np.asarray, drawn(jr.split(jr.key(1), 400)))
    which = np.argmin(np.abs(found[:, None] - values[None]).sum(axis=(2, 3)), axis=1)
    np.testing.assert_array_equal(offsets, mean[2][which])
    np.testing.assert_array_equal(weights, emission[0][which])
    assert not chols.any()
    # Each of four with probability 1/4: 100 of 400, give or take four standard deviations of 8.7.
    assert np.abs(np.bincount(which, minlength=4) - 100).max() < 35


def test_a_posterior_about_another_model_is_refused(tmp_path):
    wrong = system(JointPosterior(jnp.eye(3)), silent())
    gpssm.save(wrong, tmp_path / "m.gpssm")
    with pytest.raises(gpssm.FileError, match="about another"):
        gpssm.load(tmp_path / "m.gpssm")
    with pytest.raises(ValueError, match="different numbers"):
        SampledPosterior(jnp.zeros((3, 2, 1)), emission=(jnp.zeros((3, 2)),))


def test_a_stored_posterior_predicts_the_same_bits(tmp_path):
    case = linear_case()
    made = system(JointPosterior(jnp.asarray([[0.3, 0.0], [0.1, 0.2]])), silent())
    gpssm.save(made, tmp_path / "m.gpssm")
    loaded = gpssm.load(tmp_path / "m.gpssm")
    for run in (lambda s: s.simulate(case.episode, n_init=3, num_samples=8, seed=1),
                lambda s: s.predict(case.episode, horizon=2, num_samples=8, seed=1)):  # fmt: skip
        np.testing.assert_array_equal(run(loaded).samples, run(made).samples)


def test_without_a_function_that_is_held_nothing_is_drawn():
    case = linear_case()
    joint = system(JointPosterior(jnp.eye(2)), silent())
    plain = system(None, silent())
    runs = [s.simulate(case.episode, n_init=3, propagation=MeanOnly(), seed=1).signals for s in (joint, plain)]
    np.testing.assert_array_equal(*runs)


def test_predictions_ahead_share_the_drawn_model_between_rows():
    """With a certain start and no noise, one step ahead all rows of a draw are wrong by the same shift."""
    case = linear_case()
    made = system(JointPosterior(jnp.asarray([[1.0, 0.0], [0.0, 1.0]])), silent())
    ahead = made.predict(case.episode, horizon=1, num_samples=50, seed=3)
    first = ahead.states[:, :, 0]
    assert first.std(axis=0).min() > 0.3
    # Rows that are fully observed have starts as good as certain: what differs between draws is the shift alone.
    seen = case.observed[:-1].all(axis=1)
    late = np.flatnonzero(seen)[3:]
    shifts = first[:, late] - first[:, late].mean(axis=0)
    np.testing.assert_allclose(shifts, np.broadcast_to(shifts[:, :1], shifts.shape), atol=0.15)


def test_channels_are_kept():
    assert system(None, silent()).channels == Channels(("height", "speed"), ("force",), 0.1)
