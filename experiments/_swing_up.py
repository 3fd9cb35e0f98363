"""What the swing-up experiments share: the methods that compete and how they are scored."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from gpjax.kernels import RBF, AbstractKernel, Matern12

import gpssm
from experiments._trials import Study, Test
from gpssm import metrics
from gpssm.baselines import AutoregressiveGP, Constant, LinearKalman, PreviousEpisode, TrueSimulator

HORIZONS = (5, 10, 15, 20)
NUM_SAMPLES = 200
BEST = (
    "RBF on states, actions, and sine and cosine of the angles; 200 inducing points or half "
    "the number of steps, if that is less; q(u) collapsed; "
    "gpssm.fit_alternating without a network. Found on extra trials of cart-pole seed 0 that are not among the tests"
)
UNIT = "tip errors in rod lengths: distance between the true tip and the mean tip of sampled futures"


class Simulates(Protocol):
    """Anything that continues an episode from its first samples."""

    def simulate(self, episode: gpssm.Episode, *, n_init: int, num_samples: int, key: Any) -> gpssm.Rollout:
        """A free run."""
        ...


@dataclass(frozen=True)
class FromMeasurement:
    """The true simulator, told all states as a sensor would show them: exactly there, or spread by the sensor's noise.

    The latter is the best that can be said from one measurement.
    """

    study: Study
    propagation: gpssm.MeanOnly | None = None

    def simulate(self, test: Test, *, n_init: int, key: Any) -> gpssm.Rollout:
        """A free run from the last measurement that may be read."""
        system, columns = self.study.task.system, list(self.study.observed)
        whole = gpssm.Episode(y=test.measured, u=test.episode.u, dt=test.episode.dt, name=test.name)
        everything = TrueSimulator(system, observed=tuple(range(test.measured.shape[1])))
        run = everything.simulate(whole, n_init=n_init, num_samples=NUM_SAMPLES, propagation=self.propagation, key=key)
        return replace(
            run,
            signals=run.signals[..., columns],
            samples=run.samples[..., columns],
            noise_std=run.noise_std[columns],
            output_names=test.episode.output_names,
        )


def gpssm_paper(train: gpssm.Episodes, *, states: int, inducing: int, hidden: int, steps: int, seed: int) -> Simulates:
    """The paper's settings: Matern-1/2, q(u) by gradients, network only, Adam at 1e-3."""
    keys = jr.split(jr.fold_in(jr.key(2), seed), 3)
    size = states + train.num_inputs
    kernel = Matern12(lengthscale=jnp.full(size, 2.0), variance=0.5)  # pyright: ignore[reportArgumentType]
    model = gpssm.GPSSM.from_data(
        train, state_dim=states, kernel=kernel, num_inducing=min(inducing, train.num_steps // 2), key=keys[0]
    )
    network = gpssm.BiRNN.from_data(train, state_dim=states, hidden=hidden, key=keys[1])
    inference = gpssm.MeanField(network, gpssm.Explicit(), gpssm.MonteCarlo(1))
    optimiser = gpssm.adam(steps, gpssm.Rates.all(1e-3), final=1.0)
    return gpssm.fit(model, inference, train, optimiser=optimiser, steps=steps, key=keys[2]).identified


def turning(study: Study, train: gpssm.Episodes, *, states: int, lags: int = 1) -> AbstractKernel:
    """An RBF kernel with a length-scale for each input, to which angles a full turn apart look the same.

    The inputs are `states` that begin with the outputs, or `lags` of all outputs, then the actions.
    """
    scale = gpssm.Scaler.from_episodes(train).output_scale
    columns = [i for i, state in enumerate(study.observed) if state in study.task.angles]
    inputs = [column + lag * len(study.observed) for lag in range(lags) for column in columns]
    radians = [float(scale[column]) for _ in range(lags) for column in columns]
    size = (states if lags == 1 else lags * len(study.observed)) + lags * train.num_inputs + len(inputs)
    with jax.enable_x64(True):
        base = RBF(lengthscale=jnp.full(size, 2.0), variance=0.5)  # pyright: ignore[reportArgumentType]
    return gpssm.kernels.Angles(base, inputs=inputs, radians=radians)


def gpssm_best(study: Study, count: int, *, states: int, inducing: int, cycles: int, seed: int) -> Simulates:
    """Our settings: a kernel that knows of angles, q(u) collapsed, states smoothed and the model fitted in turn."""
    train = study.first(count)
    keys = jr.split(jr.fold_in(jr.key(3), seed))
    model = gpssm.GPSSM.from_data(
        train,
        state_dim=states,
        kernel=turning(study, train, states=states),
        num_inducing=min(inducing, train.num_steps // 2),
        key=keys[0],
    )
    return gpssm.fit_alternating(model, train, cycles=cycles, iterations=cycles, key=keys[1]).identified


def opponents(study: Study, count: int, *, order: int, lags: int, seed: int) -> dict[str, Callable[[], Any]]:
    """Linear and autoregressive models, and the rows that need no learning."""
    train = study.first(count)
    simulator = {
        "true simulator": lambda: FromMeasurement(study, gpssm.MeanOnly()),
        "true simulator, sampled": lambda: FromMeasurement(study),
    }
    return {
        "constant": lambda: Constant.fit(train),
        "previous episode": lambda: PreviousEpisode.fit(study.train),
        # It does not know of delays.
        **(simulator if study.lag == 0 else {}),
        "kalman": lambda: LinearKalman.fit(train, order=order, key=jr.fold_in(jr.key(4), seed)),
        "argp": lambda: AutoregressiveGP.fit(train, output_lags=lags, key=jr.fold_in(jr.key(5), seed)),
        "argp angles": lambda: AutoregressiveGP.fit(
            train,
            output_lags=lags,
            kernel=turning(study, train, states=len(study.observed), lags=lags),
            key=jr.fold_in(jr.key(5), seed),
        ),
    }


def score(study: Study, system: Simulates | FromMeasurement, *, n_init: int, seed: int) -> Iterator[dict[str, Any]]:
    """Rows for every test: tip error as a mean over the run and at horizons, log density and coverage."""
    for i, test in enumerate(study.tests):
        predicted = _simulated(system, test, n_init, jr.fold_in(jr.key(6 + seed), i))
        yield from _rows(study, test, predicted, n_init)


def _simulated(system: Simulates | FromMeasurement, test: Test, n_init: int, key: Any) -> gpssm.Rollout:
    if isinstance(system, FromMeasurement):
        return system.simulate(test, n_init=n_init, key=key)
    return system.simulate(test.episode, n_init=n_init, num_samples=NUM_SAMPLES, key=key)


def _rows(study: Study, test: Test, predicted: gpssm.Rollout, n_init: int) -> Iterator[dict[str, Any]]:
    error = tip_errors(study, test, predicted, n_init)
    yield {"test": test.name, "metric": "tip_error", "value": float(error.mean())}
    for horizon in HORIZONS:
        if horizon <= len(error):
            yield {"test": test.name, "metric": "tip_error_at", "horizon": horizon, "value": float(error[horizon - 1])}
    truth = test.episode.y[n_init:]
    # A single run has no density.
    if len(predicted.signals) > 1:
        low, high = predicted.interval(0.95)
        yield {"test": test.name, "metric": "coverage_95", "value": metrics.interval_coverage(truth, low, high)}
        density = metrics.log_density_gaussian(truth, predicted.mean, predicted.std)
        yield {"test": test.name, "metric": "log_density", "value": density}


def tip_errors(study: Study, test: Test, predicted: gpssm.Rollout, n_init: int) -> np.ndarray:
    """Distance between true and predicted tip at each step of the free run."""
    mean_tip = study.tips(predicted.signals).mean(axis=0)
    return np.linalg.norm(mean_tip - study.true_tips(test)[n_init:], axis=-1)
