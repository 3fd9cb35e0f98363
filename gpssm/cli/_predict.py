"""`gpssm predict`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gpssm._core._activity import doing
from gpssm.cli._options import Config, Draws, Json, Model, Out, positive
from gpssm.cli._outcome import Outcome, side
from gpssm.cli._progress import shown
from gpssm.cli._reading import Reading
from gpssm.cli._targets import check_target


def predict(
    model: Model,
    *,
    output: Out,
    data: Annotated[list[Path], Parameter(negative=(), help="Record to predict along; repeat the flag for several.")],
    horizon: Annotated[int, Parameter(help="Steps ahead.")] = 1,
    draws: Draws = Draws(),
    reading: Reading = Reading(),
    config: Config = None,
    json: Json = False,
) -> Outcome:
    """Predict a fixed number of steps ahead, all along a record.

    Each row uses the outputs up to `horizon` steps before it, and all inputs.

    For example:

    ```
    gpssm predict model.gpssm --data test.csv --horizon 10 -o ahead.csv
    ```
    """
    draws.check()
    positive(horizon, "--horizon")
    check_target(output, [model, *data])
    with doing("predicting"), shown(side(json=json)):
        import jax.random as jr

        from gpssm.cli._predictions import opened, prediction_columns, written
        from gpssm.cli._records import records_of

        system = opened(model)
        records = records_of([(str(model), system)], reading, json=json)
        episodes = records.read(data)
        keys = jr.split(jr.key(draws.seed), len(episodes))
        parts = []
        for record, key in zip(episodes, keys, strict=True):
            rollout = system.predict(record, horizon=horizon, num_samples=max(100, draws.samples), key=key)
            parts.append((record.name, prediction_columns(rollout, draws, records.recipe)))
        note = f"Each row was predicted {horizon} steps ahead."
    return written(output, parts, note=note, json=json, model=model, overrides=records.remarks)
