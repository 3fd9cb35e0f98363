"""The evidence as one file."""

import os
from pathlib import Path

from gpssm.files._atomic import write_atomically
from gpssm.reporting._compare import Comparison
from gpssm.reporting._comparison_page import comparison_page
from gpssm.reporting._page import report_page
from gpssm.reporting._report import Report


def write(report: Report | Comparison, path: str | os.PathLike[str]) -> Path:
    """Write one self-contained HTML file that needs no network, and return its path.

    The file appears whole or not at all: an interrupted call leaves an earlier one as it was.
    """
    page = comparison_page(report) if isinstance(report, Comparison) else report_page(report)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, page.encode())
    return target
