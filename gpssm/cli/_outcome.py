"""What a command leaves: an exit code and facts for machines; and how it speaks to people meanwhile."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from numbers import Integral, Real
from typing import Any

from rich.console import Console


class Code(IntEnum):
    """Exit codes."""

    ok = 0
    failed = 1
    usage = 2
    bad_data = 3
    diverged = 4
    bad_file = 5
    interrupted = 6
    lost = 7


class UsageError(Exception):
    """The command was given in a way that cannot work; the message says how it can."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it found as plain numbers and words."""

    facts: dict[str, Any] = field(default_factory=dict)
    code: Code = Code.ok


def screen(*, json: bool) -> Console:
    """Where results for people go; nowhere if a machine reads."""
    return Console(quiet=json, soft_wrap=True, highlight=False)


def side(*, json: bool) -> Console:
    """Where progress and remarks go, beside the results."""
    return Console(stderr=True, quiet=json, soft_wrap=True, highlight=False)


def to_json(facts: dict[str, Any]) -> str:
    """One JSON object; numbers that JSON does not know become null."""
    return json.dumps(_plain(facts), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Iterable):
        return [_plain(entry) for entry in value]
    return str(value)
