"""`gpssm fit`."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gpssm._core._activity import doing
from gpssm._core._interrupt import Interruption
from gpssm.cli._columns import Columns
from gpssm.cli._distributed import Distribution, hold_lifeline, watch_over
from gpssm.cli._methods import METHODS, Flags, find_method
from gpssm.cli._options import Config, Json, Out, not_negative
from gpssm.cli._outcome import Outcome, UsageError, side
from gpssm.cli._progress import shown
from gpssm.cli._reading import Reading
from gpssm.cli._stop import Unfinished, answer
from gpssm.cli._targets import check_target, prepare_folder, remove_if_empty
from gpssm.data import DataError, Episodes
from gpssm.data._enough import check_enough
from gpssm.data._holdout import hold_out
from gpssm.readers import examine

MAX_STATES = 50


def fit(
    *files: Path,
    output: Out,
    columns: Columns = Columns(),
    reading: Reading = Reading(),
    method: Annotated[
        str, Parameter(help="; ".join(f"{name}: {entry.about}" for name, entry in METHODS.items()) + ".")
    ] = "auto",
    states: Annotated[
        str | None,
        Parameter(
            help="Hidden states (lags for arx and gp-narx): 2, or 1:6 to choose by free runs over parts of the "
            "training data. By default one more than outputs."
        ),
    ] = None,
    flags: Flags = Flags(),
    direct: Annotated[
        bool,
        Parameter(negative=(), help="Inputs also act on outputs of their own step: learn a direct term first."),
    ] = False,
    seed: Annotated[int, Parameter(help="Same seed, same data, same versions: same model.")] = 0,
    holdout: Annotated[
        float | None,
        Parameter(
            help="Kept aside to judge by: a share of each record's end, or a number of records; 0 is none. By default "
            "a fifth: of five and more records whole ones, else the end of each that is long enough."
        ),
    ] = None,
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
    gpssm fit run1.csv --outputs y --inputs u --dt 0.1 --method linear --states 1:6 -o linear.gpssm
    ```
    """
    choices = parse_states(states)
    entry = find_method(method, flags)
    entry = entry.with_direct() if direct else entry
    not_negative(seed, "--seed")
    distribution.check()
    if distribution.distributed and not entry.shared:
        sharing = ", ".join(name for name, other in METHODS.items() if other.shared)
        raise UsageError(f"--distributed: processes cannot share the work of --method {method}, but that of {sharing}")
    if distribution.distributed and not hold_lifeline():
        watch_over(sys.argv[1:])
    listed = columns.files(files)
    if distribution.leads:
        check_target(output, listed)
    beside = side(json=json or not distribution.leads)
    with doing("reading"), shown(beside):
        episodes = columns.read(files, reading)
    examine(episodes).require_fit_for_learning(", ".join(str(file) for file in listed[:3]))
    train, held_out = _split(episodes, holdout)
    for count in (choices or range(0))[-1:]:
        check_enough(train, count)
    folder = output.with_name(output.name + ".checkpoints")
    if distribution.leads:
        prepare_folder(folder, resume)
    unfinished = Unfinished(folder, _again(files), json)
    try:
        with Interruption(answer, give_up=unfinished.give_up) as interruption, distribution.meet() as devices:
            # Only now: JAX takes a second to import, and complaints should not. Processes have to meet before that.
            with doing("starting JAX"), shown(beside):
                from gpssm.cli._learn import Task
                from gpssm.cli._run_fit import run_fit

            task = Task(
                train=train,
                held_out=held_out,
                method=method,
                entry=entry,
                states=choices or range(episodes.num_outputs + 1, episodes.num_outputs + 2),
                asked=choices is not None,
                flags=flags,
                seed=seed,
                output=output,
                folder=folder,
                report=report,
                settings={"files": [str(file) for file in listed], "holdout": holdout, **flags.given()}
                | ({"direct": True} if direct else {}),
                unfinished=unfinished,
            )
            outcome = run_fit(task, interruption, devices=devices, json=json)
            interruption.too_late()
            return outcome
    finally:
        if distribution.leads:
            remove_if_empty(folder)


def _split(episodes: Episodes, holdout: float | None) -> tuple[Episodes, Episodes | None]:
    try:
        return hold_out(episodes, holdout)
    except DataError as error:
        if holdout is None:
            raise
        raise UsageError(f"--holdout {holdout:g}: {error}") from error


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
