"""One answer of the verdict."""

import enum
from dataclasses import dataclass
from typing import final


class Grade(enum.Enum):
    """How an answer came out; the value is the word shown to people."""

    good = "yes"
    caution = "with care"
    bad = "no"
    unknown = "not tested"

    @classmethod
    def worst(cls, grades: "list[Grade]") -> "Grade":
        """The one that a reader must know of."""
        order = (cls.bad, cls.caution, cls.good, cls.unknown)
        return next((grade for grade in order if grade in grades), cls.unknown)


@final
@dataclass(frozen=True)
class Finding:
    """A question that an engineer would ask, the answer, the numbers behind it, and what to try if it is not yes."""

    question: str
    grade: Grade
    text: str
    advice: tuple[str, ...] = ()


def more_structure(states: int) -> str:
    """What to try when a model misses something; one wording, so that it is said once."""
    return f"Try one state more (states={states + 1}), then more inducing points: something in the dynamics is missed."
