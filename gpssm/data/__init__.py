"""Recorded data: episodes, their padded form for traced code, and the scaling of their channels."""

from ._episode import Episode as Episode
from ._episodes import Episodes as Episodes
from ._errors import DataError as DataError
from ._padded import Padded as Padded
from ._scaler import Scaler as Scaler
