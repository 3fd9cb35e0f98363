"""A share of free runs in what marginal inference maximises."""

import equinox as eqx


class FreeRuns(eqx.Module):
    """Not the evidence alone: with a share, how likely each output is in a free run over its record.

    The evidence judges single steps. Where no model of the chosen size is right, the best one for single steps is
    another than that for long free runs: it books as process noise what it could have learnt of slow motion.
    """

    share: float = eqx.field(static=True, default=0.3)
    """Of the objective; the evidence has the rest. Zero leaves it all of it."""
    reads: int = eqx.field(static=True, default=16)
    """Steps that a run reads before it is left to itself."""

    def __check_init__(self) -> None:
        if not 0.0 <= self.share <= 1.0:
            raise ValueError(f"share={self.share}: must lie between 0 and 1")
        if self.reads < 0:
            raise ValueError(f"reads={self.reads}: must not be negative")
