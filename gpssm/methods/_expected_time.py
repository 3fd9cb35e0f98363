"""How long methods are expected to take: a budget becomes a list of what is tried before anything is measured, so that
the same seed gives the same model on every machine."""

from dataclasses import dataclass
from typing import final

FIRST = {
    **{"output error": 10.0, "magnitudes": 10.0, "gp": 20.0},
    **{"most likely linear": 5.0, "marginal": 20.0, "watched": 20.0},
}
"""Seconds that compiling takes on one core, once; nothing for what is left out."""
EACH = {
    **{"linear": 0.5, "arx": 0.2, "output error": 4.0, "magnitudes": 6.0, "gp": 12.0},
    **{"most likely linear": 2.0, "marginal": 15.0, "watched": 30.0},
}
"""Seconds for each thousand steps, both fits of a method together: without the held-out stretches, and with them."""


@final
@dataclass
class Budget:
    """What is left of the time that a user has given."""

    seconds: float | None
    """None where there is no limit."""
    steps: int
    begun: frozenset[str] = frozenset()
    """Kinds of methods whose programs are compiled by now."""

    def allows(self, kind: str, *, times: float = 1.0) -> bool:
        """Take what a method is expected to need, `times` as much as usual; False if there is not so much left."""
        needed = times * EACH.get(kind, 0.0) * self.steps / 1000.0
        needed += 0.0 if kind in self.begun else FIRST.get(kind, 0.0)
        if self.seconds is not None and needed > self.seconds:
            return False
        self.seconds = None if self.seconds is None else self.seconds - needed
        self.begun |= {kind}
        return True
