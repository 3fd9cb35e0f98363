"""`gpssm smooth`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gpssm.cli._options import Config, CsvOptions, Json, Model, Out
from gpssm.cli._outcome import Outcome
from gpssm.cli._targets import check_target


def smooth(
    model: Model,
    *,
    output: Out,
    data: Annotated[list[Path], Parameter(negative=(), help="Record to read; repeat the flag for several.")],
    time: Annotated[str | None, Parameter(help="Column of time stamps, to be checked.")] = None,
    episode: Annotated[str | None, Parameter(help="Column that tells several records in one file apart.")] = None,
    text: CsvOptions = CsvOptions(),
    config: Config = None,
    json: Json = False,
) -> Outcome:
    """Estimate the hidden states of a record from all of it, and the outputs without noise and without gaps.

    For example:

    ```
    gpssm smooth model.gpssm --data run1.csv -o states.csv
    ```
    """
    check_target(output, [model, *data])
    from gpssm.cli._predictions import opened, records, state_columns, with_states, written

    system = with_states(opened(model), model, "there is nothing to estimate: smooth needs a state-space model")
    episodes = records(system, data, text, time=time, episode=episode)
    parts = [(record.name, state_columns(system.smooth(record), system.output_names, system.dt)) for record in episodes]
    return written(output, parts, note="States are in the model's own units.", json=json, model=model)
