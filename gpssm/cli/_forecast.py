"""`gpssm forecast`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gpssm._core._activity import doing
from gpssm.cli._options import Config, Draws, Json, Model, Out, positive
from gpssm.cli._outcome import Outcome, UsageError, side
from gpssm.cli._progress import shown
from gpssm.cli._reading import Reading
from gpssm.cli._targets import check_target


def forecast(
    model: Model,
    *,
    output: Out,
    data: Annotated[Path, Parameter(help="The record whose end is the present: inputs and outputs.")],
    inputs: Annotated[Path | None, Parameter(help="File with the inputs to come, one row per step.")] = None,
    steps: Annotated[int | None, Parameter(help="How many steps, for a model without inputs.")] = None,
    draws: Draws = Draws(),
    reading: Reading = Reading(),
    config: Config = None,
    json: Json = False,
) -> Outcome:
    """Go on beyond the end of a record, under inputs that are known or planned.

    Written are mean, standard deviation and quantiles of each output, by default the median and a 95 % band. Steps are
    counted on from the record: the first row is the step after its last one.

    For example:

    ```
    gpssm forecast model.gpssm --data run2.csv --inputs future.csv -o forecast.csv
    ```
    """
    draws.check()
    check_target(output, [model, data, *([] if inputs is None else [inputs])])
    if (inputs is None) == (steps is None):
        raise UsageError("give either --inputs FILE with the inputs to come or, for a model without inputs, --steps N")
    if steps is not None:
        positive(steps, "--steps")
    with doing("forecasting"), shown(side(json=json)):
        from gpssm.cli._predictions import opened, prediction_columns, without_inputs, written
        from gpssm.cli._records import records_of

        system = opened(model)
        without_inputs(system, steps)
        records = records_of([(str(model), system)], reading, json=json)
        episode = records.read_one(data)
        future, remark = (None, "") if inputs is None else records.future(inputs)
        count = max(200, draws.samples)
        rollout = system.forecast(episode, inputs=future, steps=steps, num_samples=count, seed=draws.seed)
        columns = prediction_columns(rollout, draws, records.recipe)
        note = f"It goes on from the end of {episode.name}.{remark}"
        parts = [(episode.name, columns)]
    return written(output, parts, note=note, json=json, model=model, overrides=records.remarks)
