"""What every result has to be compared with: the simple methods, and the true system."""

from gpssm.baselines._truth import TrueSimulator
from gpssm.methods import ARX, GPNARX, Constant, Linear, PreviousEpisode

__all__ = ["ARX", "GPNARX", "Constant", "Linear", "PreviousEpisode", "TrueSimulator"]
