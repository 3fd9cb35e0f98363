"""`gpssm compare`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from gpssm._core._activity import doing
from gpssm.cli._options import Config, Json, not_negative, positive
from gpssm.cli._outcome import Outcome, UsageError, screen, side, tell, visible
from gpssm.cli._progress import shown
from gpssm.cli._reading import Reading

if TYPE_CHECKING:
    from gpssm.evaluate import Score


def compare(
    *models: Path,
    data: Annotated[list[Path], Parameter(negative=(), help="Records the models have not seen; repeat for several.")],
    horizons: Annotated[str, Parameter(help="Steps ahead to score, separated by commas.")] = "1,5,20",
    init: Annotated[int | None, Parameter(help="First rows whose outputs tell a free run where to start.")] = None,
    seed: Annotated[int, Parameter(help="Seed of the random numbers.")] = 0,
    reading: Reading = Reading(),
    config: Config = None,
    json: Json = False,
) -> Outcome:
    """Score models on records they have not seen: RMSE, fit %, log density and coverage, of free runs and by horizon.

    fit % is 100 for a perfect prediction and 0 for one as good as the average of the outputs. Coverage is the share of
    samples inside the 95 % band: 95 % is honest, less is overconfident. A higher log density is better. All free runs
    start from the same first rows. The numbers are those that gpssm report shows.

    For example:

    ```
    gpssm compare small.gpssm large.gpssm --data test.csv --horizons 1,10,50
    ```
    """
    if not models:
        raise UsageError("no model is named; name at least one, as in gpssm compare a.gpssm b.gpssm --data test.csv")
    steps = _horizons(horizons)
    if init is not None:
        positive(init, "--init")
    not_negative(seed, "--seed")
    with doing("starting"), shown(side(json=json)):
        with doing("starting JAX"):
            from gpssm import reporting
            from gpssm.cli._predictions import opened
            from gpssm.cli._records import records_of
        with doing("reading"):
            systems = [(str(path), opened(path)) for path in models]
            # All models see the same records.
            records = records_of(systems, reading, json=json)
            episodes = records.read(data)
        compared = reporting.compare(systems, episodes, n_init=init, horizons=steps, seed=seed)
    scores = {entry.name: entry.scores for entry in compared.entries}
    facts = [_facts(name, scores[name], steps) for name, _ in systems]
    _show(facts, json)
    tell(screen(json=json), compared.headline)
    said = {"n_init": compared.n_init, "verdict": compared.headline, "overrides": list(records.remarks)}
    return Outcome({"scores": facts, **said})


def _facts(name: str, scores: "Sequence[Score]", steps: tuple[int, ...]) -> dict[str, Any]:
    *ahead, free = scores
    horizons = {str(score.horizon): score.facts() for score in ahead if score.horizon in steps}
    return {"model": name, "free_run": free.facts(), "horizons": horizons}


def _horizons(words: str) -> tuple[int, ...]:
    try:
        steps = tuple(int(word) for word in words.split(","))
    except ValueError:
        raise UsageError(f"--horizons is {words!r}; write whole numbers separated by commas, as in 1,5,20") from None
    for step in steps:
        positive(step, "--horizons")
    return steps


def _show(facts: list[dict[str, Any]], json: bool) -> None:
    table = Table("model", "prediction", "RMSE", "fit %", "log density", "in 95 % band")
    for entry in facts:
        rows = [("free run", entry["free_run"])]
        rows += [(f"{step} step{'s' if step != '1' else ''} ahead", s) for step, s in entry["horizons"].items()]
        for i, (what, s) in enumerate(rows):
            numbers = (f"{s['rmse']:.4g}", f"{s['fit_percent']:.1f}", f"{s['log_density']:.3f}")
            table.add_row(visible(entry["model"]) if i == 0 else "", what, *numbers, f"{100 * s['coverage95']:.1f} %")
        table.add_section()
    screen(json=json).print(table)
