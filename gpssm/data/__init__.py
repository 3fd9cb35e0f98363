"""Recorded data: episodes and the scaling of their channels. NumPy only."""

from gpssm.data._episode import Episode
from gpssm.data._episodes import Episodes
from gpssm.data._errors import DataError
from gpssm.data._recipe import Recipe
from gpssm.data._scaler import Scaler

__all__ = ["DataError", "Episode", "Episodes", "Recipe", "Scaler"]
