"""One kernel and its inducing inputs, factorised: the whitened projection that every sparse-GP formula starts from."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm._core._linalg import Factor, base_jitter, factorise, product
from gpssm.kernels import cross_covariance, diagonal
from gpssm.kernels._abstract import AbstractKernel


class Basis(eqx.Module):
    """K_zz = L L' for one kernel; `project` maps points to L^-1 K_zx, the features of the whitened inducing values."""

    kernel: AbstractKernel
    inducing: Float[Array, "M Q"]
    factor: Factor

    @classmethod
    def of(cls, kernel: AbstractKernel, inducing: Float[Array, "M Q"]) -> "Basis":
        """Factorise once; the only place where a kernel matrix is factorised."""
        matrix = cross_covariance(kernel, inducing, inducing)
        return cls(kernel, inducing, factorise(matrix, base_jitter(matrix.dtype)))

    def project(self, points: Float[Array, "N Q"]) -> tuple[Float[Array, "M N"], Float[Array, " N"]]:
        """Features B of the points, and the prior variance k_nn - |B_n|^2 that the inducing values do not explain."""
        features = product(self.factor.inverse, cross_covariance(self.kernel, self.inducing, points))
        unexplained = diagonal(self.kernel, points) - jnp.sum(features**2, axis=0)
        return features, unexplained
