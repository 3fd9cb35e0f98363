"""How a fit ended."""

import enum


class Result(enum.Enum):
    """The way a fit ended; the value is a sentence for people."""

    finished = "all steps were made"
    plateau = "the bound stopped rising"
    converged = "the optimiser converged"
    interrupted = "interrupted; the last good state was kept"
    diverged = "the bound became infinite or NaN again and again; the last good state was kept"

    @property
    def good(self) -> bool:
        """Whether the fit ended as planned."""
        return self not in (Result.diverged, Result.interrupted)


class FitError(RuntimeError):
    """Raised for a fit that ended badly, if the caller asked for it."""
