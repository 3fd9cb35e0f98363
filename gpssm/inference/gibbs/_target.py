"""What is drawn, and its prior: the unknowns of a model beside the states, and how a model is made of them."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from gpssm._core._gaussian import expected_log_normal
from gpssm._core._params import Positive, trainable_mask
from gpssm.models import GPSSM, SparseGP


class Unknowns(NamedTuple):
    """A function and its hyper-parameters, as plain arrays."""

    values: Float[Array, "*C D M"]
    """Whitened inducing values, a priori standard normal."""
    process: Float[Array, "*C _"]
    """Logarithms of the process variances; a single one where they are tied."""
    noise: Float[Array, "*C O"]
    """Logarithms of the measurement variances."""
    kernels: tuple[Float[Array, "*C _"], ...]
    """What is trained of each kernel, in the coordinates in which it is trained."""


class HyperPrior(eqx.Module):
    """How far hyper-parameters may be from those that the model is given with: independent normal densities about
    them, of the logarithms of the variances, and of what is trained of the kernels in the coordinates of training.

    The standard deviations are wide: a factor of seven and one of fifty are as near as one and two of them. Zero holds
    what it is about.
    """

    process: float = eqx.field(static=True, default=2.0)
    """Of the logarithm of a process variance."""
    noise: float = eqx.field(static=True, default=2.0)
    """Of the logarithm of a measurement variance."""
    kernel: float = eqx.field(static=True, default=2.0)
    """Of what is trained of a kernel."""

    def __check_init__(self) -> None:
        for name in ("process", "noise", "kernel"):
            if getattr(self, name) < 0.0:
                raise ValueError(f"{name}={getattr(self, name)}: a standard deviation is not negative")


class Target(eqx.Module):
    """A model with its prior. Inducing inputs, mean function and the linear part of the emission are as in the
    model."""

    model: GPSSM
    prior: HyperPrior
    fitc: bool = eqx.field(static=True)
    """Whether variance that the inducing values leave unexplained counts as process noise."""

    @property
    def transition(self) -> SparseGP:
        """That of the model."""
        assert isinstance(self.model.transition, SparseGP)
        return self.model.transition

    def centre(self) -> Unknowns:
        """Those of the model itself, with the inducing values that it holds."""
        transition, emission = self.transition, self.model.emission
        process = jnp.log(transition.noise_variance())[: jax.tree.leaves(transition.noise)[0].size]
        kernels = tuple(ravel_pytree(_trained(kernel))[0] for kernel in transition.kernels)
        return Unknowns(transition.q_mean, process, jnp.log(emission.noise_variance()), kernels)

    def model_at(self, unknowns: Unknowns) -> GPSSM:
        """The model of these unknowns, without doubt about them but for q_chol, which is as it was."""
        kernels = tuple(self.kernel(g, flat) for g, flat in enumerate(unknowns.kernels))
        new = (unknowns.values, kernels, Positive(unknowns.process), Positive(unknowns.noise))
        return eqx.tree_at(_places, self.model, new)

    def kernel(self, g: int, flat: Float[Array, " _"]) -> Any:
        """Kernel number g with these numbers as what is trained of it."""
        held = self.transition.kernels[g]
        return eqx.combine(ravel_pytree(_trained(held))[1](flat), held)

    def log_prior(self, unknowns: Unknowns) -> Float[Array, ""]:
        """Of the hyper-parameters that are not held, and not of the values; up to a constant."""
        centre, prior = self.centre(), self.prior
        parts = [(unknowns.process, centre.process, prior.process), (unknowns.noise, centre.noise, prior.noise)]
        parts += [(at, middle, prior.kernel) for at, middle in zip(unknowns.kernels, centre.kernels, strict=True)]
        return sum(
            (jnp.sum(expected_log_normal((at - middle) ** 2, jnp.asarray(sd**2))) for at, middle, sd in parts if sd),
            jnp.zeros((), unknowns.values.dtype),
        )


def _trained(kernel: Any) -> Any:
    return eqx.partition(kernel, trainable_mask(kernel))[0]


def _places(model: GPSSM) -> tuple:
    transition, emission = model.transition, model.emission
    return transition.q_mean, transition.kernels, transition.noise, emission.noise  # pyright: ignore[reportAttributeAccessIssue]
