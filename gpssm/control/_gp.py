"""Gaussian processes with squared-exponential kernels, and their exact moments under Gaussian inputs."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm.control._algebra import inverse_and_logdet
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
        outputs, unit = len(self.spare), jnp.eye(len(given.mean), dtype=given.mean.dtype)[None]
        offset = self.inputs - given.mean[None, :]
        inverse_scale = 1.0 / self.lengthscales
        log_signal = jnp.log(self.signal_variance)

        scaled = offset[None] * inverse_scale[:, None, :]
        inner = unit + inverse_scale[:, :, None] * given.cov[None] * inverse_scale[:, None, :]
        inverse, logdet = inverse_and_logdet(inner)
        turned = scaled @ inverse
        expected = jnp.exp((log_signal - logdet / 2.0)[:, None] - (turned * scaled).sum(2) / 2.0)
        weighted = self.weights * expected
        mean = weighted.sum(1)
        gain = inverse_scale * jnp.einsum("en,end->ed", weighted, turned)

        # Expectations of products k_a(z, x_i) k_b(z, x_j), once for every unordered pair of outputs.
        a, b = np.triu_indices(outputs)
        log_kernel = log_signal[:, None] - (scaled**2).sum(2) / 2.0
        root = jnp.sqrt(inverse_scale[a] ** 2 + inverse_scale[b] ** 2)
        inner = unit + root[:, :, None] * given.cov[None] * root[:, None, :]
        inverse, logdet = inverse_and_logdet(inner)
        middle = unit - inverse
        left = offset[None] * (inverse_scale[a] ** 2 / root)[:, None, :]
        right = offset[None] * (inverse_scale[b] ** 2 / root)[:, None, :]
        left_turned, right_turned = left @ middle, right @ middle
        left_log = log_kernel[a] + (left_turned * left).sum(2) / 2.0 - logdet[:, None] / 2.0
        right_log = log_kernel[b] + (right_turned * right).sum(2) / 2.0
        exponent = left_log[:, :, None] + right_log[:, None, :] + left_turned @ jnp.swapaxes(right, 1, 2)
        # Summing one axis at a time keeps the compiler on its fast path.
        second = (self._pair_weights(a, b) * jnp.exp(exponent)).sum(2).sum(1)
        upper = jnp.zeros((outputs, outputs), second.dtype).at[a, b].set(second)
        full = upper + upper.T - jnp.diag(jnp.diagonal(upper))
        cov = full - mean[:, None] * mean[None, :] + jnp.diag(self.spare)
        return Moments(mean, cov, gain.T)

    def _pair_weights(self, a: np.ndarray, b: np.ndarray) -> Float[Array, "Q N N"]:
        own = jnp.asarray(a == b, self.weights.dtype)[:, None, None] * self.reductions[a]
        return self.weights[a][:, :, None] * self.weights[b][:, None, :] - own
