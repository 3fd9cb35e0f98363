"""Mean log predictive density per scored entry (natural logarithm; larger is better)."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from gpssm.metrics._scored import Values, matched, matched_samples, scored_std


def log_density_gaussian(y: Values, mean: Values, std: Values, *, where: ArrayLike | None = None) -> float:
    """Average of log N(y | mean, std^2); std is that of the measurement, noise included."""
    measured, mask, (predicted,) = matched(y, where, mean=mean)
    deviation = scored_std(std, mask, name="std")
    return float(np.mean(_log_normal(measured[mask], predicted[mask], deviation)))


def log_density_samples(y: Values, samples: Values, noise_std: Values, *, where: ArrayLike | None = None) -> float:
    """Average over entries of the log of (1/S) sum over s of N(y | samples[s], noise_std^2).

    The samples are of the noise-free output: the measurement noise enters exactly, through the mixture, rather than by
    adding random noise to the samples, which lowers the variance of the estimate.
    """
    measured, mask, draws = matched_samples(y, samples, where)
    deviation = scored_std(noise_std, mask, name="noise_std")
    log_each = _log_normal(measured[mask], draws[:, mask], deviation)
    return float(np.mean(logsumexp(log_each, axis=0) - np.log(len(draws))))


def _log_normal(
    y: Float[np.ndarray, "..."], mean: Float[np.ndarray, "..."], std: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    return -0.5 * ((y - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2.0 * np.pi)
