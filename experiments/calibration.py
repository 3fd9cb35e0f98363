"""Do bands hold what they say, and are noises those of the data? Systems drawn from the model's own prior.

For one and two states and three mixes of noise, a transition function is drawn from the GP prior, records are
simulated, and each method is fitted. Counted over all systems: how much of what came lies within 95 % bands one step
ahead, in free runs by horizon, and of the function itself where the system has been; and the ratio of both noises to
the truth.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import jax.random as jr
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import gpssm
from experiments._drawn_systems import (
    EPISODES,
    HORIZONS,
    INDUCING,
    MIXES,
    STEPS,
    TESTS,
    Drawn,
    draw_system,
    judge,
    methods,
)
from experiments._learn import learn
from experiments._results import Results, Row, arguments

CASE = "systems from the prior"
COVERAGES = ("one step", *(f"free run {steps}" for steps in HORIZONS), "function")
SYSTEMS = 7
"""Of each number of states and mix of noises."""
PROTOCOL = {
    "systems": f"transition function from an RBF GP around 0.7 x, one input; {SYSTEMS} of each of one and two states "
    "and three mixes of process and measurement variance: "
    + ", ".join(f"{name} {process:g} and {noise:g}" for name, (process, noise) in MIXES.items()),
    "records": f"{EPISODES} of {STEPS} steps to learn from, {TESTS} to judge by",
    "known": f"the number of states, that outputs are states, and the mean function; {INDUCING} inducing points",
    "one step": "share of measurements in the 95 % band of `predict(horizon=1)`",
    "free run": "the same of `simulate`, after 10 samples were read, by steps since then",
    "function": "share of visited points at which the true function lies in the band of the learnt one; not for output "
    "error, whose states have coordinates of their own",
    "ratios": "estimated over true variance, states and outputs averaged in logarithms; medians over systems",
    "seed": "number of the system, which is also the seed of the fit",
}


def systems(quick: bool) -> Iterator[tuple[int, str, Drawn]]:
    """Number, mix and system, so that all kinds come early."""
    kinds = [(states, mix) for states in (1, 2) for mix in MIXES]
    for index in range(1 if quick else SYSTEMS):
        for i, (states, mix) in enumerate(kinds):
            yield index * len(kinds) + i, mix, draw_system(states, mix, index)


def judged(drawn: Drawn, mix: str, name: str, seed: int) -> list[Row]:
    """Fit one method to one system."""
    fitted = learn(drawn.train, methods(drawn.states)[name], key=jr.fold_in(jr.key(0), seed))
    assert isinstance(fitted.system, gpssm.System)
    found = judge(fitted.system, drawn)
    about = {"states": drawn.states, "mix": mix}
    return [{"metric": metric, "value": value, **about} for metric, value in found.items() if np.isfinite(value)]


def run(out: Path, *, quick: bool, fresh: bool) -> None:
    """All systems and methods; continue where an earlier run stopped."""
    results = Results("calibration", {**PROTOCOL, "quick": quick}, out, fresh=fresh)
    for seed, mix, drawn in systems(quick):
        for name in methods(drawn.states):
            results.run(CASE, name, seed, partial(judged, drawn, mix, name, seed))
    table(results)
    draw(results)
    print(f"results: {results.path}")


def table(results: Results) -> None:
    """Means of coverages and medians of ratios, by method and mix."""
    ratios = ("process ratio", "noise ratio")
    print(f"{'':24s}" + "".join(f"{name:>18s}" for name in (*COVERAGES, *ratios)))
    for method in dict.fromkeys(row["method"] for row in results.rows):
        for mix in ("all", *MIXES):
            key = {"method": method, **({} if mix == "all" else {"mix": mix})}
            found = [results.values(metric, **key) for metric in (*COVERAGES, *ratios)]
            values = [np.median(x) if i >= len(COVERAGES) else np.mean(x) if x else np.nan for i, x in enumerate(found)]
            print(f"{method + ', ' + mix:24s}" + "".join(f"{value:18.3f}" for value in values))


def draw(results: Results) -> None:
    """Coverage of every kind of band, two standard errors over systems either way, and the noises."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.0), width_ratios=(3, 2), layout="constrained")
    names = list(dict.fromkeys(row["method"] for row in results.rows))
    left.axhline(0.95, color="black", lw=0.8)
    right.axhline(1.0, color="black", lw=0.8)
    for i, name in enumerate(names):
        shift = 0.12 * (i - 0.5 * (len(names) - 1))
        found = [results.values(metric, method=name) for metric in COVERAGES]
        at = [j + shift for j, values in enumerate(found) if values]
        means = [np.mean(values) for values in found if values]
        errors = [2.0 * np.std(values, ddof=1) / np.sqrt(len(values)) for values in found if len(values) > 1]
        left.errorbar(at, means, errors if len(errors) == len(means) else None, fmt="o", ms=5, capsize=3, label=name)
        for j, metric in enumerate(("process ratio", "noise ratio")):
            values = results.values(metric, method=name)
            right.plot(np.full(len(values), j + shift), values, ".", color=f"C{i}", alpha=0.4)
            right.plot(j + shift, np.median(values), "_", color="black", ms=14)
    left.set(ylabel="inside the 95 % band", xticks=range(len(COVERAGES)), xticklabels=COVERAGES, title="Coverage")
    left.tick_params(axis="x", labelrotation=15)
    left.legend(fontsize=8)
    right.set(yscale="log", ylabel="estimated / true variance", title="Noises", xlim=(-0.5, 1.5))
    right.set(xticks=(0, 1), xticklabels=("process", "measurement"))
    figure.savefig(results.out / "calibration.png", dpi=120)
    plt.close(figure)


def main() -> None:
    """The command line."""
    options = arguments(__doc__ or "", "calibration")
    run(options.out, quick=options.quick, fresh=options.fresh)


if __name__ == "__main__":
    main()
