"""The linear-Gaussian state-space model by maximum likelihood: the opponent that a nonlinear model has to beat."""

import time
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from cuthbertlib.kalman import filtering
from jax import lax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from gpssm._core._gaussian import affine_chain, expected_log_normal, masked_sum
from gpssm._core._history import History
from gpssm._core._params import Positive, cast, val
from gpssm._core._precision import double_precision
from gpssm._core._result import Result
from gpssm.data import Episodes
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.methods._maximise import Maximum, maximise, perturb
from gpssm.methods.linear._start import linear_starts, shrunk, spectral_radius
from gpssm.models import GPSSM, Batch, LinearGaussian, LinearMean, LinearTransition
from gpssm.predict import LinearSystem, System

SQUARINGS = 10
"""Growth is judged by the norm of A to the power 2 to the power of this."""
GROWTH = 0.003
"""How far log |A^k| / k may lie above the logarithm of the allowed radius without cost: room for repeated poles."""
STEEPNESS = 1e4
BUCKET = 32
"""Episodes are padded to a multiple of this many steps, so that data of similar length share compiled code."""
NOISE_FLOOR = 1e-8
"""Noise variances (scaled units) cost this divided by themselves, so that noise-free data have a best model."""


class _Records(NamedTuple):
    y: Float[Array, "B T O"]
    u: Float[Array, "B T P"]
    observed: Bool[Array, "B T O"]
    log_max_radius: Float[Array, ""]
    share: Float[Array, ""]
    """Share of the free run in the blended objective."""


class Linear(AbstractMethod):
    """x[0] ~ N(0, I), x[t+1] = A x + B u + c + N(0, diag), y = C x + b + N(0, diag), all learnt by maximum likelihood.

    Unit initial covariance and diagonal process noise are a choice of coordinates, not a restriction. Several first
    models from subspace identification and autoregression are compared by their evidence, and L-BFGS on the exact
    evidence (Kalman filter, episodes of any length, missing outputs left out) starts from the best.
    """

    order: int
    """Number of states."""
    iterations: int = 200
    restarts: int = 1
    """Searches; those beyond the first start near the best start at random."""
    max_radius: float = 1.0
    """A model that explains single steps well can still explode in a long free run. Growth of A^1024 beyond that of an
    integrator is therefore penalised in the search, and should the largest absolute eigenvalue of A end above this
    nevertheless, A is scaled down to it. Systems known to be unstable need a larger one."""
    simulation_weight: float = 0.0
    """Maximum likelihood judges single steps. Where no linear model is right, the best one for long free runs is
    another: above zero, a second search, from the first one's end, maximises this share of the log-density of each
    output in a free run from the initial distribution, plus the rest of the evidence."""

    def __check_init__(self) -> None:
        if not 0.0 <= self.simulation_weight <= 1.0:
            raise ValueError(f"simulation_weight={self.simulation_weight}: must lie between 0 and 1")
        if self.order < 1:
            raise ValueError(f"order={self.order}: a state-space model needs at least one state")
        if self.max_radius <= 0.0:
            raise ValueError(f"max_radius={self.max_radius}: must be positive")

    @property
    def deterministic(self) -> bool:
        return self.restarts == 1

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """The most likely linear model, ready for every kind of prediction."""
        began = time.monotonic()
        episodes, scaled = data.episodes, data.scaled
        padded = Batch.of(scaled, length=-(-scaled.max_length // BUCKET) * BUCKET)
        records = _Records(
            padded.y,
            padded.u,
            padded.observed,
            jnp.log(jnp.asarray(self.max_radius)),
            jnp.asarray(self.simulation_weight),
        )
        starts = [_model(system) for system in linear_starts(scaled, self.order, max_radius=self.max_radius)]
        first, first_value = _best(starts, records, self.order, episodes)
        model, value, stopped = self._searched(first, records, run, key)
        history = History(float(episodes.num_steps))
        if not np.isfinite(value):
            model, value = first, first_value
        if self.simulation_weight > 0.0 and not stopped:
            stage = run.stage("free-run", shown="free run")
            model, _, stopped = maximise(model, _blended_objective, records, iterations=self.iterations, stage=stage)
            value = float(_jitted_evidence(model, records))
            history.events.append(f"free run: a share of {self.simulation_weight} in the objective")
        model = _stabilised(model, self.max_radius, history)
        history.bound = np.asarray([first_value, value]) / episodes.num_steps
        history.events.append(
            f"maximum likelihood: {len(starts)} starts, evidence a step {history.bound[0]:.4f} at the best of them, "
            f"{history.bound[1]:.4f} at the end"
        )
        history.seconds = time.monotonic() - began
        system = System(cast(model, np.float64), data.scaler, data.channels)
        return Fit.of(system, self, Result.interrupted if stopped else Result.finished, history)

    def _searched(self, first: GPSSM, records: _Records, run: Run, key: PRNGKeyArray) -> Maximum:
        """The best of all searches."""
        best: Maximum | None = None
        for i, again in enumerate(jax.random.split(key, self.restarts)):
            start = first if i == 0 else perturb(first, spread=0.1, key=again)
            stage = run.stage(f"search{i}", shown="linear")
            found = maximise(start, _objective, records, iterations=self.iterations, stage=stage)
            if best is None or found.value > best.value:
                best = found
            if found.interrupted:
                return best._replace(interrupted=True)
        assert best is not None
        return best


@double_precision
def kalman_evidence(system: System, episodes: Episodes) -> float:
    """Exact log-evidence of episodes under a linear model, in standardised units."""
    padded = Batch.of(system.scaler.apply(episodes))
    data = _Records(jnp.asarray(padded.y), jnp.asarray(padded.u), jnp.asarray(padded.observed), *jnp.zeros(2))
    return float(_jitted_evidence(system.model, data))


def _best(starts: list[GPSSM], data: _Records, order: int, episodes: Episodes) -> tuple[GPSSM, float]:
    values = [float(_jitted_objective(start, data)) for start in starts]
    finite = [(value, i) for i, value in enumerate(values) if np.isfinite(value)]
    if not finite:
        raise ValueError(f"no linear model with {order} states can be started from {episodes.num_steps} steps")
    value, chosen = max(finite)
    return starts[chosen], value


def _model(system: LinearSystem) -> GPSSM:
    transition = LinearTransition(
        LinearMean(jnp.asarray(system.A), jnp.asarray(system.B), jnp.asarray(system.c)),
        Positive.of(jnp.asarray(np.diagonal(system.Q))),
    )
    emission = LinearGaussian(jnp.asarray(system.C), jnp.asarray(system.b), Positive.of(jnp.asarray(system.R)))
    return cast(GPSSM(transition, emission, len(system.c)), np.float64)


def _objective(model: GPSSM, data: _Records) -> Float[Array, ""]:
    """Log-evidence less the costs of growth and of vanishing noise."""
    return _evidence(model, data) - _costs(model, data)


def _blended_objective(model: GPSSM, data: _Records) -> Float[Array, ""]:
    """As `_objective`, with a share of the free run in place of as much of the evidence."""
    fit = (1.0 - data.share) * _evidence(model, data) + data.share * _free_run_log_density(model, data)
    return fit - _costs(model, data)


def _costs(model: GPSSM, data: _Records) -> Float[Array, ""]:
    growth = jnp.maximum(_growth(_matrix(model)) - data.log_max_radius - GROWTH, 0.0)
    vanishing = jnp.sum(NOISE_FLOOR / model.transition.noise_variance())
    vanishing = vanishing + jnp.sum(NOISE_FLOOR / model.emission.noise_variance())
    return data.y.shape[1] * STEEPNESS * growth**2 + vanishing


def _matrix(model: GPSSM) -> Float[Array, "D D"]:
    assert isinstance(model.transition, LinearTransition)
    return model.transition.mean.state_matrix


def _growth(matrix: Float[Array, "D D"]) -> Float[Array, ""]:
    """log |A^k| / k with k = 1024, by squaring a matrix that is kept at unit norm."""
    log_norm = jnp.zeros((), matrix.dtype)
    for squaring in range(SQUARINGS + 1):
        norm = jnp.sqrt(jnp.sum(matrix**2) + 1e-30)
        log_norm = log_norm + jnp.log(norm) / 2.0**squaring
        matrix = matrix / norm
        matrix = matrix @ matrix
    return log_norm


def _evidence(model: GPSSM, data: _Records) -> Float[Array, ""]:
    """Sum over episodes of the Kalman filter's log-evidence. Padding has nothing observed and adds nothing."""
    assert isinstance(model.transition, LinearTransition) and isinstance(model.emission, LinearGaussian)
    mean = model.transition.mean
    matrix, offset = val(model.emission.weight), val(model.emission.offset)
    root_q = jnp.diag(jnp.sqrt(model.transition.noise_variance()))
    root_r = jnp.diag(jnp.sqrt(model.emission.noise_variance()))

    def step(carry: tuple[Array, Array, Array], now: tuple[Array, Array]) -> tuple[tuple[Array, Array, Array], None]:
        m, chol, total = carry
        y, u = now
        # cuthbert broadcasts arrays of different rank where there is one output.
        with jax.numpy_rank_promotion("allow"):
            (m, chol), total = filtering.update(m, chol, matrix, offset, root_r, y, total)
            m, chol = filtering.predict(
                m, chol, mean.state_matrix, jnp.sum(mean.control_matrix * u[None, :], axis=1) + mean.offset, root_q
            )
        return (m, chol, total), None

    def episode(record: tuple[Array, Array, Array]) -> Array:
        y, u, observed = record
        size, dtype = model.state_dim, y.dtype
        start = jnp.zeros(size, dtype), jnp.eye(size, dtype=dtype), jnp.zeros((), dtype)
        return lax.scan(step, start, (jnp.where(observed, y, jnp.nan), u))[0][2]

    return jnp.sum(lax.map(episode, (data.y, data.u, data.observed)))


def _free_run_log_density(model: GPSSM, data: _Records) -> Float[Array, ""]:
    """Sum over episodes and observed outputs of log p(y[t] | inputs before t), no output being read."""
    assert isinstance(model.transition, LinearTransition) and isinstance(model.emission, LinearGaussian)
    mean, weight = model.transition.mean, val(model.emission.weight)
    noise = jnp.diag(model.transition.noise_variance())

    def spread(covariance: Array, _: None) -> tuple[Array, Array]:
        variance = jnp.sum((weight @ covariance) * weight, axis=1) + model.emission.noise_variance()
        return mean.state_matrix @ covariance @ mean.state_matrix.T + noise, variance

    # The spread does not depend on the inputs and is the same in every episode.
    eye = jnp.eye(model.state_dim, dtype=data.y.dtype)
    variances = lax.scan(spread, eye, None, length=data.y.shape[1])[1]

    def episode(record: tuple[Array, Array, Array]) -> Array:
        y, u, observed = record
        gains = jnp.broadcast_to(mean.state_matrix, (len(u), model.state_dim, model.state_dim))
        led = jnp.concatenate([jnp.zeros_like(gains[:1, 0]), (u @ mean.control_matrix.T + mean.offset[None, :])[:-1]])
        outputs = model.emission.mean(affine_chain(gains, led))
        return masked_sum(expected_log_normal((y - outputs) ** 2, variances), observed)

    return jnp.sum(lax.map(episode, (data.y, data.u, data.observed)))


_jitted_objective = eqx.filter_jit(_objective)
_jitted_evidence = eqx.filter_jit(_evidence)


def _stabilised(model: GPSSM, max_radius: float, history: History) -> GPSSM:
    matrix = np.asarray(_matrix(model))
    radius = spectral_radius(matrix)
    if radius <= max_radius:
        return model
    history.events.append(f"spectral radius {radius:.5f} scaled down to {max_radius}")
    return eqx.tree_at(lambda m: m.transition.mean.state_matrix, model, jnp.asarray(shrunk(matrix, max_radius)))
