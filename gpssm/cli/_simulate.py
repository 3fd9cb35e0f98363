"""`gpssm simulate`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from gpssm._core._activity import doing
from gpssm.cli._options import Config, Draws, Json, Model, Out, positive
from gpssm.cli._outcome import Outcome, UsageError, side
from gpssm.cli._progress import shown
from gpssm.cli._reading import Reading
from gpssm.cli._targets import check_target

if TYPE_CHECKING:
    from gpssm.cli._records import Records
    from gpssm.predict import AbstractPredictor, Rollout


@Parameter(name="*")
@dataclass(frozen=True)
class Scenario:
    """What acts on the system, and where it starts."""

    inputs: Annotated[Path | None, Parameter(help="File with the input columns, and outputs to start from.")] = None
    steps: Annotated[int | None, Parameter(help="How many steps, for a model without inputs.")] = None
    init: Annotated[
        int | None,
        Parameter(help="First rows whose outputs tell where to start. By default up to 20, if there are any."),
    ] = None

    def check(self) -> None:
        """Refuse what cannot work."""
        if (self.inputs is None) == (self.steps is None):
            raise UsageError("give either --inputs FILE or, for a model without inputs, --steps N")
        for value, flag in ((self.init, "--init"), (self.steps, "--steps")):
            if value is not None:
                positive(value, flag)


def simulate(
    model: Model,
    *,
    output: Out,
    scenario: Scenario = Scenario(),
    draws: Draws = Draws(),
    reading: Reading = Reading(),
    config: Config = None,
    json: Json = False,
) -> Outcome:
    """Free run of a model under given inputs: it sees no outputs but the first few.

    The file holds the input columns under the names the model knows. If it also holds the outputs, its first rows (up
    to a fifth of them) tell the state to start from, and the table begins after them; if not, the run starts from
    what the model thinks typical, which is vague, and which only models with hidden states can. Written are mean,
    standard deviation and quantiles of each output.

    For example:

    ```
    gpssm simulate model.gpssm --inputs test.csv --init 10 -o simulated.csv
    ```
    """
    draws.check()
    check_target(output, [model, *([] if scenario.inputs is None else [scenario.inputs])])
    scenario.check()
    with doing("simulating"), shown(side(json=json)):
        from gpssm.cli._predictions import opened, prediction_columns, without_inputs, written
        from gpssm.cli._records import records_of

        system = opened(model)
        without_inputs(system, scenario.steps)
        records = records_of([(str(model), system)], reading, json=json)
        started = scenario.inputs is not None and records.holds(scenario.inputs, system.output_names)
        rollout, note = (_from_outputs if started else _from_typical)(system, model, scenario, draws, records)
        parts = [(str(scenario.inputs or ""), prediction_columns(rollout, draws, records.recipe))]
    return written(output, parts, note=note, json=json, model=model, overrides=records.remarks)


def _from_outputs(
    system: "AbstractPredictor", model: Path, scenario: Scenario, draws: Draws, records: "Records"
) -> tuple["Rollout", str]:
    from gpssm.data._holdout import context_length

    assert scenario.inputs is not None
    episode = records.read_one(scenario.inputs)
    least = system.least_context
    first = max(context_length([len(episode)]), least) if scenario.init is None else scenario.init
    if first < least:
        raise UsageError(f"--init is {first}; this model needs at least {least} rows to start from")
    rollout = system.simulate(episode, n_init=first, num_samples=max(200, draws.samples), seed=draws.seed)
    return rollout, f"Started from the outputs of the first {first} rows."


def _from_typical(
    system: "AbstractPredictor", model: Path, scenario: Scenario, draws: Draws, records: "Records"
) -> tuple["Rollout", str]:
    import numpy as np

    from gpssm.cli._predictions import with_states
    from gpssm.data import DataError

    wanted = ", ".join(system.output_names)
    if scenario.init is not None:
        raise DataError(
            f"{scenario.inputs or 'no file'}: --init {scenario.init} needs the output columns {wanted}; add them, or "
            "leave --init out to start from what the model thinks typical"
        )
    need = f"only those know a typical state to start from: give a file with the columns {wanted} for the first rows"
    stateful = with_states(system, model, need)
    future, remark = (None, "") if scenario.inputs is None else records.future(scenario.inputs)
    size = stateful.model.state_dim
    rollout = stateful.simulate_from(
        np.zeros(size),
        chol=np.eye(size),
        inputs=future,
        steps=scenario.steps,
        num_samples=max(200, draws.samples),
        seed=draws.seed,
    )
    return rollout, f"Started from a typical state, since no outputs were given.{remark}"
