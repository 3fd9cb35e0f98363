"""One page that shows whether a model can be trusted, where, and what to try next; for every model that predicts.

`report` judges a model on held-out records and writes the page; `compare` judges several models on the same records.
`build` makes the evidence alone: free runs and predictions, residual tests, calibration, and a verdict in words.
`write` turns a `Report` or a `Comparison` into one HTML file that needs no network.
"""

from gpssm.reporting._compare import Comparison, Entry, compare
from gpssm.reporting._finding import Direction, Finding, Grade
from gpssm.reporting._report import Report, build
from gpssm.reporting._residuals import ResidualTests
from gpssm.reporting._verdict import Verdict
from gpssm.reporting._write import report, write

__all__ = [
    "Comparison",
    "Direction",
    "Entry",
    "Finding",
    "Grade",
    "Report",
    "ResidualTests",
    "Verdict",
    "build",
    "compare",
    "report",
    "write",
]
