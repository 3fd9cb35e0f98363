"""Steps on eight devices beside the same steps on one, told as JSON: `python -m tests.scaling.eight_devices`."""

import json
import re

import jax

jax.config.update("jax_enable_x64", True)

import jax.random as jr
import numpy as np
import optax

import gpssm
from gpssm.fitting._problem import prepare
from gpssm.inference import Collapsed, Explicit, MeanField, NaturalGradient
from gpssm.models import GPSSM, Batch
from gpssm.optimisers import LBFGS, FullBatch, Minibatches
from gpssm.optimisers._loop import start as begin
from gpssm.optimisers._step import compiled_steps
from tests.scaling.problems import episodes, numbers, start

OPTIMISER = optax.adam(1e-2)


def all_reduces(program: str) -> dict[str, int]:
    """How many there are in the program, and how many of them in the loop over steps itself."""
    blocks = re.split(r"\n(?=%|ENTRY )", program)
    counts = {block.split(maxsplit=2)[0]: len(re.findall(r"\ball-reduce(?:-start)?\(", block)) for block in blocks}
    (entry,) = [block for block in blocks if block.startswith("ENTRY")]
    bodies = re.findall(r" while\(.*body=(%[\w.\-]+)", entry)
    return {"all": sum(counts.values()), "in the loop over steps": sum(counts[body] for body in bodies)}


def compare(inference: MeanField, model: GPSSM, batches: object) -> dict[str, object]:
    """Two steps of Adam, on eight devices and on one."""
    data = Batch.of(gpssm.Scaler.from_episodes(episodes()).apply(episodes()))
    problem, state = begin(prepare((model, inference), np.float64), data, OPTIMISER, None)
    keys, kind = jr.key_data(jr.split(jr.key(5), 2)), jr.key_impl(jr.key(5))
    alone, trace, _ = compiled_steps(problem, OPTIMISER, batches, data, state, keys, kind, None)
    devices = gpssm.Devices.first(8)
    spread = devices.spread(data) if batches.is_full() else devices.copy(data)
    arguments = (OPTIMISER, batches, spread, *devices.copy((state, keys)), kind, devices)
    program = compiled_steps.lower(devices.copy(problem), *arguments).compile()
    together, shared_trace, _ = program(devices.copy(problem), *arguments)
    return {
        "all-reduces": all_reduces(program.compiled.as_text()),
        "difference": float(np.max(np.abs(numbers(together) - numbers(alone)))),
        "difference of bounds": float(np.max(np.abs(np.asarray(shared_trace.total) / np.asarray(trace.total) - 1.0))),
        "moved": float(np.max(np.abs(numbers(together.tree) - numbers(state.tree)))),
    }


def polished(devices: gpssm.Devices | None) -> np.ndarray:
    """Two iterations of L-BFGS."""
    method = gpssm.Variational(start(Collapsed(), network=False)[0], q_x=gpssm.PerStep(), optimiser=LBFGS(2))
    made = gpssm.fit(episodes(), method, devices=devices, progress=gpssm.Silent())
    assert isinstance(made.system, gpssm.System)
    return numbers((made.system.model, made.inference))


if __name__ == "__main__":
    told = {}
    for name, inducing, network, batches in (
        ("explicit", Explicit(), True, FullBatch()),
        ("collapsed", Collapsed(), False, FullBatch()),
        ("natural", NaturalGradient(0.3), False, Minibatches(5)),
    ):
        model, inference = start(inducing, network=network)
        told[name] = compare(inference, model, batches)
    told["polish"] = {"difference": float(np.max(np.abs(polished(gpssm.Devices.first(3)) - polished(None))))}
    print(json.dumps(told))
