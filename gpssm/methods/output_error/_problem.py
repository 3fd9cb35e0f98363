"""The regularised least-squares problem behind output-error identification: noise, amplitudes, and the model."""

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from gpssm._core._compile import compile_for_setup
from gpssm._core._params import LowerTriangular, Positive, cast
from gpssm._core._random import seed_of, split, standard_normal
from gpssm.data import Episodes
from gpssm.fitting import Room
from gpssm.kernels._rbf import rbf
from gpssm.methods.output_error._draws import drawn_models, posterior_at
from gpssm.methods.output_error._levenberg import Optimum, minimise
from gpssm.methods.output_error._noise import split_noise
from gpssm.methods.output_error._parameters import (
    Frame,
    Parameters,
    flat,
    linear_part,
    linearised,
    residuals,
    shaped,
    spreads,
)
from gpssm.methods.output_error._records import Records, correlation_time, filled_starts
from gpssm.methods.output_error._start import Start
from gpssm.models import SampledPosterior
from gpssm.models._gpssm import GPSSM
from gpssm.models._inducing_inputs import place_inducing_inputs
from gpssm.models.transition import SparseGP
from gpssm.models.transition._stable import StableMatrices

FIRST_AMPLITUDE = 0.1
"""Of the GP correction, in units of the states' spread."""
FREEDOM = 0.1
"""Share of the residuals' degrees of freedom that is left at least, however many parameters there are."""


@dataclass(frozen=True)
class Problem:
    """A regularised least-squares problem, where its search stands, and what it believes about the noise."""

    parameters: Parameters
    centre: Parameters
    frame: Frame
    records: Records
    variances: Float[np.ndarray, " O"]
    """Of the residuals, corrected for the parameters that were fitted."""
    time: float
    """Correlation time of the residuals."""
    optimum: Optimum | None
    damping: float

    @classmethod
    def of(
        cls,
        start: Start,
        scaled: Episodes,
        num_inducing: int,
        lengthscale: float,
        key: PRNGKeyArray,
        room: Room = Room(0, 0),
    ) -> "Problem":
        """The linear system with a GP that says almost nothing yet."""
        place_key, value_key = split(key)
        system = start.system
        points = np.concatenate([np.concatenate([x, e.u], axis=1) for x, e in zip(start.states, scaled, strict=True)])
        inducing = place_inducing_inputs(points, num_inducing, seed=seed_of(place_key))
        starts = filled_starts(np.stack([x[0] for x in start.states]), room.episodes)
        log_scales = np.full(points.shape[1], np.log(lengthscale))
        values = np.zeros((len(system.c), num_inducing))
        change, by_input, offset = jax.device_put((np.zeros_like(system.A), system.B, system.c))
        log_scales, values, zeros = jax.device_put((log_scales, values, np.zeros_like(starts)))
        centre = cast(Parameters(change, by_input, offset, start.emission, log_scales, values, zeros), np.float64)
        # At zero, length-scales would have no gradient.
        moved = jax.device_put((0.1 * np.asarray(standard_normal(value_key, values.shape)), starts))
        parameters = cast(eqx.tree_at(lambda p: (p.values, p.starts), centre, moved), np.float64)
        # Of NumPy, because a number that JAX may still give any type would mean other programs in the first round.
        inducing, amplitudes = jax.device_put((inducing, np.full(len(system.c), FIRST_AMPLITUDE)))
        frame = Frame(inducing, amplitudes, StableMatrices.around(system.A))
        records = Records.of(scaled, steps=room.steps)
        return cls(parameters, centre, frame, records, np.ones(scaled.num_outputs), 1.0, None, 1.0)

    def state(self) -> dict[str, PyTree]:
        """What a later round needs of the earlier ones."""
        return {
            "parameters": self.parameters,
            "amplitudes": self.frame.amplitudes,
            "variances": jax.device_put(self.variances),
            "numbers": jax.device_put(np.array([self.time, self.damping])),
        }

    def at(self, state: dict[str, PyTree]) -> "Problem":
        """The same problem where a later round begins."""
        time, damping = (float(number) for number in state["numbers"])
        frame = eqx.tree_at(lambda f: f.amplitudes, self.frame, state["amplitudes"])
        return self._replace(
            parameters=state["parameters"],
            frame=frame,
            variances=np.asarray(state["variances"]),
            time=time,
            damping=damping,
        )

    def search(self, iterations: int, *, stop: Callable[[], bool] = lambda: False) -> "Problem":
        """Levenberg and Marquardt with noise and amplitudes held."""
        scale = np.sqrt(self.variances * self.time)

        def linearise(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            found, slopes = linearised(shaped(at, self.parameters), self.frame, self.records)
            found, slopes = np.asarray(found) / scale, np.asarray(slopes) / scale[:, None]
            return found.ravel(), slopes.reshape(found.size, -1)

        def evaluate(at: np.ndarray) -> np.ndarray:
            return (np.asarray(residuals(shaped(at, self.parameters), self.frame, self.records)) / scale).ravel()

        optimum = minimise(
            flat(self.parameters),
            linearise=linearise,
            residuals=evaluate,
            centre=flat(self.centre),
            precision=self._precision(),
            iterations=iterations,
            damping=self.damping,
            stop=stop,
        )
        parameters = shaped(optimum.at, self.parameters)
        return self._replace(parameters=parameters, optimum=optimum, damping=max(optimum.damping, 1e-3))

    def trusting(self) -> "Problem":
        """Noise from the residuals as if they were independent, amplitudes as they are.

        What a linear system misses lasts long. Weighed by that, the GP would never get a chance to explain it.
        """
        found = np.asarray(residuals(self.parameters, self.frame, self.records))
        count = np.maximum(np.asarray(self.records.observed).sum(axis=0), 1)
        return self._replace(variances=np.maximum((found**2).sum(axis=0) / count, 1e-8), time=1.0)

    def reweighed(self) -> "Problem":
        """Noise, correlation time and amplitudes from the optimum. A change of amplitude leaves the function alone."""
        covariance = self._covariance()
        values, amplitudes = np.asarray(self.parameters.values), np.asarray(self.frame.amplitudes)
        left = np.diagonal(covariance)[self._places(lambda p: p.values)].reshape(values.shape)
        by_data = np.maximum(values.shape[1] - left.sum(axis=1), 1e-3)
        factor = np.clip(np.sqrt((values**2).sum(axis=1) / by_data), 0.5, 2.0)
        factor = np.clip(amplitudes * factor, 1e-3, 3.0) / amplitudes
        values, amplitudes = jax.device_put((values / factor[:, None], amplitudes * factor))
        parameters = eqx.tree_at(lambda p: p.values, self.parameters, values)
        frame = eqx.tree_at(lambda f: f.amplitudes, self.frame, amplitudes)
        return self._replace(parameters=parameters, frame=frame).weighed(self._determined())

    def model(self) -> GPSSM:
        """The state-space model with a Gaussian posterior over the GP and both noises."""
        parameters, frame = self.parameters, self.frame
        process, measured = split_noise(parameters, frame, self.records, self._noise())
        dims, size = parameters.values.shape
        places = np.flatnonzero(self._places(lambda p: p.values)).reshape(dims, size)
        # The independent Gaussians closest to the joint posterior: each given the others. Marginals would pretend that
        # errors which cancel in every free run were independent of one another.
        precision = self._optimum().curvature + np.diag(self._precision())
        chols = np.stack([np.linalg.cholesky(np.linalg.inv(precision[np.ix_(row, row)])) for row in places])
        return _assembled(parameters, frame, *jax.device_put((chols, np.array(max(process, 1e-10)), measured)))

    def drawn(self, key: PRNGKeyArray) -> SampledPosterior:
        """Whole models from the posterior: what is not known of the linear part, the emission and the GP together.

        Length-scales are held: one kernel serves all draws.
        """
        posterior = posterior_at(
            flat(self.parameters),
            ~self._places(lambda p: p.log_scales),
            flat(self.centre),
            self._precision(),
            self._optimum().curvature,
            np.sqrt(self.variances * self.time),
        )
        return drawn_models(posterior, self.parameters, self.frame, self.records, key)

    def _noise(self) -> Float[np.ndarray, " O"]:
        """Variances of the residuals. What the parameters may be wrong by is in their own posterior, and does not count
        here again."""
        found = np.asarray(residuals(self.parameters, self.frame, self.records))
        count = np.maximum(np.asarray(self.records.observed).sum(axis=0), 1)
        freedom = max(1.0 - self._determined() / count.sum(), FREEDOM)
        return np.maximum((found**2).sum(axis=0) / (count * freedom), 1e-8)

    def _determined(self) -> float:
        """How many parameters the data determine."""
        return float(np.trace(self._optimum().curvature @ self._covariance()))

    def error(self) -> float:
        """Root mean square of the free runs' residuals, in scaled units."""
        found = np.asarray(residuals(self.parameters, self.frame, self.records))
        return float(np.sqrt((found**2).sum() / max(int(np.sum(self.records.observed)), 1)))

    def described(self) -> str:
        """One line for the history."""
        amplitudes = ", ".join(f"{a:.3f}" for a in np.asarray(self.frame.amplitudes))
        scales = ", ".join(f"{s:.2f}" for s in np.exp(np.asarray(self.parameters.log_scales)))
        return (
            f"free-run error {self.error():.4f} (scaled), correlation time {self.time:.1f}, amplitudes {amplitudes}, "
            f"length-scales {scales}"
        )

    def weighed(self, determined: float) -> "Problem":
        """Noise and correlation time from the residuals, when so many parameters are determined by them."""
        found = np.asarray(residuals(self.parameters, self.frame, self.records))
        count = np.asarray(self.records.observed).sum(axis=0)
        lasting = correlation_time(found, self.records)
        freedom = np.maximum(1.0 - lasting * determined / count.sum(), FREEDOM)
        variances = np.maximum((found**2).sum(axis=0) / (np.maximum(count, 1) * freedom), 1e-8)
        return self._replace(variances=variances, time=lasting)

    def _precision(self) -> Float[np.ndarray, " R"]:
        return 1.0 / flat(spreads(self.centre)) ** 2

    def _covariance(self) -> Float[np.ndarray, "R R"]:
        return np.linalg.inv(self._optimum().curvature + np.diag(self._precision()))

    def _places(self, part: Callable[[Parameters], Array]) -> np.ndarray:
        """Which entries of the vector of parameters belong to a part."""
        empty = jax.tree.map(np.zeros_like, self.parameters)
        return flat(eqx.tree_at(part, empty, np.ones_like(part(empty)))) > 0.0

    def _optimum(self) -> Optimum:
        assert self.optimum is not None, "search first"
        return self.optimum

    def _replace(self, **changes) -> "Problem":
        return Problem(**{**vars(self), **changes})


@compile_for_setup
def _assembled(
    parameters: Parameters,
    frame: Frame,
    chols: Float[Array, "D M M"],
    process: Float[Array, ""],
    measured: Float[Array, " O"],
) -> GPSSM:
    """The model of these parameters, noises, and factors of q(v)."""
    dims, scales = parameters.values.shape[0], jnp.exp(parameters.log_scales)
    kernels = [rbf(scales, frame.amplitudes[d] ** 2) for d in range(dims)]
    mean = linear_part(parameters, frame)
    gp = SparseGP.create(kernels, frame.inducing, state_dim=dims, noise=process, mean=mean)
    gp = eqx.tree_at(lambda t: (t.q_mean, t.q_chol), gp, (parameters.values, LowerTriangular.of(chols)))
    return GPSSM(gp, eqx.tree_at(lambda e: e.noise, parameters.emission, Positive.of(measured)), dims)
