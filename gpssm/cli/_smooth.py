"""`gpssm smooth`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gpssm._core._activity import doing
from gpssm.cli._options import Config, Json, Model, Out
from gpssm.cli._outcome import Outcome, side
from gpssm.cli._progress import shown
from gpssm.cli._reading import Reading
from gpssm.cli._targets import check_target


def smooth(
    model: Model,
    *,
    output: Out,
    data: Annotated[list[Path], Parameter(negative=(), help="Record to read; repeat the flag for several.")],
    reading: Reading = Reading(),
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
    with doing("smoothing"), shown(side(json=json)):
        from gpssm.cli._predictions import opened, state_columns, with_states, written
        from gpssm.cli._records import records_of

        system = with_states(opened(model), model, "there is nothing to estimate: smooth needs a state-space model")
        records = records_of([(str(model), system)], reading, json=json)
        parts = [
            (record.name, state_columns(system.smooth(record), system.output_names, system.dt, records.recipe))
            for record in records.read(data)
        ]
        note = "States are in the model's own units."
    return written(output, parts, note=note, json=json, model=model, overrides=records.remarks)
