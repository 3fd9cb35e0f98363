"""What is not known of a model as one Gaussian, from which whole models are drawn."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.models._gpssm import GPSSM
from gpssm.models.transition import AbstractDynamics, Conditioned
from gpssm.models.transition._sparse_dynamics import SparseDynamics

VALUES, MEAN, EMISSION = "values", "mean", "emission"


class JointPosterior(eqx.Module):
    """Errors in the parts of a model, drawn together: N(0, factor factor') about what the model holds.

    Hidden coordinates have no scale of their own: to stretch one changes several inducing values, the mean function and
    the emission together, and no output. Drawn one by one, such errors would not cancel.
    """

    factor: Float[Array, "K K"]
    parts: tuple[str, ...] = eqx.field(static=True, default=(VALUES,))
    """What the rows of the factor are, in this order: whitened inducing values, the mean function's numbers, weight and
    offset of the emission."""

    def __check_init__(self) -> None:
        unknown = set(self.parts) - {VALUES, MEAN, EMISSION}
        if unknown or len(set(self.parts)) < len(self.parts) or not self.parts:
            raise ValueError(f"parts={self.parts}: there are {VALUES}, {MEAN} and {EMISSION}, each once at most")
        if self.factor.ndim != 2 or self.factor.shape[0] != self.factor.shape[1]:
            raise ValueError(f"the factor of a joint posterior is square, not {self.factor.shape}")

    def fits(self, model: GPSSM) -> bool:
        """Whether it is about a model of this kind and size."""
        dynamics = model.transition.condition()
        return isinstance(dynamics, SparseDynamics) and self.factor.shape[0] == self._flat(model, dynamics)[0].size

    def draw(self, model: GPSSM, dynamics: AbstractDynamics, *, key: PRNGKeyArray) -> GPSSM:
        """A model without doubt about these parts. `dynamics` is the model's transition, conditioned once for all
        draws."""
        assert isinstance(dynamics, SparseDynamics)
        flat, unravel = self._flat(model, dynamics)
        drawn = dict(zip(self.parts, unravel(flat + self.factor @ jr.normal(key, flat.shape, flat.dtype)), strict=True))
        certain = eqx.tree_at(lambda d: d.q_chol, dynamics, jnp.zeros_like(dynamics.q_chol))
        if VALUES in drawn:
            certain = eqx.tree_at(lambda d: d.q_mean, certain, drawn[VALUES])
        if MEAN in drawn:
            certain = eqx.tree_at(lambda d: d.mean, certain, drawn[MEAN])
        emission = model.emission
        if EMISSION in drawn:
            emission = eqx.tree_at(_linear_part, emission, drawn[EMISSION])
        return GPSSM(Conditioned(certain), emission, model.state_dim)

    def _flat(self, model: GPSSM, dynamics: SparseDynamics) -> tuple[Float[Array, " K"], Any]:
        held = {VALUES: dynamics.q_mean, MEAN: dynamics.mean, EMISSION: None}
        if EMISSION in self.parts:
            held[EMISSION] = _linear_part(model.emission)
        return ravel_pytree([held[part] for part in self.parts])


def _linear_part(emission: Any) -> tuple[Any, Any]:
    return emission.weight, emission.offset
