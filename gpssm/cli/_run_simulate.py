"""The work behind `gpssm simulate`."""

from pathlib import Path

import jax.random as jr
import numpy as np

from gpssm.cli._files import prediction_columns
from gpssm.cli._holdout import warm_up
from gpssm.cli._options import CsvOptions
from gpssm.cli._outcome import Outcome, UsageError
from gpssm.cli._predictions import opened, records, written
from gpssm.data import DataError
from gpssm.predict import Rollout, System
from gpssm.readers import read_inputs
from gpssm.readers._read import column_names

ROWS = 200
"""Trajectories, unless more are to be written."""


def run_simulate(
    model: Path,
    output: Path,
    inputs: Path | None,
    steps: int | None,
    init: int | None,
    time: str | None,
    levels: tuple[float, ...],
    samples: int,
    seed: int,
    text: CsvOptions,
    json: bool,
) -> Outcome:
    """Simulate and write."""
    system = opened(model)
    if steps is not None and system.input_names:
        raise UsageError(f"this model has inputs ({', '.join(system.input_names)}); give them with --inputs FILE")
    count = max(ROWS, samples)
    if inputs is None or not _has_outputs(system, inputs, text):
        if init is not None:
            raise DataError(
                f"{inputs or 'no file'}: --init {init} needs the output columns {', '.join(system.output_names)}; add "
                "them, or leave --init out to start from what the model thinks typical"
            )
        rollout = _from_prior(system, inputs, steps, time, count, seed, text)
        note = "Started from a typical state, since no outputs were given."
    else:
        (episode,) = records(system, [inputs], text, time=time, episode=None)
        first = warm_up(episode) if init is None else init
        rollout = system.simulate(episode, n_init=first, num_samples=count, key=jr.key(seed))
        note = f"Started from the outputs of the first {first} rows."
    columns = prediction_columns(rollout, levels, samples)
    return written(output, [(str(inputs or ""), columns)], note=note, json=json, model=model)


def _has_outputs(system: System, path: Path, text: CsvOptions) -> bool:
    names = column_names(path, text.style)
    return all(name in names for name in system.output_names)


def _from_prior(
    system: System,
    inputs: Path | None,
    steps: int | None,
    time: str | None,
    count: int,
    seed: int,
    text: CsvOptions,
) -> Rollout:
    future = None if inputs is None else read_inputs(inputs, inputs=system.input_names, time=time, style=text.style)
    states = system.model.state_dim
    return system.simulate_from(
        np.zeros(states), chol=np.eye(states), inputs=future, steps=steps, num_samples=count, key=jr.key(seed)
    )
