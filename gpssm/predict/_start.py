"""Where a simulation starts: how the state is read off the first samples."""

import equinox as eqx

from gpssm.predict._estimators import UKF, AbstractEstimator


class AbstractStart(eqx.Module):
    """A way to get the distribution of the last state of a short record."""


class Filtered(AbstractStart):
    """By a filter on the learnt model. The default: the model itself says what the samples tell about the state."""

    estimator: AbstractEstimator = UKF()


class Recognised(AbstractStart):
    """By the recognition network, as in the paper. It has been trained on whole episodes and reads short ones less
    well."""
