"""A model whose inducing values are in the coordinates in which their prior is standard normal."""

import numpy as np

from gpssm.data import DataError
from gpssm.inference.marginal import with_posterior
from gpssm.models import GPSSM, SparseGP


def with_gp(model: GPSSM) -> GPSSM:
    """The model with its q(v) in whitened coordinates; one without a GP is refused."""
    if not isinstance(model.transition, SparseGP):
        raise DataError(
            f"this method integrates over a GP, and the earlier model has a {type(model.transition).__name__}"
        )
    if model.transition.whitened:
        return model
    now = model.transition.condition()
    covariance = np.zeros((now.q_mean.size, now.q_mean.size))
    for d, chol in enumerate(np.asarray(now.q_chol)):
        block = slice(d * len(chol), (d + 1) * len(chol))
        covariance[block, block] = chol @ chol.T
    return with_posterior(model, now.q_mean, covariance)
