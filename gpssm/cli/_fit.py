"""`gpssm fit`."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from gpssm.cli._distributed import Distribution, hold_lifeline, watch_over
from gpssm.cli._folder import prepare_folder, remove_if_empty
from gpssm.cli._holdout import split
from gpssm.cli._options import Columns, Config, CsvOptions, Json, Out, positive
from gpssm.cli._outcome import Outcome, UsageError
from gpssm.cli._targets import check_target
from gpssm.readers import examine

MAX_STATES = 50


def fit(
    *files: Path,
    output: Out,
    columns: Columns = Columns(),
    text: CsvOptions = CsvOptions(),
    states: Annotated[
        str | None,
        Parameter(help="Hidden states: 2, or 1:6 to choose by held-out score. By default one more than outputs."),
    ] = None,
    kernel: Annotated[
        str, Parameter(help="rbf, matern12, matern32, matern52, rq, linear, arccosine, joined by + and *.")
    ] = "rbf",
    inducing: Annotated[int, Parameter(help="Inducing points: more describe wilder dynamics, at a cost.")] = 50,
    hidden: Annotated[int, Parameter(help="Size of the network that reads states off outputs.")] = 32,
    steps: Annotated[int, Parameter(help="Steps of training.")] = 800,
    polish: Annotated[int, Parameter(help="Iterations of the polishing that follows; 0 leaves it out.")] = 150,
    network: Annotated[int, Parameter(help="Steps in which the network follows the polished model; 0 drops it.")] = 400,
    seed: Annotated[int, Parameter(help="Same seed, same data, same versions: same model.")] = 0,
    holdout: Annotated[
        float | None,
        Parameter(
            help="Kept aside to judge by: a share of each record's end, or a number of records; 0 is none. By default "
            "a fifth: of five and more records whole ones, else the end of each that is long enough."
        ),
    ] = None,
    tries: Annotated[
        int, Parameter(help="Up to this many seeds are tried while the model is poor on the held-out part.")
    ] = 3,
    report: Annotated[
        bool, Parameter(help="Write a page beside the model that judges it on the held-out part.")
    ] = True,
    resume: Annotated[bool, Parameter(negative=(), help="Go on with a fit that was interrupted.")] = False,
    distribution: Distribution = Distribution(),
    config: Config = None,
    json: Json = False,
) -> Outcome | None:
    """Learn a model from records and save it.

    Each file is one record; lengths may differ, and empty cells in outputs are missing samples. The end of each record
    is kept aside to judge the model by. Ctrl-C saves what there is; the same command with --resume goes on.

    Settings come from flags, else from variables such as GPSSM_FIT_STATES, else from the table [fit] of the TOML file
    after --config.

    To share many or long records among processes or hosts, start the same command in each with --distributed,
    --coordinator, --processes and --process.

    For example:

    ```
    gpssm fit run1.csv run2.csv --outputs angle --inputs torque --dt 0.1 -o model.gpssm
    gpssm fit data/*.csv --outputs y --inputs u --time t --states 1:4 --kernel rbf+matern12 -o model.gpssm
    ```
    """
    choices = parse_states(states)
    for value, flag in ((inducing, "--inducing"), (hidden, "--hidden"), (steps, "--steps"), (tries, "--tries")):
        positive(value, flag)
    for value, flag in ((polish, "--polish"), (network, "--network"), (seed, "--seed")):
        if value < 0:
            raise UsageError(f"{flag} is {value}; it must not be negative")
    distribution.check()
    if distribution.distributed and not hold_lifeline():
        watch_over(sys.argv[1:])
    if distribution.leads:
        check_target(output, files)
    episodes = columns.read(files, text)
    examine(episodes).require_fit_for_learning(", ".join(str(file) for file in files[:3]))
    train, held_out = split(episodes, holdout)
    if choices is None:
        choices = range(episodes.num_outputs + 1, episodes.num_outputs + 2)
    if len(choices) > 1 and held_out is None:
        raise UsageError("--states with a range needs held-out data to choose by; leave --holdout 0 out")
    folder = output.with_name(output.name + ".checkpoints")
    if distribution.leads:
        prepare_folder(folder, resume)
    try:
        with distribution.meet() as devices:
            # Only now: JAX takes a second to import, and complaints should not. Processes have to meet before that.
            from gpssm.cli._run_fit import run_fit
            from gpssm.cli._train import Recipe

            recipe = Recipe(kernel, inducing, hidden, steps, polish, network, seed)
            settings: dict[str, Any] = {"files": [str(file) for file in files], "holdout": holdout, **vars(recipe)}
            return run_fit(
                train,
                held_out,
                choices,
                recipe,
                output,
                settings=settings,
                tries=tries,
                report=report,
                folder=folder,
                devices=devices,
                again=_again(files),
                json=json,
            )
    finally:
        if distribution.leads:
            remove_if_empty(folder)


def parse_states(words: str | None) -> range | None:
    """`2` or `1:6`, both ends included."""
    if words is None:
        return None
    low, colon, high = words.partition(":")
    try:
        first = int(low)
        last = int(high) if colon else first
    except ValueError:
        raise UsageError(f"--states is {words!r}; write a number such as 2, or a range such as 1:6") from None
    if not 1 <= first <= last <= MAX_STATES:
        raise UsageError(f"--states is {words!r}; write numbers from 1 to {MAX_STATES}, the smaller first, as in 1:6")
    return range(first, last + 1)


def _again(files: tuple[Path, ...]) -> str:
    words = sys.argv[1:] if sys.argv[1:2] == ["fit"] else ["fit", *map(str, files), "..."]
    return "gpssm " + " ".join(shlex.quote(word) if word != "..." else word for word in words)
