"""`gpssm simulate`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gpssm.cli._options import Config, CsvOptions, Json, Model, Names, Out, positive
from gpssm.cli._outcome import Outcome, UsageError
from gpssm.cli._targets import check_target, parse_quantiles


def simulate(
    model: Model,
    *,
    output: Out,
    inputs: Annotated[Path | None, Parameter(help="File with the input columns, and outputs to start from.")] = None,
    steps: Annotated[int | None, Parameter(help="How many steps, for a model without inputs.")] = None,
    init: Annotated[
        int | None,
        Parameter(help="First rows whose outputs tell where to start. By default up to 20, if there are any."),
    ] = None,
    time: Annotated[str | None, Parameter(help="Column of time stamps, to be checked.")] = None,
    samples: Annotated[int, Parameter(help="Sampled trajectories to write beside the moments.")] = 0,
    quantiles: Annotated[Names, Parameter(help="Levels, by default 0.025,0.5,0.975.")] = None,
    seed: Annotated[int, Parameter(help="Seed of the random numbers.")] = 0,
    text: CsvOptions = CsvOptions(),
    config: Config = None,
    json: Json = False,
) -> Outcome:
    """Free run of a model under given inputs: it sees no outputs but the first few.

    The file holds the input columns under the names the model knows. If it also holds the outputs, its first rows (up
    to a quarter of them) tell the state to start from, and the table begins after them; if not, the run starts from
    what the model thinks typical, which is vague. Written are mean, standard deviation and quantiles of each output.

    For example:

    ```
    gpssm simulate model.gpssm --inputs test.csv --init 10 -o simulated.csv
    ```
    """
    levels = parse_quantiles(quantiles)
    check_target(output, [model, *([] if inputs is None else [inputs])])
    if samples < 0:
        raise UsageError(f"--samples is {samples}; it must not be negative")
    if (inputs is None) == (steps is None):
        raise UsageError("give either --inputs FILE or, for a model without inputs, --steps N")
    for value, flag in ((init, "--init"), (steps, "--steps")):
        if value is not None:
            positive(value, flag)
    from gpssm.cli._run_simulate import run_simulate

    return run_simulate(model, output, inputs, steps, init, time, levels, samples, seed, text, json)
