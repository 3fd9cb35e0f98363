"""States integrated out by a filter, the function by Laplace: the bound that marginal inference maximises."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from gpssm._core._compile import compile_by_work, compile_for_setup
from gpssm._core._linalg import factorise, rounding_jitter
from gpssm._core._params import LowerTriangular, val
from gpssm._core._sharding import AbstractShare, Unsharded
from gpssm.inference._base import AbstractInference, Needs
from gpssm.inference._bound import Bound
from gpssm.inference._defaults import default_rule
from gpssm.inference.marginal._carry import AbstractCarry, OnNodes
from gpssm.inference.marginal._evidence import Evidence, evidence_of, sparse
from gpssm.inference.marginal._free_runs import FreeRuns
from gpssm.inference.marginal._function import GivenFunction
from gpssm.inference.marginal._noise_prior import NoisePrior
from gpssm.inference.marginal._parts import Parts
from gpssm.inference.marginal._point_mass import PointMass
from gpssm.inference.recognition import AbstractRecognition
from gpssm.models import GPSSM, Batch


class FilterLaplace(AbstractInference):
    """q(v) = N(v, (I + A'A)^-1), one Gaussian over the inducing values of all state dimensions together.

    For each function the states are integrated out by a Gaussian filter. What is maximised, over v and everything else
    together, is log p(Y | v) - |v|^2 / 2 - log det(I + A'A) / 2, Laplace's approximation to the evidence. Neither a
    posterior over states nor a network is needed, and states and function are not taken for independent.

    The values are v = centre + spread `at`. With `spread` the factor of their posterior covariance times the root of
    the number of steps, L-BFGS sees a problem that is nearly round.
    """

    at: Float[Array, " K"]
    centre: paramax.AbstractUnwrappable
    spread: paramax.AbstractUnwrappable
    carry: AbstractCarry
    prior: NoisePrior
    exact: PointMass | None = None
    """With one state: the filter that takes beliefs for what they are, for the likelihood. The information is the
    Gaussian filter's in any case."""
    free: FreeRuns | None = None
    parts: Parts = Parts()
    fitc: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        if self.exact is not None and self.free is not None:
            raise ValueError("exact=...: free runs are by the Gaussian filter, which leaves nothing to the exact one")

    @classmethod
    def about(
        cls,
        model: GPSSM,
        batch: Batch,
        *,
        carry: AbstractCarry | None = None,
        prior: NoisePrior = NoisePrior(),
        exact: PointMass | None = None,
        free: FreeRuns | None = None,
        parts: Parts = Parts(),
        fitc: bool = False,
    ) -> "FilterLaplace":
        """About the inducing values that the model holds, in the metric of their own posterior."""
        values = whitened_values(model)
        size, steps = values.size, float(np.sum(np.asarray(batch.valid)))
        plain = cls(
            at=jnp.zeros(size),
            centre=paramax.non_trainable(values),
            spread=paramax.non_trainable(jnp.zeros((size, size))),
            carry=OnNodes(default_rule(model.state_dim)) if carry is None else carry,
            prior=prior,
            exact=exact,
            free=free if free is not None and free.share else None,
            parts=parts,
            fitc=fitc,
        )
        precision = np.eye(size) + np.asarray(information_at(plain, model, values, batch))
        spread = np.sqrt(steps) * np.linalg.cholesky(np.linalg.inv(precision))
        return replace(plain, spread=paramax.non_trainable(jnp.asarray(spread)))

    def values(self) -> Float[Array, "D M"]:
        """The inducing values."""
        centre = val(self.centre)
        return centre + jnp.reshape(val(self.spread) @ self.at, centre.shape)

    def by_gaussians(self, model: GPSSM, values: Float[Array, "D M"], batch: Batch) -> Evidence:
        """Of any values, by the Gaussian filter."""
        return evidence_of(model, values, batch, self.carry, fitc=self.fitc, free=self.free, parts=self.parts)

    def evidence(self, model: GPSSM, values: Float[Array, "D M"], batch: Batch) -> Evidence:
        """The same, with log p(Y | v) by the exact filter where there is one."""
        found, exact = self.by_gaussians(model, values, batch), self.exact
        if exact is None:
            return found
        function, noise = GivenFunction.of(sparse(model), values), model.transition.noise_variance()
        told = jax.vmap(lambda e: exact.log_evidence(function, noise, model.emission, e, fitc=self.fitc))(batch)
        return found._replace(log_evidence=jnp.sum(batch.weight * told))

    def bound(
        self, model: GPSSM, batch: Batch, *, share: AbstractShare = Unsharded(), key: PRNGKeyArray
    ) -> tuple[Bound, None]:
        """Laplace's approximation to the log-evidence, with the prior of the noises."""
        values = self.values()
        found = self.evidence(model, values, batch)
        information = share.total(found.information)
        precision = factorise(jnp.eye(values.size) + information, rounding_jitter(information.dtype))
        once = share.fraction()
        bound = Bound.of(
            {
                "likelihood": found.log_evidence,
                "inducing": -0.5 * once * jnp.sum(values**2),
                "volume": -0.5 * once * precision.log_det(),
                "noise prior": once * self.prior.log_prob(model),
            },
            jitter=found.jitter,
            once=("inducing", "volume", "noise prior"),
        )
        return bound, None

    def after_step(self, model: GPSSM, told: None, *, share: AbstractShare = Unsharded()) -> GPSSM:
        """Nothing to do."""
        return model

    def finish(self, model: GPSSM, batch: Batch, *, key: PRNGKeyArray) -> GPSSM:
        """The inducing values, and of their covariance the blocks of each state dimension."""
        values = self.values()
        # Of the evidence alone: the errors of a free run are one error, seen again and again, and no information.
        told = information_at(replace(self, free=None), model, values, batch)
        precision = np.eye(values.size) + np.asarray(told)
        return with_posterior(model, values, np.linalg.inv(precision))

    def held(self, model: GPSSM) -> PyTree:
        """q(u) of the model: the values are parameters of the inference."""
        transition = sparse(model)
        return (transition.q_mean, transition.q_chol)

    def needs(self) -> Needs:
        """All episodes from their start: their information stands inside a logarithm."""
        return Needs(full_batch=True, whole_episodes=True)

    def reader(self) -> AbstractRecognition | None:
        return None

    def for_new_records(self) -> "FilterLaplace":
        """The same: of other records the evidence given the function counts."""
        return self


@compile_by_work(lambda inference, model, values, batch: batch.valid.size)
def information_at(
    inference: FilterLaplace, model: GPSSM, values: Float[Array, "D M"], batch: Batch
) -> Float[Array, "K K"]:
    """A'A at given inducing values."""
    return inference.by_gaussians(model, values, batch).information


@compile_for_setup
def whitened_values(model: GPSSM) -> Float[Array, "D M"]:
    """The mean of q(v)."""
    return sparse(model).condition().q_mean


def with_posterior(model: GPSSM, values: Float[Array, "D M"], covariance: Float[np.ndarray, "K K"]) -> GPSSM:
    """The model with these inducing values, and each dimension's own block of their covariance."""
    dims, size = values.shape
    blocks = np.asarray(covariance).reshape(dims, size, dims, size)
    chols = np.stack([np.linalg.cholesky(blocks[d, :, d] + 1e-14 * np.eye(size)) for d in range(dims)])
    told = LowerTriangular.of(jnp.asarray(chols))
    transition = replace(sparse(model), q_mean=jnp.asarray(values), q_chol=told, whitened=True)
    return eqx.tree_at(lambda m: m.transition, model, transition)
