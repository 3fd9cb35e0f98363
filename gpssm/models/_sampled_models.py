"""Models that a Markov chain has drawn: function, noises and kernels, each with its own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from gpssm._core._params import Positive
from gpssm.models._gpssm import GPSSM
from gpssm.models._joint import AbstractJoint
from gpssm.models.transition import AbstractDynamics, Conditioned
from gpssm.models.transition._basis import Basis
from gpssm.models.transition._sparse_dynamics import SparseDynamics


class SampledModels(AbstractJoint):
    """N whole models; each trajectory takes one. Predictions are then the mixture of what all of them predict.

    The noise that is added to a trajectory's outputs at the end is the one of the model that the system holds, for all
    of them: the mean variance.
    """

    values: Float[Array, "N D M"]
    """Whitened inducing values, each in the coordinates of its own kernels."""
    process: Float[Array, "N D"]
    """Process variances."""
    noise: Float[Array, "N O"]
    """Measurement variances."""
    kernels: tuple[Float[Array, "N ..."], ...]
    """The arrays of the kernels, those of one basis after the other, in their order."""
    residual: bool = eqx.field(static=True, default=True)
    """Whether functions also have what the inducing values leave unexplained: whether it was counted."""

    def __check_init__(self) -> None:
        if len({len(part) for part in (self.values, self.process, self.noise, *self.kernels)}) != 1:
            raise ValueError("the parts of drawn models are of different numbers")

    def fits(self, model: GPSSM) -> bool:
        dynamics = model.transition.condition()
        if not isinstance(dynamics, SparseDynamics) or not isinstance(getattr(model.emission, "noise", None), Positive):
            return False
        wanted = [dynamics.q_mean, dynamics.noise, model.emission.noise_variance(), *kernel_arrays(dynamics.bases)]
        held = [self.values, self.process, self.noise, *self.kernels]
        return [part.shape[1:] for part in held] == [part.shape for part in wanted]

    def draw(self, model: GPSSM, dynamics: AbstractDynamics, *, key: PRNGKeyArray) -> GPSSM:
        """One of the models, each as likely as the others."""
        return self.model_at(jr.randint(key, (), 0, self.values.shape[0]), model, dynamics)

    def model_at(self, index: Int[Array, ""], model: GPSSM, dynamics: AbstractDynamics) -> GPSSM:
        """Model number `index`."""
        assert isinstance(dynamics, SparseDynamics)
        drawn = self.process, self.noise, self.kernels, self.values
        process, noise, kernels, values = jax.tree.map(lambda part: part[index], drawn)
        known = SparseDynamics(
            _with_kernels(dynamics.bases, list(kernels)),
            values,
            jnp.zeros_like(dynamics.q_chol),
            process,
            dynamics.mean,
            self.residual,
        )
        measured = eqx.tree_at(lambda emission: emission.noise, model.emission, Positive(jnp.log(noise)))
        return GPSSM(Conditioned(known), measured, model.state_dim)


def kernel_arrays(bases: tuple[Basis, ...]) -> list[Array]:
    """The arrays of the bases' kernels."""
    return jax.tree.leaves(_arrays(bases))


def _arrays(bases: tuple[Basis, ...]) -> PyTree:
    return eqx.filter([basis.kernel for basis in bases], eqx.is_inexact_array)


def _with_kernels(bases: tuple[Basis, ...], arrays: list[Array]) -> tuple[Basis, ...]:
    filled = jax.tree.unflatten(jax.tree.structure(_arrays(bases)), arrays)
    kernels = [eqx.combine(found, basis.kernel) for found, basis in zip(filled, bases, strict=True)]
    return tuple(Basis.of(kernel, basis.inducing) for kernel, basis in zip(kernels, bases, strict=True))
