"""What an autoregression needs of a regression: its noise, and free runs."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from gpssm.predict._base import Request
from gpssm.predict.autoregression._lags import Lags


class AbstractRegression(eqx.Module):
    """Several outputs as functions of one point, learnt with independent noise."""

    measure: ClassVar[str] = "log-evidence"
    """What the number is that says how likely the training data are."""

    @abstractmethod
    def noise_variance(self) -> Float[Array, " O"]:
        """Variance of the noise."""

    @abstractmethod
    def trajectories(
        self,
        lags: Lags,
        outputs: Float[np.ndarray, "W K O"],
        inputs: Float[np.ndarray, "W M P"],
        controls: Float[np.ndarray, "W S P"],
        request: Request,
    ) -> tuple[Float[np.ndarray, "N W S O"], Float[np.ndarray, "N W S O"]]:
        """As many as are asked for, from each window of last outputs and inputs on: outputs without, and with, the
        noise of their own step, with which they are fed back. One function serves all windows of a sample."""
