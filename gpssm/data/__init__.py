"""Recorded data: episodes, their padded form for traced code, and the scaling of their channels."""

from typing import TYPE_CHECKING

from ._episode import Episode as Episode
from ._episodes import Episodes as Episodes
from ._errors import DataError as DataError
from ._scaler import Scaler as Scaler

if TYPE_CHECKING:
    from ._padded import Padded as Padded


def __getattr__(name: str) -> object:
    """`Padded` is imported when it is asked for: it is the only part of this package that needs JAX."""
    if name == "Padded":
        from ._padded import Padded

        return Padded
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), "Padded"]
