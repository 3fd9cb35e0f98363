"""A first model around a linear system: that system is its mean function, and the GP is what it misses."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import DTypeLike, PRNGKeyArray

from gpssm._core._params import cast
from gpssm._core._precision import Portable, double_precision
from gpssm._core._random import seed_of
from gpssm.fitting import Prepared
from gpssm.kernels._abstract import AbstractKernel
from gpssm.kernels._rbf import rbf
from gpssm.methods.output_error._start import STARTS
from gpssm.models import GPSSM, AbstractEmission, LinearGaussian, SparseGP, StableMean
from gpssm.models._inducing_inputs import place_inducing_inputs


class AroundLinear(eqx.Module, Portable):
    """Settings of a model that begins as a linear system and learns what that misses: of several linear systems that
    regressions give, the one whose own free run over the records is closest.

    States are those of the linear system, all hidden, in coordinates in which they have unit variance; every output is
    read off all of them. The linear part stays stable however it is trained, and the GP is bounded, so that free runs
    are bounded however long. What a free run over hundreds of steps needs is there before training begins, where a
    model that begins with outputs as states has to find it in single steps.
    """

    states: int | tuple[int, ...]
    """Several to choose from, by a method that can: `Marginal` watches the free runs of each."""
    kernel: AbstractKernel | None = None
    """One of your own is taken as it is."""
    num_inducing: int = 30
    lengthscale: float = 2.0
    """First length-scales, in standard deviations of the states and inputs visited."""
    amplitude: float = 0.1
    """First standard deviation of the GP, in those of the states."""
    process_variance: float = 0.01
    """First variance of the process noise, in variances of the states."""
    emission: type[AbstractEmission] = eqx.field(default=LinearGaussian, static=True)
    """`LinearGaussian`, or `Magnitude` for sensors that show magnitudes, zero being zero in the user's units."""

    def __check_init__(self) -> None:
        if not self.choices or min(self.choices) < 1:
            raise ValueError(f"states={self.states}: a state-space model needs at least one state")
        if self.num_inducing < 1:
            raise ValueError(f"num_inducing={self.num_inducing}: need at least one inducing point")
        for name in ("lengthscale", "amplitude", "process_variance"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name}={getattr(self, name)}: must be positive")
        if self.emission not in STARTS:
            known = ", ".join(emission.__name__ for emission in STARTS)
            raise ValueError(f"emission={self.emission.__name__}: linear systems are found for {known}")

    @property
    def choices(self) -> tuple[int, ...]:
        """Numbers of states."""
        return (self.states,) if isinstance(self.states, int) else tuple(self.states)

    @double_precision
    def build(self, data: Prepared, *, dtype: DTypeLike = np.float64, key: PRNGKeyArray) -> GPSSM:
        """The model that training starts from, with the first number of states."""
        states = self.choices[0]
        start = STARTS[self.emission](data.scaled, data.scaler, states)
        system = start.system
        points = np.concatenate(
            [np.concatenate([x, e.u], axis=1) for x, e in zip(start.states, data.scaled, strict=True)]
        )
        inducing = place_inducing_inputs(points, self.num_inducing, seed=seed_of(key))
        scales = jax.device_put(self.lengthscale * np.maximum(points.std(axis=0), 1e-3))
        kernels = [rbf(scales, self.amplitude**2) if self.kernel is None else self.kernel for _ in range(states)]
        gp = SparseGP.create(
            kernels,
            jnp.asarray(inducing),
            state_dim=states,
            noise=self.process_variance,
            mean=StableMean.around(system.A, system.B, system.c),
        )
        return cast(GPSSM(gp, start.emission, states), dtype)
