"""One page that shows whether a model can be trusted, where, and what to try next.

`build` computes the evidence: free simulations and predictions of held-out records, residual tests, calibration, and a
verdict in words. `compare` does so for several models on the same records. `write` turns either into one HTML file that
needs no network.
"""

from gpssm.reporting._compare import Comparison, Entry, compare
from gpssm.reporting._finding import Finding, Grade
from gpssm.reporting._report import Report, build
from gpssm.reporting._residuals import ResidualTests
from gpssm.reporting._score import Coverage, Score
from gpssm.reporting._write import write

__all__ = [
    "Comparison",
    "Coverage",
    "Entry",
    "Finding",
    "Grade",
    "Report",
    "ResidualTests",
    "Score",
    "build",
    "compare",
    "write",
]
