"""Five small real records and the cascaded tanks: free simulation of the half that was not trained on.

Reads the records from the folder in GPSSM_DATA. Within the training half, `gpssm.select` compares settings by free runs
over held-out blocks; the winner of each family is then trained on the whole half with five seeds. The row `selected` is
the winner over all families.
"""

from functools import partial
from typing import Any

import jax.random as jr
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import gpssm
from experiments._data import SETS, cascaded_tanks, halves
from experiments._free_run import N_INIT, free_run, scores
from experiments._results import Results, arguments
from gpssm import plots
from gpssm.selection import (
    AutoregressiveGPCandidate,
    AutoregressiveLinearCandidate,
    Blocks,
    ConstantCandidate,
    GPSSMCandidate,
    GrownCandidate,
    LinearKalmanCandidate,
    grid,
    select,
)

SEEDS = (0, 1, 2, 3, 4)
TANKS_N_INIT = 5
FAMILIES: dict[str, dict[str, Any]] = {
    "constant": {"constant": ConstantCandidate()},
    "arx": grid("arx", AutoregressiveLinearCandidate, output_lags=(2, 5, 10, 15)),
    "kalman": grid("kalman", LinearKalmanCandidate, order=(2, 3, 4)),
    "gp-narx": grid("gp-narx", AutoregressiveGPCandidate, output_lags=(2, 5, 10)),
    "gpssm": {
        **grid("grown", GrownCandidate, order=(2, 4), num_inducing=(50,), iterations=(100,)),
        **grid("gpssm", GPSSMCandidate, states=(2, 4), num_inducing=(50,), steps=(800,), iterations=(60,)),
    },
}
QUICK: dict[str, dict[str, Any]] = {
    "constant": {"constant": ConstantCandidate()},
    "arx": grid("arx", AutoregressiveLinearCandidate, output_lags=(2,)),
    "gpssm": grid("gpssm", GPSSMCandidate, states=(1,), num_inducing=(8,), steps=(20,), iterations=(2,)),
}
PROTOCOL = {
    "split": "first half trains, second half tests; the tanks have records of their own",
    "prediction": f"one free run over the whole test half; its first {N_INIT} samples (tanks {TANKS_N_INIT}) are read "
    "and not scored",
    "selection": "within each family by gpssm.select: free runs over four held-out blocks of the training half, two "
    "seeds where the fit is random; one standard error in favour of the simpler; `selected` is the same over all "
    "families",
    "candidates": {family: list(candidates) for family, candidates in FAMILIES.items()},
    "units": "of the record",
}


def load(name: str) -> tuple[gpssm.Episodes, gpssm.Episode, int]:
    """Training records, test record, samples to read."""
    if name == "cascaded_tanks":
        return *cascaded_tanks(), TANKS_N_INIT
    return *halves(name), N_INIT


def choose(candidates: dict[str, Any], train: gpssm.Episodes, n_init: int, quick: bool) -> str:
    """The name of the winner on held-out blocks of the training record."""
    if len(candidates) == 1:
        return next(iter(candidates))
    selection = select(
        candidates, train, n_init=n_init, folds=Blocks(2 if quick else 4), seeds=1 if quick else 2, key=jr.key(0)
    )
    print(selection.table(), flush=True)
    return selection.winner or next(iter(candidates))


def one_set(results: Results, name: str, families: dict[str, dict[str, Any]], quick: bool) -> None:
    """Choose within each family and over all of them, then fit the chosen ones with every seed."""
    train, test, n_init = load(name)
    chosen = {
        family: results.choice(name, family, partial(choose, candidates, train, n_init, quick))
        for family, candidates in families.items()
    }
    finalists = {chosen[family]: candidates[chosen[family]] for family, candidates in families.items()}
    chosen["selected"] = results.choice(name, "selected", partial(choose, finalists, train, n_init, quick))

    def work(method: str, seed: int) -> list[dict[str, Any]]:
        winner = chosen[method]
        system = finalists[winner](train, key=jr.fold_in(jr.key(1), seed))
        predicted = free_run(system, test, seed=seed, n_init=n_init)
        if seed == 0 and method == "gpssm":
            draw(results.out / f"real_sets_{name}.png", predicted, test, f"{name}: {winner}")
        return [{"metric": m, "value": v, "chosen": winner} for m, v in scores(predicted, test).items()]

    for method in chosen:
        for seed in SEEDS[:1] if quick else SEEDS:
            results.run(name, method, seed, partial(work, method, seed))


def main() -> None:
    """All sets, families and seeds; continue where an earlier run stopped."""
    options = arguments(__doc__ or "", "real_sets")
    results = Results("real_sets", {**PROTOCOL, "quick": options.quick}, options.out, fresh=options.fresh)
    for name in SETS[:1] if options.quick else (*SETS, "cascaded_tanks"):
        one_set(results, name, QUICK if options.quick else FAMILIES, options.quick)
    print(f"results: {results.path}")


def draw(path, predicted: gpssm.Rollout, test: gpssm.Episode, title: str) -> None:
    """The free run with its band."""
    figure, axes = plt.subplots(figsize=(11, 3.2), layout="constrained")
    plots.rollout(axes, predicted, test, paths=0)
    axes.set_title(title, fontsize=9)
    axes.legend(fontsize=8, loc="upper right")
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
