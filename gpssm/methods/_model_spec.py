"""A model as settings, from which data make the model that training starts from."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import DTypeLike, PRNGKeyArray

from gpssm._core._precision import Portable, double_precision
from gpssm.fitting import Prepared
from gpssm.kernels._abstract import AbstractKernel
from gpssm.models import GPSSM, AbstractEmission, AbstractMean, LinearMean


class AbstractMeanFromData(eqx.Module):
    """A rule that makes a mean function from the data."""

    @abstractmethod
    def build(self, data: Prepared, states: int) -> AbstractMean:
        """The mean function of a transition with so many states."""


class SubspaceMean(AbstractMeanFromData):
    """The linear map that the first states show; the GP then models what a linear system misses."""

    @double_precision
    def build(self, data: Prepared, states: int) -> LinearMean:
        """Least squares with a slight ridge."""
        guess = data.states(states)
        ones = [np.ones((len(x) - 1, 1)) for x in guess]
        rows = np.concatenate(
            [
                np.concatenate([x[:-1], e.u[:-1], one], axis=1)
                for x, e, one in zip(guess, data.scaled, ones, strict=True)
            ]
        )
        following = np.concatenate([x[1:] for x in guess])
        found = np.linalg.solve(rows.T @ rows + 1e-6 * len(rows) * np.eye(rows.shape[1]), rows.T @ following)
        return LinearMean(jnp.asarray(found[:states].T), jnp.asarray(found[states:-1].T), jnp.asarray(found[-1]))


class ModelSpec(eqx.Module, Portable):
    """A GPSSM whose first numbers come from the data: outputs are the first states, inducing inputs lie where the
    system has been."""

    states: int
    kernel: AbstractKernel | Sequence[AbstractKernel] | str | None = None
    """One for all states, one for each, or words such as "rbf+matern12". None: an RBF with a length-scale for each
    state and input."""
    num_inducing: int = 50
    """More describe wilder dynamics, at a cost."""
    mean: AbstractMean | AbstractMeanFromData | None = None
    """What the system is believed to do before the GP says otherwise. None: the state stays where it is."""
    emission: AbstractEmission | None = None
    """None: outputs are the first states, with Gaussian noise."""
    learn_emission: bool = False
    process_variance: float = 0.01
    """First variance of the process noise, in units of the scaled outputs."""
    noise_variance: float = 0.01
    """First variance of the measurement noise, in units of the scaled outputs."""
    tied_noise: bool = False
    """One process noise for all states."""
    whitened: bool = True

    def __check_init__(self) -> None:
        if self.states < 1:
            raise ValueError(f"states={self.states}: a state-space model needs at least one state")
        if self.num_inducing < 1:
            raise ValueError(f"num_inducing={self.num_inducing}: need at least one inducing point")

    def build(self, data: Prepared, *, dtype: DTypeLike = np.float64, key: PRNGKeyArray) -> GPSSM:
        """The model that training starts from."""
        mean: Any = self.mean
        if isinstance(mean, AbstractMeanFromData):
            mean = mean.build(data, self.states)
        return GPSSM.from_data(
            data.episodes,
            state_dim=self.states,
            kernel=self.kernel,
            num_inducing=self.num_inducing,
            process_variance=self.process_variance,
            noise_variance=self.noise_variance,
            tied_noise=self.tied_noise,
            whitened=self.whitened,
            mean=mean,
            learn_emission=self.learn_emission,
            emission=self.emission,
            scaler=data.scaler,
            scaled=data.scaled,
            guess=data.states(self.states),
            dtype=dtype,
            key=key,
        )
