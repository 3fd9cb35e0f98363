"""The system that draws leave behind: a mixture of all of them, and one model in their middle."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm._core._compile import compile_for_setup
from gpssm._core._params import LowerTriangular, cast
from gpssm.inference.gibbs import Target, Unknowns
from gpssm.models import GPSSM, SampledModels, SparseGP
from gpssm.models._sampled_models import kernel_arrays

LEAST = 1e-10
"""Added to the variances of the inducing values, of which there may be more than draws."""


def mixture(target: Target, draws: Unknowns) -> tuple[GPSSM, SampledModels]:
    """Of N draws: the model in their middle, and all of them.

    The middle has the mean variances as noises, the mean of what is trained of the kernels, and a q(u) with the mean
    and the covariance that the function has at the inducing inputs: each draw's own values, whatever its kernel.
    """
    arrays = jax.tree.map(lambda part: jnp.asarray(np.asarray(part, float)), draws)
    function, process, noise, kernels = _at_each(target, arrays)
    middle = Unknowns(
        jnp.zeros_like(target.transition.q_mean),
        jnp.log(jnp.mean(jnp.exp(arrays.process), axis=0)),
        jnp.log(jnp.mean(noise, axis=0)),
        tuple(jnp.mean(part, axis=0) for part in arrays.kernels),
    )
    model = target.model_at(middle)
    values, chols = _whitened(model, np.asarray(function))
    transition = replace(
        _sparse(model), q_mean=jnp.asarray(values), q_chol=LowerTriangular.of(jnp.asarray(chols)), whitened=True
    )
    model = cast(eqx.tree_at(lambda m: m.transition, model, transition), np.float64)
    return model, SampledModels(arrays.values, process, noise, tuple(kernels), target.fitc)


@compile_for_setup
def _at_each(target: Target, draws: Unknowns) -> tuple[Float[Array, "N D M"], Array, Array, list[Array]]:
    """The function at the inducing inputs, both noises and the kernels' arrays of each draw."""

    def one(unknowns: Unknowns) -> tuple[Array, Array, Array, list[Array]]:
        model = target.model_at(unknowns)
        bases = _sparse(model).bases()
        function = jnp.stack([bases[d % len(bases)].factor.chol @ v for d, v in enumerate(unknowns.values)])
        return function, model.transition.noise_variance(), model.emission.noise_variance(), kernel_arrays(bases)

    return jax.lax.map(one, draws)


def _whitened(
    model: GPSSM, function: Float[np.ndarray, "N D M"]
) -> tuple[Float[np.ndarray, "D M"], Float[np.ndarray, "D M M"]]:
    bases = _factors(model)
    means, chols = [], []
    for d in range(function.shape[1]):
        whitened = function[:, d] @ np.asarray(bases[d % len(bases)]).T
        means.append(whitened.mean(axis=0))
        spread = np.cov(whitened, rowvar=False, bias=True).reshape(whitened.shape[1], -1)
        chols.append(np.linalg.cholesky(spread + (LEAST + 1e-8 * np.trace(spread)) * np.eye(len(spread))))
    return np.stack(means), np.stack(chols)


@compile_for_setup
def _factors(model: GPSSM) -> list[Float[Array, "M M"]]:
    return [basis.factor.inverse for basis in _sparse(model).bases()]


def _sparse(model: GPSSM) -> SparseGP:
    assert isinstance(model.transition, SparseGP)
    return model.transition
