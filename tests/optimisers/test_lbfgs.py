"""L-BFGS on a deterministic bound: it reaches an optimum that is known, and survives NaN on the way."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF, Matern12
from jax.scipy.stats import norm
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from scipy.optimize import minimize

import gpssm
from gpssm._core import _rounds
from gpssm._core._params import Positive, cast
from gpssm.fitting import Run, Status
from gpssm.inference import Explicit, GaussHermite, MeanField, NaturalGradient
from gpssm.methods import ModelSpec, PerStep, Variational
from gpssm.models import GPSSM, AbstractEmission, Batch, LinearGaussian, LinearMean, LinearTransition
from gpssm.optimisers import LBFGS, Trained, _lbfgs
from gpssm.systems import Kink
from tests.optimisers.small_task import Task, finite, free_states, padded
from tests.reference.kalman import LinearModel, evidence

LENGTHS = (20, 14)


@pytest.fixture(scope="module")
def data() -> Batch:
    """Standardised outputs and inputs of a first-order system, the second record shorter, some outputs missing."""
    whole = padded(LENGTHS, seed=4, length=20)
    observed = whole.observed & (np.random.default_rng(0).uniform(size=whole.y.shape) > 0.1)
    return eqx.tree_at(lambda d: (d.y, d.observed), whole, (jnp.where(observed, whole.y, 0.0), observed))


def _linear_model(emission: AbstractEmission | None = None, *, noise: float = 0.3) -> GPSSM:
    mean = LinearMean(jnp.full((1, 1), 0.3), jnp.full((1, 1), 0.1), jnp.zeros(1))
    transition = LinearTransition(mean, Positive.of(jnp.full(1, 0.3)))
    emission = LinearGaussian.first_states(1, 1, noise=noise) if emission is None else emission
    return cast(GPSSM(transition, emission, 1), jnp.float64)


def _total_evidence(parameters: np.ndarray, data: Batch) -> float:
    """Of all records, by the Kalman filter in plain NumPy; parameters a, b, c and two log-variances."""
    a, b, c, log_q, log_r = parameters
    one = np.ones((1, 1))
    model = LinearModel(a * one, b * one, c * one[0], np.exp(log_q) * one[0], one, 0.0 * one[0], np.exp(log_r) * one[0])
    y, u, observed = (np.asarray(leaf) for leaf in (data.y, data.u, data.observed))
    return sum(evidence(model, y[i, :n], u[i, :n], observed[i, :n]) for i, n in enumerate(LENGTHS))


def problem(data: Batch, model: GPSSM | None = None) -> Task:
    """States at each step, with quadrature that is exact for a linear model."""
    inference = MeanField(free_states(data), Explicit(), GaussHermite(3))
    return Task(_linear_model() if model is None else model, inference, data)


@pytest.fixture(scope="module")
def polished(data) -> Trained:
    return problem(data).train(LBFGS(3000, tolerance=1e-14, memory=50), key=jr.key(0))


def test_the_program_that_is_compiled_quickly_finds_the_same(data, monkeypatch):
    found = []
    for much in (0, np.inf):
        monkeypatch.setattr(_lbfgs, "MUCH_SEARCHING", much)
        found.append(problem(data).train(LBFGS(10), key=jr.key(0)).history.bound)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8)


def test_it_reaches_the_maximum_of_the_evidence(data, polished):
    """The family holds the exact posterior of a linear-Gaussian model, so the best bound is the best evidence."""
    best = minimize(
        lambda p: -_total_evidence(p, data), [0.5, 0.3, 0.0, -2.0, -2.0], method="Nelder-Mead",
        options={"maxiter": 4000, "maxfev": 4000, "xatol": 1e-7, "fatol": 1e-9, "adaptive": True},
    )  # fmt: skip
    assert best.success
    reached = polished.history.bound[-1] * sum(LENGTHS)
    assert reached < -best.fun + 1e-6, "a bound cannot exceed the maximum of the evidence"
    assert reached == pytest.approx(-best.fun, abs=2e-3)
    transition, emission = polished.model.transition, polished.model.emission
    found = [
        float(transition.mean.state_matrix[0, 0]),
        float(transition.mean.control_matrix[0, 0]),
        float(transition.mean.offset[0]),
        float(jnp.log(transition.noise_variance()[0])),
        float(jnp.log(emission.noise_variance()[0])),
    ]
    np.testing.assert_allclose(found, best.x, atol=0.05)
    assert _total_evidence(np.array(found), data) == pytest.approx(-best.fun, abs=2e-3)


def test_it_only_rises(polished):
    assert np.all(np.diff(polished.history.bound) > -1e-9)
    assert polished.result is gpssm.Result.converged
    assert "raised the bound" in polished.history.events[-1]


def test_it_holds_what_is_frozen(data):
    model = _linear_model()
    done = problem(data, model).train(LBFGS(5), freeze=lambda model, inference: model.transition, key=jr.key(0))
    start, end = jax.tree.leaves(model.transition), jax.tree.leaves(done.model.transition)
    assert all(np.array_equal(a, b) for a, b in zip(start, end, strict=True))
    assert done.history.bound[-1] > done.history.bound[0]


class Fragile(AbstractEmission):
    """y = x + noise, but everything becomes NaN where the noise variance falls below `wall`."""

    noise: Positive
    wall: float = eqx.field(static=True)

    def mean(self, x: Float[Array, "*B D"]) -> Float[Array, "*B O"]:
        return x

    def noise_variance(self) -> Float[Array, " O"]:
        return self.noise.unwrap()

    def log_prob(self, y: Float[Array, " O"], x: Float[Array, " D"]) -> Float[Array, " O"]:
        return norm.logpdf(y, x, jnp.sqrt(self.noise_variance()))

    def sample(self, signals: Float[Array, "*B O"], *, key: PRNGKeyArray) -> Float[Array, "*B O"]:
        return signals + jnp.sqrt(self.noise_variance()[0]) * jr.normal(key, signals.shape, signals.dtype)

    def expected_log_prob(
        self,
        y: Float[Array, "T O"],
        means: Float[Array, "T D"],
        covariances: Float[Array, "T D D"],
        *,
        where: Bool[Array, "T O"],
    ) -> Float[Array, ""]:
        plain = LinearGaussian(jnp.eye(1), jnp.zeros(1), self.noise)
        value = plain.expected_log_prob(y, means, covariances, where=where)
        return jnp.where(self.noise_variance()[0] < self.wall, jnp.nan, value)


def _polish_fragile(data: Batch, wall: float, progress=None) -> Trained:
    model = _linear_model(Fragile(Positive.of(jnp.ones(1)), wall))
    run = Run() if progress is None else Run(progress=progress)
    return problem(data, model).train(LBFGS(500, tolerance=1e-12), run=run, key=jr.key(0))


@pytest.mark.parametrize("start", [3.0, 10.0, 1000.0])
def test_a_step_into_nan_is_shortened_not_the_end(start):
    """sum(x - log x) is NaN for negative x, where the long steps of L-BFGS from afar end; its minimum is at one."""
    met = 0

    def evaluate(x: np.ndarray):
        nonlocal met
        met += bool(np.any(x <= 0.0))
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.sum(x - np.log(x))), 1.0 - 1.0 / x, None

    objective = _rounds.Objective(evaluate)
    ending = _rounds.minimise(
        objective, start * np.array([1.0, 2.0, 3.0]), iterations=500, tolerance=1e-12, gradient_tolerance=1e-8
    )
    assert met > 0, "the wall was never met"
    np.testing.assert_allclose(objective.best.at, 1.0, atol=1e-4)
    assert objective.best.loss == pytest.approx(3.0, abs=1e-8)
    assert objective.gain == pytest.approx(start * 6.0 - np.sum(np.log(start * np.array([1, 2, 3]))) - 3.0)
    assert ending is _rounds.Ending.converged


def test_a_bound_that_is_nan_from_the_start_returns_the_start(data):
    done = _polish_fragile(data, 2.0)
    assert done.result is gpssm.Result.diverged
    assert float(done.model.emission.noise_variance()[0]) == 1.0
    assert finite(done.tree)
    assert "nan" not in done.history.events[-1]


def test_an_optimum_behind_the_wall_is_approached_without_nan(data):
    walled = _polish_fragile(data, 0.1)
    assert finite(walled.tree)
    assert 0.1 <= float(walled.model.emission.noise_variance()[0]) < 0.13
    assert walled.history.bound[-1] > walled.history.bound[0] + 0.5


class Interrupting:
    """Presses Ctrl-C at the third iteration."""

    def update(self, status: Status) -> None:
        if status.step == 3:
            raise KeyboardInterrupt

    def say(self, message: str) -> None:
        """Nothing."""


def test_an_interrupted_search_keeps_the_best_so_far(data):
    done = _polish_fragile(data, 0.0, progress=Interrupting())
    assert done.result is gpssm.Result.interrupted
    assert len(done.history.bound) == 3
    assert done.history.bound[-1] > done.history.bound[0]
    assert float(done.model.emission.noise_variance()[0]) != 1.0


def test_natural_gradient_steps_are_refused(data):
    task = problem(data)
    natural = replace(task, inference=MeanField(task.inference.recognition, NaturalGradient(), GaussHermite(3)))
    with pytest.raises(ValueError, match="takes no natural-gradient steps"):
        natural.train(LBFGS(5), key=jr.key(0))


def bowl(x: np.ndarray):
    """A narrow valley, for which L-BFGS needs many iterations."""
    slope = np.array([-400.0 * x[0] * (x[1] - x[0] ** 2) - 2.0 * (1.0 - x[0]), 200.0 * (x[1] - x[0] ** 2)])
    return float(100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2), slope, None


@pytest.mark.parametrize("length", [3, 150])
def test_a_search_that_is_told_again_what_it_had_found_goes_on_from_there(length: int, monkeypatch):
    """From whatever place it is begun anew, it evaluates what one that was never cut evaluates after that place."""
    monkeypatch.setattr(_rounds, "ROUND", length)
    seen, places, repeated = [], [], []

    def evaluate(x: np.ndarray):
        seen.append(np.array(x))
        # A wall is met on the way.
        return bowl(x) if len(seen) != 4 else (np.nan, np.full(2, np.nan), None)

    whole = _rounds.Objective(evaluate)
    start = np.array([-1.2, 1.0])
    told = _rounds.minimise(
        whole, start, iterations=11, after_iteration=lambda *_: places.append((whole.place, len(seen)))
    )
    assert told is _rounds.Ending.exhausted
    assert [place.done for place, _ in places] == [i // length * length for i in range(11)]
    unbroken = list(seen)
    for place, evaluations in places:
        del seen[evaluations:]
        again = _rounds.Objective(evaluate, place.record)
        repeated.clear()
        ended = _rounds.minimise(
            again, place.start, iterations=11, done=place.done, after_iteration=lambda e, _: repeated.append(e.repeated)
        )
        assert ended is told
        np.testing.assert_array_equal(seen, unbroken)
        np.testing.assert_array_equal(again.best.at, whole.best.at)
        assert repeated == sorted(repeated, reverse=True), "first what is known, then what is new"


def test_a_search_that_gains_nothing_ends():
    """Where the slope points the wrong way no step helps: it must not begin round after round."""
    calls = 0

    def lying(x: np.ndarray):
        nonlocal calls
        calls += 1
        return float(x @ x), -2.0 * x, None

    ended = _rounds.minimise(_rounds.Objective(lying), np.ones(3), iterations=1000)
    assert ended is _rounds.Ending.stuck
    assert calls < 200


def test_a_rough_kernel_has_its_gradient_in_programs_that_are_compiled_well():
    """Compilers scaled an inducing point twice and rounded it in two ways: it was a little way from itself, where a
    root has the steepest of slopes, and the search ended where it began."""
    episodes = Kink().simulate(episodes=200, steps=10, key=jr.key(0)).episodes
    rough = RBF(lengthscale=10.0) + Matern12(lengthscale=0.1)  # pyright: ignore[reportArgumentType]
    model = ModelSpec(1, kernel=rough, num_inducing=20, process_variance=0.1, noise_variance=0.1)
    optimiser = LBFGS(15)
    assert optimiser.iterations * episodes.num_steps >= _lbfgs.MUCH_SEARCHING
    fitted = gpssm.fit(episodes, Variational(model, q_x=PerStep(), optimiser=optimiser), seed=0)
    assert fitted.history.bound[-1] > fitted.history.bound[0] + 1.0
