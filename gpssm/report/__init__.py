"""One page that shows whether a model can be trusted, where, and what to try next.

`build` computes the evidence: free simulations and predictions of held-out records, residual tests, calibration, and a
verdict in words. `compare` does so for several models on the same records. `write` turns either into one HTML file that
needs no network.
"""

from gpssm.report._compare import Comparison, Entry, compare
from gpssm.report._finding import Finding, Grade
from gpssm.report._report import Report, build
from gpssm.report._residuals import ResidualTests
from gpssm.report._score import Coverage, Score
from gpssm.report._write import write

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
