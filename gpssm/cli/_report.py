"""`gpssm report`."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from gpssm._core._activity import doing
from gpssm.cli._options import Config, Json, Model, Out, not_negative, positive
from gpssm.cli._outcome import Outcome, UsageError, screen, side, tell
from gpssm.cli._progress import shown
from gpssm.cli._reading import Reading
from gpssm.cli._targets import check_target


def report(
    model: Model,
    *others: Path,
    output: Out,
    data: Annotated[list[Path], Parameter(negative=(), help="Records the models have not seen; repeat for several.")],
    training: Annotated[
        list[Path] | None, Parameter(negative=(), help="Records the model was trained on, to compare with.")
    ] = None,
    init: Annotated[int | None, Parameter(help="First rows whose outputs tell a free run where to start.")] = None,
    quick: Annotated[
        bool, Parameter(negative=(), help="One model only: free runs and single steps, with few trajectories, at once.")
    ] = False,
    seed: Annotated[int, Parameter(help="Seed of the random numbers.")] = 0,
    reading: Reading = Reading(),
    config: Config = None,
    json: Json = False,
) -> Outcome:
    """Write one HTML page that shows whether a model can be trusted, where, and what to try next.

    With several models the page compares them on the same records. It works offline, in any browser.

    For example:

    ```
    gpssm report model.gpssm --data test.csv -o report.html
    gpssm report small.gpssm large.gpssm --data test.csv -o comparison.html
    ```
    """
    check_target(output, [model, *others, *data, *(training or [])])
    if init is not None:
        positive(init, "--init")
    not_negative(seed, "--seed")
    if quick and others:
        raise UsageError("--quick is for one model: leave it out to compare several")
    facts: dict[str, Any] = {"report": str(output)}
    said = ""
    with doing("starting"), shown(side(json=json)):
        with doing("starting JAX"):
            from gpssm import reporting
            from gpssm.cli._predictions import opened
            from gpssm.cli._records import records_of
        with doing("reading"):
            systems = [(path.stem, opened(path)) for path in (model, *others)]
            # All models see the same records.
            records = records_of(systems, reading, json=json)
            episodes = records.read(data)
            own = None if training is None else records.read(training)
        facts["overrides"] = list(records.remarks)
        if others:
            compared = reporting.compare(systems, episodes, n_init=init, seed=seed)
            reporting.write(compared, output)
            facts["verdict"] = compared.headline
        else:
            made = reporting.report(
                systems[0][1],
                episodes,
                output,
                training=own,
                n_init=init,
                quick=quick,
                title=model.stem,
                seed=seed,
            )
            facts |= {"verdict": made.verdict.headline, "free_run": made.free_run.facts()}
            said = f"Running freely: {made.free_run.sentence()}"
    out = screen(json=json)
    if said:
        tell(out, said)
    tell(out, facts["verdict"])
    tell(out, output, mark="Report:", style="green")
    return Outcome(facts)
