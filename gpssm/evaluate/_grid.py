"""Many methods from lists of settings."""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

from gpssm.fitting import AbstractMethod
from gpssm.kernels._abstract import AbstractKernel


def grid(name: str, method: Callable[..., AbstractMethod], **settings: Iterable[Any]) -> dict[str, AbstractMethod]:
    """All combinations of settings as methods, named by them: `grid("linear", Linear, order=(1, 2, 4))`.

    The last setting changes fastest, so list settings and values from simple to complex.
    """
    combinations = [dict(zip(settings, values, strict=True)) for values in product(*settings.values())]
    return {f"{name} {_describe(chosen)}".strip(): method(**chosen) for chosen in combinations}


def _describe(chosen: dict[str, Any]) -> str:
    return ", ".join(f"{key}={_short(value)}" for key, value in chosen.items())


def _short(value: Any) -> str:
    if isinstance(value, AbstractKernel):
        return type(value).__name__
    return value.__name__ if callable(value) and not isinstance(value, type) else str(value)
