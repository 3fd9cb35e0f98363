"""Methods with a share of their steps, for a first look at several starts."""

from dataclasses import replace
from functools import singledispatch
from typing import Any

from gpssm.fitting import AbstractMethod, Then
from gpssm.methods._polished import Polished
from gpssm.methods._variational import Variational

COUNTS = ("steps", "iterations")
"""What optimisers call the number of their steps."""


@singledispatch
def shortened(method: AbstractMethod, share: float) -> AbstractMethod | None:
    """The method with this share of its steps; None where it has none to save. Methods of your own register here."""
    return None


@shortened.register
def _(method: Variational, share: float) -> Variational | None:
    counts = _fewer(method.optimiser, share)
    return replace(method, optimiser=replace(method.optimiser, **counts), distil=0) if counts else None


@shortened.register
def _(method: Polished, share: float) -> Polished:
    # A network to read new records with, and other seeds, are for the model that is kept.
    return replace(method, **_fewer(method, share), network_steps=0, tries=1)


@shortened.register
def _(method: Then, share: float) -> Then | None:
    first, second = shortened(method.first, share), shortened(method.second, share)
    return None if first is None and second is None else Then(first or method.first, second or method.second)


def _fewer(settings: Any, share: float) -> dict[str, int]:
    """Whole numbers of steps, at least one where there was one."""
    known = {name: getattr(settings, name) for name in COUNTS if isinstance(getattr(settings, name, None), int)}
    return {name: max(min(count, 1), round(share * count)) for name, count in known.items()}
