"""What is not known of a model, from which whole models are drawn."""

from abc import abstractmethod
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.models._gpssm import GPSSM
from gpssm.models.transition import AbstractDynamics, Conditioned
from gpssm.models.transition._sparse_dynamics import SparseDynamics


class AbstractJoint(eqx.Module):
    """A posterior over a model's parts together.

    Hidden coordinates have no scale of their own: to stretch one changes several inducing values, the mean function and
    the emission together, and no output. Drawn one by one, such errors would not cancel.
    """

    @abstractmethod
    def draw(self, model: GPSSM, dynamics: AbstractDynamics, *, key: PRNGKeyArray) -> GPSSM:
        """A model without doubt about these parts. `dynamics` is the model's transition, conditioned once for all
        draws."""

    @abstractmethod
    def fits(self, model: GPSSM) -> bool:
        """Whether it is about a model of this kind and size."""


class JointPosterior(AbstractJoint):
    """The whitened inducing values of all state dimensions as one Gaussian, N(what the model holds, factor factor')."""

    factor: Float[Array, "K K"]
    residual: bool = eqx.field(static=True, default=True)
    """Whether drawn functions also have what the inducing values leave unexplained."""

    def fits(self, model: GPSSM) -> bool:
        dynamics = _conditioned_shapes(model)
        wanted = (dynamics.q_mean.size,) * 2 if isinstance(dynamics, SparseDynamics) else None
        return self.factor.shape == wanted

    def draw(self, model: GPSSM, dynamics: AbstractDynamics, *, key: PRNGKeyArray) -> GPSSM:
        """Inducing values of all dimensions from one draw."""
        assert isinstance(dynamics, SparseDynamics)
        values = dynamics.q_mean
        error = self.factor @ jr.normal(key, (values.size,), values.dtype)
        return _certain(model, dynamics, values + jnp.reshape(error, values.shape), residual=self.residual)


class SampledPosterior(AbstractJoint):
    """Models that were drawn when the posterior was at hand, N of them; each trajectory takes one."""

    values: Float[Array, "N D M"]
    """Whitened inducing values."""
    mean: tuple[Float[Array, "N ..."], ...] = ()
    """The arrays of the mean function, in their order; empty where it is certain."""
    emission: tuple[Float[Array, "N ..."], ...] = ()
    """Weight and offset of the emission; empty where they are certain."""

    def __check_init__(self) -> None:
        counts = {len(part) for part in (self.values, *self.mean, *self.emission)}
        if len(counts) != 1 or len(self.emission) not in (0, 2):
            raise ValueError("the parts of drawn models are of different numbers")

    def fits(self, model: GPSSM) -> bool:
        dynamics = _conditioned_shapes(model)
        if not isinstance(dynamics, SparseDynamics) or self.values.shape[1:] != dynamics.q_mean.shape:
            return False
        mean = jax.tree.leaves(dynamics.mean) if self.mean else []
        linear = jax.tree.leaves(_linear_part(model)) if self.emission else []
        return all(
            [part.shape[1:] for part in drawn] == [leaf.shape for leaf in held]
            for drawn, held in ((self.mean, mean), (self.emission, linear))
        )

    def draw(self, model: GPSSM, dynamics: AbstractDynamics, *, key: PRNGKeyArray) -> GPSSM:
        """One of the models, each as likely as the others."""
        assert isinstance(dynamics, SparseDynamics)
        index = jr.randint(key, (), 0, self.values.shape[0])
        values, mean, emission = jax.tree.map(lambda part: part[index], (self.values, self.mean, self.emission))
        drawn = _certain(model, dynamics, values)
        if mean:
            kept = jax.tree.unflatten(jax.tree.structure(dynamics.mean), mean)
            drawn = eqx.tree_at(lambda m: m.transition.dynamics.mean, drawn, kept)
        if emission:
            kept = jax.tree.unflatten(jax.tree.structure(_linear_part(model)), emission)
            drawn = eqx.tree_at(_linear_part, drawn, kept)
        return drawn


def _certain(model: GPSSM, dynamics: SparseDynamics, values: Float[Array, "D M"], *, residual: bool = True) -> GPSSM:
    known = replace(dynamics, q_mean=values, q_chol=jnp.zeros_like(dynamics.q_chol), residual=residual)
    return GPSSM(Conditioned(known), model.emission, model.state_dim)


def _conditioned_shapes(model: GPSSM) -> AbstractDynamics:
    """Sizes do not ask for numbers: operation by operation, each would be a program to compile."""
    return eqx.filter_eval_shape(lambda model: model.transition.condition(), model)


def _linear_part(model: GPSSM) -> tuple:
    emission = model.emission
    return emission.weight, emission.offset  # pyright: ignore[reportAttributeAccessIssue]
