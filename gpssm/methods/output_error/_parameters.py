"""The unknowns of an output-error fit, what is believed about them beforehand, and the free run they produce."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from gpssm._core._compile import compile_by_work, compile_for_setup
from gpssm._core._linalg import base_jitter, factorise
from gpssm.methods.output_error._records import Records
from gpssm.models.emission import AbstractEmission
from gpssm.models.transition import LinearMean
from gpssm.models.transition._stable import StableMatrices


class Parameters(eqx.Module):
    """Linear part, emission, and a GP correction with whitened inducing values of unit prior variance."""

    state_change: Float[Array, "D D"]
    """Where the state matrix is among the stable ones; zero for that of the system it starts from."""
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
        return jax.tree.map(lambda leaf: jax.device_put(np.full(np.shape(leaf), value)), tree)

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


@compile_for_setup
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


@compile_by_work(lambda parameters, frame, records: len(records.first))
def residuals(parameters: Parameters, frame: Frame, records: Records) -> Float[Array, "N O"]:
    """Outputs less those of the free run; zero where nothing was observed."""
    return jnp.where(records.observed, records.y - free_run(parameters, frame, records)[1], 0.0)


@compile_by_work(lambda parameters, frame, records: len(records.first) * _count(parameters))
def linearised(
    parameters: Parameters, frame: Frame, records: Records
) -> tuple[Float[Array, "N O"], Float[Array, "N O R"]]:
    """Residuals and their derivatives by all parameters, in the order of `flat`.

    With f(x, u; p) a step, S[t] = dx[t]/dp follows S[t+1] = df/dx S[t] + df/dp. The slopes of all steps are found side
    by side, and only this recursion runs through time: derivatives of the free run as a whole would take every
    parameter through it, kernel and all.
    """
    vector, unravel = jax.flatten_util.ravel_pytree(parameters)
    states, outputs = free_run(parameters, frame, records)
    by_state, by_parameters = _step_slopes(vector, unravel, frame, records, states)
    by_start = jax.jacfwd(lambda p: unravel(p).starts)(vector)

    def body(slopes: Array, now: tuple[Array, ...]) -> tuple[Array, Array]:
        first, episode, forward, direct = now
        slopes = jnp.where(first, by_start[episode], slopes)
        return forward @ slopes + direct, slopes

    table = (records.first, records.episode, by_state, by_parameters)
    slopes = lax.scan(body, jnp.zeros_like(by_start[0]), table)[1]
    by_output = jax.vmap(jax.jacfwd(parameters.emission.mean))(states)
    measured = by_output @ slopes + jax.jacfwd(lambda p: unravel(p).emission.mean(states))(vector)
    found = jnp.where(records.observed, records.y - outputs, 0.0)
    return found, jnp.where(records.observed[:, :, None], -measured, 0.0)


def _step_slopes(
    vector: Float[Array, " R"],
    unravel: Callable[[Array], Parameters],
    frame: Frame,
    records: Records,
    states: Float[Array, "N D"],
) -> tuple[Float[Array, "N D D"], Float[Array, "N D R"]]:
    """Derivatives of every single step by the state it starts from, and by the parameters.

    A step is linear in all that it is made of, given the kernel; that depends on the length-scales alone, with
    dk / d log(scale) = k (difference / scale)^2.
    """

    def matrices(p: Float[Array, " R"]) -> Float[Array, "F D"]:
        step = Step.of(unravel(p), frame)
        linear = step.linear
        rows = (linear.state_matrix.T, linear.control_matrix.T, linear.offset[None, :], step.correction.weights)
        return jnp.concatenate(rows)

    here = Step.of(unravel(vector), frame)
    gp = here.correction
    points = jnp.concatenate([states, records.u], axis=1) / gp.scales[None, :]
    kernel = _rbf(points, gp.points)
    features = jnp.concatenate([states, records.u, jnp.ones_like(states[:, :1]), kernel], axis=1)
    by_parameters = jnp.einsum("nf,fdr->ndr", features, jax.jacfwd(matrices)(vector))
    squares = (points[:, None, :] - gp.points[None, :, :]) ** 2
    by_scales = jnp.einsum("nm,md,nmq->ndq", kernel, gp.weights, squares)
    places = jax.jacfwd(lambda p: unravel(p).log_scales)(vector)
    return jax.vmap(jax.jacfwd(here))(states, records.u), by_parameters + by_scales @ places


def _count(parameters: Parameters) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(parameters))


def flat(parameters: Parameters) -> Float[np.ndarray, " R"]:
    """All parameters as one vector. In NumPy, as its inverse: JAX would compile a program for every shape."""
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(parameters)])


def shaped(vector: Float[np.ndarray, " R"], like: Parameters) -> Parameters:
    """Parameters from a vector in the order of `flat`."""
    leaves, form = jax.tree.flatten(like)
    ends = np.cumsum([leaf.size for leaf in leaves])
    parts = np.split(np.asarray(vector), ends[:-1])
    return jax.tree.unflatten(
        form, [jax.device_put(part.reshape(leaf.shape)) for part, leaf in zip(parts, leaves, strict=True)]
    )
