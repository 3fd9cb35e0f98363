"""A scikit-learn estimator."""

from gpssm.sklearn._regressor import GPSSMRegressor

__all__ = ["GPSSMRegressor"]
