"""The result of every prediction: samples and moments of the outputs over time, in the user's units."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

FEW = 39


@dataclass(frozen=True)
class Rollout:
    """Predicted outputs for the steps `start`, `start + 1`, ... of a record.

    `signals` are the outputs without measurement noise, one for each sampled trajectory; `samples` have the noise
    added and are what a sensor would show. Moments, intervals and quantiles are those of the measured outputs.
    """

    start: int
    signals: Float[np.ndarray, "S T O"]
    samples: Float[np.ndarray, "S T O"]
    states: Float[np.ndarray, "S T D"]
    """Latent states in the model's own units."""
    noise_std: Float[np.ndarray, " O"]
    output_names: tuple[str, ...]
    dt: float | None = None

    def __len__(self) -> int:
        return self.signals.shape[1]

    def shifted(self, by: Float[np.ndarray, "T O"]) -> "Rollout":
        """The same with something certain added to the outputs of each step."""
        return replace(self, signals=self.signals + by, samples=self.samples + by)

    def spread_by(self, width: float) -> "Rollout":
        """The same with all trajectories, and the noise, so many times as far from their median. States stay."""
        if width == 1.0:
            return self
        middle, parts = self.median, (self.signals, self.samples)
        # Trajectories that left all bounds stay where they are.
        with np.errstate(all="ignore"):
            moved = [middle + width * (part - middle) for part in parts]
        signals, samples = (np.where(np.isfinite(new), new, old) for new, old in zip(moved, parts, strict=True))
        return replace(self, signals=signals, samples=samples, noise_std=width * self.noise_std)

    @property
    def mean(self) -> Float[np.ndarray, "T O"]:
        """Mean of the outputs."""
        return self.signals.mean(axis=0)

    @property
    def std(self) -> Float[np.ndarray, "T O"]:
        """Standard deviation of the measured outputs: spread of the trajectories and measurement noise."""
        return np.sqrt(self.signals.var(axis=0) + self.noise_std**2)

    @property
    def median(self) -> Float[np.ndarray, "T O"]:
        """Median of the outputs. A few trajectories that leave the range of the data pull the mean with them, but not
        the median."""
        return np.median(self.signals, axis=0)

    @property
    def central_std(self) -> Float[np.ndarray, "T O"]:
        """What `std` would be if the middle two thirds of the trajectories were the middle of a Gaussian."""
        if len(self.signals) < FEW:
            return self.std
        low, high = np.quantile(self.signals, (ndtr(-1.0), ndtr(1.0)), axis=0)
        return np.sqrt((0.5 * (high - low)) ** 2 + self.noise_std**2)

    @property
    def covariance(self) -> Float[np.ndarray, "T O O"]:
        """Covariance of the measured outputs at each step."""
        deviations = self.signals - self.mean
        spread = np.einsum("sti,stj->tij", deviations, deviations) / len(deviations)
        return spread + np.diag(self.noise_std**2)

    def quantile(self, level: float) -> Float[np.ndarray, "T O"]:
        """Quantile of the measured outputs, at rank level (S + 1) of the S samples.

        A measurement is one more draw, so that intervals between such quantiles hold it with their nominal
        probability; between NumPy's default quantiles of 100 samples, a 95 % interval would hold 93 %. With fewer than
        39 samples, which cannot reach as far out, the quantile of a Gaussian with the same moments.
        """
        if len(self.samples) < FEW:
            return self.mean + ndtri(level) * self.std
        return np.quantile(self.samples, level, axis=0, method="weibull")

    def interval(self, level: float = 0.95) -> tuple[Float[np.ndarray, "T O"], Float[np.ndarray, "T O"]]:
        """Central interval that holds a measured output with probability `level`."""
        return self.quantile(0.5 * (1.0 - level)), self.quantile(0.5 * (1.0 + level))

    @property
    def time(self) -> Float[np.ndarray, " T"]:
        """Time of each step: in units of `dt` if that is known, else in samples."""
        steps = np.arange(self.start, self.start + len(self), dtype=float)
        return steps if self.dt is None else steps * self.dt


@dataclass(frozen=True)
class States:
    """Mean and covariance factor of the latent state at each step, in the model's own units, and the outputs they
    explain."""

    means: Float[np.ndarray, "T D"]
    chols: Float[np.ndarray, "T D D"]
    outputs: Float[np.ndarray, "T O"]
    """Mean of the noise-free outputs, in the user's units."""
    output_std: Float[np.ndarray, "T O"]
    """Standard deviation of the noise-free outputs."""
    log_evidence: float | None = None
    """Log-evidence of the outputs under the model in standardised units, where the method gives one."""

    @property
    def std(self) -> Float[np.ndarray, "T D"]:
        """Standard deviation of each latent state."""
        return np.sqrt((self.chols**2).sum(axis=-1))
