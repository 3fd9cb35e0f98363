"""The unknowns of an output-error fit, what is believed about them beforehand, and the free run they produce."""

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from gpssm._core._linalg import base_jitter, factorise
from gpssm.methods.output_error._records import Records
from gpssm.methods.output_error._stable import StableMatrices
from gpssm.models.emission import AbstractEmission
from gpssm.models.transition import LinearMean


class Parameters(eqx.Module):
    """Linear part, emission, and a GP correction with whitened inducing values of unit prior variance."""

    state_change: Float[Array, "D D"]
    """Where the state matrix is among the stable ones; zero for that of the identified linear system."""
    control_matrix: Float[Array, "D P"]
    offset: Float[Array, " D"]
    emission: AbstractEmission
    log_scales: Float[Array, " Q"]
    """Logarithms of the GP's length-scales, shared by all state dimensions."""
    values: Float[Array, "D M"]
    starts: Float[Array, "E D"]
    """The first state of each episode."""


def spreads(centre: Parameters) -> Parameters:
    """Prior standard deviations around the starting point. States have unit spread in the coordinates used, and changes
    of the state matrix are relative, so that one number serves for every entry of a matrix."""

    def fill(tree, value: float):
        return jax.tree.map(lambda leaf: jnp.full(jnp.shape(leaf), value), tree)

    return Parameters(
        state_change=fill(centre.state_change, 0.3),
        control_matrix=fill(centre.control_matrix, 0.3),
        offset=fill(centre.offset, 0.1),
        emission=fill(centre.emission, 0.5),
        log_scales=fill(centre.log_scales, 0.5),
        values=fill(centre.values, 1.0),
        starts=fill(centre.starts, 1.0),
    )


class Correction(eqx.Module):
    """The GP's mean with everything done that does not depend on the point."""

    points: Float[Array, "M Q"]
    scales: Float[Array, " Q"]
    weights: Float[Array, "M D"]

    @classmethod
    def of(cls, parameters: Parameters, inducing: Float[Array, "M Q"], amplitudes: Float[Array, " D"]) -> "Correction":
        """k(z, Z) L^-T values, times the amplitude of each dimension."""
        scales = jnp.exp(parameters.log_scales)
        points = inducing / scales[None, :]
        matrix = _rbf(points, points)
        inverse = factorise(matrix, base_jitter(matrix.dtype)).inverse
        return cls(points, scales, inverse.T @ (parameters.values * amplitudes[:, None]).T)

    def __call__(self, x: Float[Array, " D"], u: Float[Array, " P"]) -> Float[Array, " D"]:
        """The mean at a point."""
        point = jnp.concatenate([x, u]) / self.scales
        return jnp.sum(_rbf(self.points, point[None]) * self.weights, axis=0)


def _rbf(a: Float[Array, "N Q"], b: Float[Array, "M Q"]) -> Float[Array, "N M"]:
    return jnp.exp(-0.5 * jnp.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=-1))


class Frame(eqx.Module):
    """What is held while the parameters are sought."""

    inducing: Float[Array, "M Q"]
    amplitudes: Float[Array, " D"]
    stable: StableMatrices


class Step(eqx.Module):
    """From one state to the next, with everything done that does not depend on the state."""

    linear: LinearMean
    correction: Correction

    @classmethod
    def of(cls, parameters: Parameters, frame: Frame) -> "Step":
        """The linear part and the mean of the GP."""
        return cls(linear_part(parameters, frame), Correction.of(parameters, frame.inducing, frame.amplitudes))

    def __call__(self, x: Float[Array, " D"], u: Float[Array, " P"]) -> Float[Array, " D"]:
        """The next state."""
        return self.linear(x, u) + self.correction(x, u)


def linear_part(parameters: Parameters, frame: Frame) -> LinearMean:
    """A stable linear system."""
    return LinearMean(frame.stable(parameters.state_change), parameters.control_matrix, parameters.offset)


def free_run(parameters: Parameters, frame: Frame, records: Records) -> tuple[Float[Array, "N D"], Float[Array, "N O"]]:
    """States and outputs of all episodes, each from its first state, no output being read."""
    step = Step.of(parameters, frame)

    def body(x: Array, now: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        u, first, start = now
        x = jnp.where(first, start, x)
        return step(x, u), x

    starts = parameters.starts[records.episode]
    states = lax.scan(body, jnp.zeros_like(starts[0]), (records.u, records.first, starts))[1]
    return states, parameters.emission.mean(states)


@eqx.filter_jit
def residuals(parameters: Parameters, frame: Frame, records: Records) -> Float[Array, "N O"]:
    """Outputs less those of the free run; zero where nothing was observed."""
    return jnp.where(records.observed, records.y - free_run(parameters, frame, records)[1], 0.0)


@eqx.filter_jit
def linearised(
    parameters: Parameters, frame: Frame, records: Records
) -> tuple[Float[Array, "N O"], Float[Array, "N O R"]]:
    """Residuals and their derivatives by all parameters, in the order of `flat`."""
    start, unravel = jax.flatten_util.ravel_pytree(parameters)

    def of(vector: Array) -> tuple[Array, Array]:
        found = residuals(unravel(vector), frame, records)
        return found, found

    derivatives, found = jax.jacfwd(of, has_aux=True)(start)
    return found, derivatives


def flat(parameters: Parameters) -> Float[np.ndarray, " R"]:
    """All parameters as one vector."""
    return np.asarray(jax.flatten_util.ravel_pytree(parameters)[0])
