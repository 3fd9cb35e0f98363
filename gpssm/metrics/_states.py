"""Whether latent states carry a true signal."""

import numpy as np
from numpy.typing import ArrayLike

from gpssm.metrics._point import r2
from gpssm.metrics._scored import Values, as_columns, require_finite, scored_mask, to_array


def state_r2(true: Values, latent: Values, *, where: ArrayLike | None = None) -> float:
    """R2 of the best affine map from latent states (..., D) to a true signal (...,) or signals (..., K).

    Latent coordinates are only known up to a change of basis, so the map is fitted by least squares on the very steps
    that are scored. With several signals the values are averaged. ``where`` selects steps, shape (...,).
    """
    states = to_array(latent)
    if states.ndim < 2:
        raise ValueError(f"latent must have shape (..., D), got {states.shape}")
    steps = states.shape[:-1]
    signals = to_array(true)
    if signals.shape == steps:
        signals = signals[..., None]
    if signals.shape[:-1] != steps:
        raise ValueError(f"true has shape {to_array(true).shape}, expected {steps} or {(*steps, 'K')}")
    mask = scored_mask(where, steps)
    for name, array in (("true", signals), ("latent", states)):
        require_finite(name, array, np.broadcast_to(mask[..., None], array.shape))
    targets, features = as_columns(signals)[mask.ravel()], as_columns(states)[mask.ravel()]
    if len(features) <= features.shape[1] + 1:
        raise ValueError(
            f"{len(features)} scored steps cannot judge an affine map with {features.shape[1] + 1} numbers"
        )
    # Unit scale, because latent coordinates may differ by orders of magnitude and small ones must not count as zero.
    spread = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    design = np.column_stack([scaled, np.ones(len(features))])
    coefficients = np.linalg.lstsq(design, targets, rcond=None)[0]
    return r2(targets, design @ coefficients)
