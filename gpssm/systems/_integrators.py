"""Two independent ways to integrate a system over one sampling interval."""

from dataclasses import dataclass
from typing import final

from jax import lax
from jaxtyping import Array, Float

from gpssm.systems._base import AbstractIntegrator, Derivative


@final
@dataclass(frozen=True)
class RungeKutta4(AbstractIntegrator):
    """The classical fourth-order rule with a fixed number of equal substeps: fast and exactly repeatable."""

    substeps: int = 50

    def advance(
        self, derivative: Derivative, state: Float[Array, " D"], action: Float[Array, " P"], dt: float
    ) -> Float[Array, " D"]:
        h = dt / self.substeps

        def substep(_: Array, x: Float[Array, " D"]) -> Float[Array, " D"]:
            k1 = derivative(x, action)
            k2 = derivative(x + (h / 2) * k1, action)
            k3 = derivative(x + (h / 2) * k2, action)
            k4 = derivative(x + h * k3, action)
            return x + (h / 6) * (k1 + 2 * k2 + 2 * k3 + k4)

        return lax.fori_loop(0, self.substeps, substep, state)


@final
@dataclass(frozen=True)
class Adaptive(AbstractIntegrator):
    """Diffrax's eighth-order Dormand-Prince rule with error control: slower, and a check on the fixed rule."""

    tolerance: float = 1e-12
    max_steps: int = 4096

    def advance(
        self, derivative: Derivative, state: Float[Array, " D"], action: Float[Array, " P"], dt: float
    ) -> Float[Array, " D"]:
        # Imported here because `import gpssm` must stay quick and diffrax is only needed by this class.
        import diffrax

        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, x, held: derivative(x, held)),
            diffrax.Dopri8(),
            t0=0.0,
            t1=dt,
            dt0=None,
            y0=state,
            args=action,
            stepsize_controller=diffrax.PIDController(rtol=self.tolerance, atol=self.tolerance),
            max_steps=self.max_steps,
        )
        assert solution.ys is not None
        return solution.ys[0]
