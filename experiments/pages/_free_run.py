"""Columns of free runs over real records."""

from experiments.pages._rows import Column

COLUMNS = {
    "RMSE of the free run": Column("rmse"),
    "RMSE of the run without noise": Column("rmse_mean_run"),
    "coverage of the 95 % band": Column("coverage_95"),
    "log density": Column("log_density"),
    "seconds": Column("seconds", with_range=False),
}
