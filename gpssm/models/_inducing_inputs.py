"""Where inducing inputs are placed: among the points that the system has visited."""

import numpy as np
from jaxtyping import Float


def place_inducing_inputs(points: Float[np.ndarray, "N Q"], count: int, *, seed: int) -> Float[np.ndarray, "M Q"]:
    """Inducing inputs: cluster centres of the points, or an even grid over their range in one dimension."""
    if points.shape[1] == 1:
        return np.linspace(points.min(), points.max(), count)[:, None]
    rng = np.random.default_rng(seed)
    distinct = np.unique(points, axis=0)
    if len(distinct) <= count:
        extra = distinct[rng.integers(len(distinct), size=count - len(distinct))]
        return np.concatenate([distinct, extra + 0.05 * rng.standard_normal(extra.shape)])
    # Brings a fifth of SciPy, for GPs only.
    from scipy.cluster.vq import kmeans2

    centres, labels = kmeans2(distinct, count, minit="++", rng=rng, missing="warn")
    empty = np.bincount(labels, minlength=count) == 0
    centres[empty] = distinct[rng.choice(len(distinct), empty.sum(), replace=False)]
    return centres
