"""The default call, `gpssm.fit(data)`, on real records: what it chooses, and how it runs over the half it has not seen.

Reads the records from the folder in GPSSM_DATA. Everything is chosen by the call itself, on stretches that it holds out
of the training half. The methods that it has tried, fitted without those stretches, run over the test half beside it.
"""

from functools import partial
from typing import Any

import gpssm
from experiments._data import SETS
from experiments._free_run import free_run, scores
from experiments._results import Results, arguments
from experiments.real_sets import draw, load
from gpssm.models import Magnitude

SEEDS = (0, 1)
PROTOCOL = {
    "split": "first half trains, second half tests; the tanks have records of their own",
    "call": "gpssm.fit(train, seed=seed), with nothing else said",
    "prediction": "one free run over the whole test half; its first 16 samples (tanks 5) are read and not scored",
    "candidates": "what the call has tried, fitted without the stretches that it holds out; the call itself goes on to "
    "the whole training half with what it has chosen",
    "point prediction": "the median of sampled trajectories",
    "units": "of the record",
}


def label(fit: gpssm.Fit) -> str:
    """A candidate by the name that the call's own table gives it."""
    method = fit.method
    if isinstance(method, gpssm.Subspace):
        return "linear, direct" if method.direct else "linear"
    if isinstance(method, gpssm.ARX):
        return f"arx {method.output_lags}"
    if isinstance(method, gpssm.OutputError):
        return f"output error {method.states}" + (", magnitudes" if method.emission is Magnitude else "")
    return f"gp {method.states}" if isinstance(method, gpssm.Polished) else type(method).__name__.lower()


def one_set(results: Results, name: str, seed: int, quick: bool) -> list[dict[str, Any]]:
    """The call and everything that it has tried."""
    train, test, n_init = load(name)
    fitted = gpssm.fit(train, gpssm.Auto(effort="quick") if quick else gpssm.Auto(), seed=seed)
    (why,) = [event for event in fitted.history.events if event.startswith("chosen: ")]
    print(f"    {why}", flush=True)
    predicted = free_run(fitted.system, test, seed=seed, n_init=n_init)
    if seed == SEEDS[0]:
        draw(results.out / f"default_call_{name}.png", predicted, test, f"{name.replace('_', ' ')}: {why}")
    rows = [{"metric": m, "value": v, "chosen": why} for m, v in scores(predicted, test).items()]
    for part in fitted.parts:
        if part.system.least_context > n_init:
            continue  # more lags than are read
        error = scores(free_run(part.system, test, seed=seed, n_init=n_init), test)["rmse"]
        rows.append({"method": label(part), "metric": "rmse", "value": error})
    return rows


def main() -> None:
    """All records; continue where an earlier run stopped."""
    options = arguments(__doc__ or "", "default_call")
    results = Results("default_call", {**PROTOCOL, "quick": options.quick}, options.out, fresh=options.fresh)
    for seed in SEEDS[:1] if options.quick else SEEDS:
        for name in SETS[:1] if options.quick else (*SETS, "cascaded_tanks"):
            results.run(name, "default call", seed, partial(one_set, results, name, seed, options.quick))
    print(f"results: {results.path}")


if __name__ == "__main__":
    main()
