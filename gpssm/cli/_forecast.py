"""`gpssm forecast`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gpssm.cli._options import Config, CsvOptions, Json, Model, Names, Out, positive
from gpssm.cli._outcome import Outcome, UsageError
from gpssm.cli._targets import check_target, parse_quantiles


def forecast(
    model: Model,
    *,
    output: Out,
    data: Annotated[Path, Parameter(help="The record whose end is the present: inputs and outputs.")],
    inputs: Annotated[Path | None, Parameter(help="File with the inputs to come, one row per step.")] = None,
    steps: Annotated[int | None, Parameter(help="How many steps, for a model without inputs.")] = None,
    time: Annotated[str | None, Parameter(help="Column of time stamps in the record, to be checked.")] = None,
    samples: Annotated[int, Parameter(help="Sampled trajectories to write beside the moments.")] = 0,
    quantiles: Annotated[Names, Parameter(help="Levels, by default 0.025,0.5,0.975.")] = None,
    seed: Annotated[int, Parameter(help="Seed of the random numbers.")] = 0,
    text: CsvOptions = CsvOptions(),
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
    levels = parse_quantiles(quantiles)
    check_target(output, [model, data, *([] if inputs is None else [inputs])])
    if samples < 0:
        raise UsageError(f"--samples is {samples}; it must not be negative")
    if (inputs is None) == (steps is None):
        raise UsageError("give either --inputs FILE with the inputs to come or, for a model without inputs, --steps N")
    if steps is not None:
        positive(steps, "--steps")
    import jax.random as jr

    from gpssm.cli._files import prediction_columns
    from gpssm.cli._predictions import opened, records, written
    from gpssm.readers import read_inputs

    system = opened(model)
    if steps is not None and system.input_names:
        raise UsageError(f"this model has inputs ({', '.join(system.input_names)}); give them with --inputs FILE")
    (episode,) = records(system, [data], text, time=time, episode=None)
    future = None if inputs is None else read_inputs(inputs, inputs=system.input_names, style=text.style)
    rollout = system.forecast(episode, inputs=future, steps=steps, num_samples=max(200, samples), key=jr.key(seed))
    columns = prediction_columns(rollout, levels, samples)
    return written(output, [(str(data), columns)], note=f"It goes on from the end of {data}.", json=json, model=model)
