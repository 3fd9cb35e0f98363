"""Moments of functions of Gaussian variables, and how they are put together.

Every function is summarised in the same way: mean and covariance of its value, and the *gain*, the expected slope.
For a Gaussian input the covariance of input and output is (input covariance) @ gain, so gains of nested functions
multiply and no covariance is ever inverted.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class Moments(NamedTuple):
    """Mean and covariance of a function's value, and the expected derivative of value e by input d at [d, e]."""

    mean: Float[Array, " E"]
    cov: Float[Array, "E E"]
    gain: Float[Array, "D E"]


class Gaussian(NamedTuple):
    """A joint normal distribution."""

    mean: Float[Array, " D"]
    cov: Float[Array, "D D"]


def select(joint: Gaussian, indices: Sequence[int]) -> Gaussian:
    """The marginal of some variables, in the order of `indices`."""
    chosen = np.asarray(indices, dtype=int)
    return Gaussian(joint.mean[chosen], joint.cov[chosen][:, chosen])


def append(joint: Gaussian, value: Moments, indices: Sequence[int]) -> Gaussian:
    """The joint distribution extended by a function of the variables in `indices`."""
    cross = joint.cov[:, np.asarray(indices, dtype=int)] @ value.gain
    return Gaussian(
        jnp.concatenate([joint.mean, value.mean]),
        jnp.block([[joint.cov, cross], [cross.T, value.cov]]),
    )
