"""Gaussian processes with squared-exponential kernels, and their exact moments under Gaussian inputs."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm._core._rbf_moments import expected_kernels, expected_products
from gpssm.control._moments import Gaussian, Moments


class ConditionedGP(eqx.Module):
    """E independent processes over shared inputs, reduced to what predictions need.

    The predictive mean of output a at z is sum_i weights[a, i] k_a(z, inputs[i]); the predictive variance is
    k_a(z, z) - k_a(z, inputs) reductions[a] k_a(inputs, z), or zero everywhere for a network that only
    has a mean (`spare` and `reductions` are zero). A point with zero weight and zero reduction changes nothing, so
    the number of points can be padded to keep shapes fixed.
    """

    inputs: Float[Array, "N D"]
    lengthscales: Float[Array, "E D"]
    signal_variance: Float[Array, " E"]
    weights: Float[Array, "E N"]
    reductions: Float[Array, "E N N"]
    spare: Float[Array, " E"]  # prior variance of the function: k_a(z, z), or zero for a mean alone

    def kernel_row(self, z: Float[Array, " D"]) -> Float[Array, "E N"]:
        """k_a(z, inputs[i]) for every output and point."""
        scaled = (self.inputs - z[None, :])[None] / self.lengthscales[:, None, :]
        return self.signal_variance[:, None] * jnp.exp(-(scaled**2).sum(2) / 2.0)

    def mean(self, z: Float[Array, " D"]) -> Float[Array, " E"]:
        """Predictive mean at a known input."""
        return (self.weights * self.kernel_row(z)).sum(1)

    def variance(self, z: Float[Array, " D"]) -> Float[Array, " E"]:
        """Predictive variance of the function (without observation noise) at a known input."""
        row = self.kernel_row(z)
        return self.spare - (row * jnp.einsum("eij,ej->ei", self.reductions, row)).sum(1)

    def moments(self, given: Gaussian) -> Moments:
        """Mean, covariance and gain of the function values at a Gaussian input, all in closed form."""
        outputs = len(self.spare)
        shape = (outputs, *self.inputs.shape)
        offsets = jnp.broadcast_to((self.inputs - given.mean[None, :])[None], shape)
        log_factors = jnp.broadcast_to(jnp.log(self.signal_variance)[:, None], shape[:2])
        kernels = (offsets, self.lengthscales, log_factors, given.cov)
        expected, slopes = expected_kernels(*kernels)
        weighted = self.weights * expected
        mean = weighted.sum(1)
        gain = jnp.einsum("en,end->ed", weighted, slopes)

        # Expectations of products, once for every unordered pair of outputs.
        a, b = np.triu_indices(outputs)
        # Summing one axis at a time keeps the compiler on its fast path.
        second = (self._pair_weights(a, b) * expected_products(*kernels, a, b)).sum(2).sum(1)
        upper = jnp.zeros((outputs, outputs), second.dtype).at[a, b].set(second)
        full = upper + upper.T - jnp.diag(jnp.diagonal(upper))
        cov = full - mean[:, None] * mean[None, :] + jnp.diag(self.spare)
        return Moments(mean, cov, gain.T)

    def _pair_weights(self, a: np.ndarray, b: np.ndarray) -> Float[Array, "Q N N"]:
        own = jnp.asarray(a == b, self.weights.dtype)[:, None, None] * self.reductions[a]
        return self.weights[a][:, :, None] * self.weights[b][:, None, :] - own
