"""One answer of the verdict."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final


class Grade(enum.Enum):
    """How an answer came out; the value is the word shown to people."""

    good = "yes"
    caution = "with care"
    bad = "no"
    unknown = "not tested"

    @classmethod
    def worst(cls, grades: "Sequence[Grade]") -> "Grade":
        """The one that a reader must know of."""
        order = (cls.bad, cls.caution, cls.good, cls.unknown)
        return next((grade for grade in order if grade in grades), cls.unknown)


class Direction(enum.Enum):
    """In which direction bands are off."""

    none = enum.auto()
    narrow = enum.auto()
    wide = enum.auto()
    both = enum.auto()
    """Narrow in one place and wide in another."""

    @classmethod
    def of(cls, directions: "Sequence[Direction]") -> "Direction":
        """Of several judgements together."""
        found = set(directions) - {cls.none}
        return cls.both if len(found) > 1 else next(iter(found), cls.none)


@final
@dataclass(frozen=True)
class Finding:
    """A question that an engineer would ask, the answer, the numbers behind it, and what to try if it is not yes."""

    question: str
    grade: Grade
    text: str
    advice: tuple[str, ...] = ()
    direction: Direction = Direction.none
