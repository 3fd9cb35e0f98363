"""`gpssm demo`."""

import contextlib
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gpssm.cli._options import Json
from gpssm.cli._outcome import Outcome


def demo(
    *,
    out: Annotated[Path, Parameter(help="Folder for figures and report.")] = Path("gpssm-demo"),
    json: Json = False,
) -> Outcome:
    """Identify a pendulum from built-in data, compare with runs that were held out, and draw the result.

    For example:

    ```
    gpssm demo --out my-demo
    ```
    """
    from gpssm.demo.__main__ import main

    # What the demonstration prints is for people; a machine gets the facts alone.
    with contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext():
        main(["--out", str(out)])
    return Outcome({"folder": str(out), "files": sorted(str(path) for path in out.iterdir())})
