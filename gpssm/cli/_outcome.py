"""What a command leaves: an exit code and facts for machines; and how it speaks to people meanwhile."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from numbers import Integral, Real
from typing import Any

from rich.console import Console
from rich.text import Text


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
    return _console(quiet=json)


def side(*, json: bool) -> Console:
    """Where progress and remarks go, beside the results."""
    return _console(stderr=True, quiet=json)


def _console(**options: Any) -> Console:
    # Names of columns and files come from users: "rate [/s]" is a unit, and neither markup nor an emoji.
    return Console(soft_wrap=True, highlight=False, markup=False, emoji=False, **options)


def tell(console: Console, text: object, *, mark: str = "", style: str = "") -> None:
    """Print text as it stands, after a coloured mark if there is one."""
    console.print(Text.assemble((mark, style), " " if mark and text else "", visible(text)))


def visible(text: object) -> str:
    """The text without control characters: a name in somebody's file must not recolour or move about the terminal."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "\ufffd" for letter in str(text))


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
