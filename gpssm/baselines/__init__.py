"""Simpler models behind the interface of an identified system: what every result has to be compared with."""

from gpssm.baselines._autoregressive import Autoregression
from gpssm.baselines._autoregressive_gp import AutoregressiveGP, AutoregressiveLinear
from gpssm.baselines._lags import Lags
from gpssm.baselines._linear_kalman import LinearKalman, kalman_evidence
from gpssm.baselines._trivial import Constant, PreviousEpisode, TrueSimulator

__all__ = [
    "Autoregression",
    "AutoregressiveGP",
    "AutoregressiveLinear",
    "Constant",
    "Lags",
    "LinearKalman",
    "PreviousEpisode",
    "TrueSimulator",
    "kalman_evidence",
]
