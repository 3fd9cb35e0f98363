"""The evidence as one file."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpssm._core._activity import doing
from gpssm._core._garbage import set_aside
from gpssm._core._random import AnyKey
from gpssm.evaluate import Judged
from gpssm.files._atomic import write_atomically
from gpssm.files._place import place
from gpssm.fitting import Fit
from gpssm.predict import AbstractPredictor
from gpssm.reporting._compare import Comparison
from gpssm.reporting._comparison_page import comparison_page
from gpssm.reporting._page import report_page
from gpssm.reporting._report import HORIZONS, Report, build


@set_aside()
def report(
    model: Fit | AbstractPredictor,
    held_out: Any,
    path: str | os.PathLike[str],
    *,
    training: Any = None,
    n_init: int | None = None,
    horizons: Sequence[int] = HORIZONS,
    title: str | None = None,
    settings: Mapping[str, str] | None = None,
    judged: Judged | None = None,
    quick: bool = False,
    key: AnyKey = None,
    seed: int | None = None,
) -> Report:
    """Judge a model on records that it was not trained on, write one HTML page about it, and return the evidence.

    The options are those of `gpssm.reporting.build`, which makes the evidence alone.
    """
    made = build(
        model,
        held_out,
        training=training,
        n_init=n_init,
        horizons=horizons,
        title=title,
        settings=settings,
        judged=judged,
        quick=quick,
        key=key,
        seed=seed,
    )
    write(made, path)
    return made


def write(page: Report | Comparison, path: str | os.PathLike[str]) -> Path:
    """Write one self-contained HTML file that needs no network, and return its path.

    The file appears whole or not at all: an interrupted call leaves an earlier one as it was.
    """
    with doing("writing the page"):
        text = comparison_page(page) if isinstance(page, Comparison) else report_page(page)
        target = place(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, text.encode())
    return target
