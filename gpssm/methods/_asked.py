"""How many states or lags a method asks for, however deep it says so."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from gpssm.fitting import AbstractMethod
from gpssm.methods._around_linear import AroundLinear
from gpssm.methods._model_spec import ModelSpec
from gpssm.models import GPSSM

_NAMES = ("states", "order", "output_lags", "state_dim")


def asked_states(method: Any) -> Iterator[int]:
    """The numbers of states; of several to choose from the smallest, because the others need not be taken."""
    if isinstance(method, Mapping):
        for part in method.values():
            yield from asked_states(part)
    elif isinstance(method, list | tuple):
        for part in method:
            yield from asked_states(part)
    elif isinstance(method, AbstractMethod | AroundLinear | ModelSpec | GPSSM):
        for field in fields(method):
            value = getattr(method, field.name, None)
            if field.name in _NAMES and isinstance(value, int):
                yield value
            elif field.name in _NAMES and isinstance(value, Sequence) and value:
                yield min(number for number in value if isinstance(number, int))
            else:
                yield from asked_states(value)
