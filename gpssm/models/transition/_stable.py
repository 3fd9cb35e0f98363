"""State matrices of stable linear systems, all of them reachable without a constraint."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
from jaxtyping import Array, Float
from scipy.linalg import solve_discrete_lyapunov

from gpssm._core._linalg import factorise, rounding_jitter
from gpssm.models.transition._mean import AbstractMean, LinearMean


class StableMatrices(eqx.Module):
    """A map from any square matrix to the matrix of a stable system; zero is mapped to the system it was made for.

    A linear system that forgets and a GP correction that is bounded can only make bounded free runs, however long. A
    stable A is a contraction, |A x| < |x|, in suitable coordinates: those in which the solution of P = A P A' + I is
    the identity. Contractions are in turn the matrices M R^-1 with R'R = I + M'M, for any M at all. A change is
    relative to (I + M'M)^1/2: far from the edge of stability A moves by as much as the change says; close to it, it
    turns by as much, but moves towards the edge or away from it in proportion to its distance.
    """

    root: Float[Array, "D D"]
    """From coordinates in which A contracts to those of the model."""
    back: Float[Array, "D D"]
    centre: Float[Array, "D D"]
    scale: Float[Array, "D D"]

    @classmethod
    def around(cls, A: Float[np.ndarray, "D D"]) -> "StableMatrices":
        """With zero at `A`, whose spectral radius must be below one."""
        eye = np.eye(len(A))
        root = np.linalg.cholesky(solve_discrete_lyapunov(A, eye))
        back = np.linalg.inv(root)
        contraction = back @ A @ root
        # M0 = A G^-T with G G' = I - A'A, from which I + M0'M0 = (G'G)^-1.
        centre = contraction @ np.linalg.inv(np.linalg.cholesky(eye - contraction.T @ contraction)).T
        scale = np.linalg.cholesky(eye + centre @ centre.T)
        return cls(*jax.device_put((root, back, centre, scale)))

    def __call__(self, change: Float[Array, "D D"]) -> Float[Array, "D D"]:
        """The state matrix."""
        moved = self.centre + self.scale @ change
        eye = jnp.eye(len(moved), dtype=moved.dtype)
        shrunk = moved @ factorise(eye + moved.T @ moved, rounding_jitter(moved.dtype)).inverse.T
        return self.root @ shrunk @ self.back


class StableMean(AbstractMean):
    """As `LinearMean`, with a state matrix that stays that of a stable system however it is trained."""

    stable: StableMatrices
    """Held: which change means which matrix."""
    change: Float[Array, "D D"]
    """Zero for the system that it was made for."""
    control_matrix: Float[Array, "D P"]
    offset: Float[Array, " D"]

    @classmethod
    def around(
        cls, A: Float[np.ndarray, "D D"], B: Float[np.ndarray, "D P"], c: Float[np.ndarray, " D"]
    ) -> "StableMean":
        """That of a system whose spectral radius is below one."""
        change, control_matrix, offset = jax.device_put((np.zeros_like(A), B, c))
        return cls(paramax.non_trainable(StableMatrices.around(A)), change, control_matrix, offset)

    def linear(self) -> LinearMean:
        """The linear map as it stands."""
        return LinearMean(paramax.unwrap(self.stable)(self.change), self.control_matrix, self.offset)

    def __call__(self, x: Float[Array, "*B D"], u: Float[Array, "*B P"]) -> Float[Array, "*B D"]:
        """The linear prediction."""
        return self.linear()(x, u)
