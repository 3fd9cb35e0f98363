"""Five small real records and the cascaded tanks: free simulation of the half that was not trained on.

Reads the records from the folder in GPSSM_DATA. Within the training half, `gpssm.select` compares settings by free runs
over held-out blocks, once for all families. The winner of each family is then trained on the whole half; the row
`selected` is the winner over all families, averaged over a few fits where fits are random.
"""

from functools import cache, partial
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
    AbstractDeterministic,
    AutoregressiveGPCandidate,
    AutoregressiveLinearCandidate,
    Blocks,
    ConstantCandidate,
    EnsembleCandidate,
    LinearKalmanCandidate,
    OutputErrorCandidate,
    Selection,
    grid,
    select,
)

SEEDS = (0, 1, 2, 3, 4)
TANKS_N_INIT = 5
MEMBERS = 3
NARX_LAGS = 4
Candidates = dict[str, Any]


def families(name: str) -> dict[str, Candidates]:
    """What is compared on a set, from simple to complex."""
    # The drive's sensor counts pulses: it shows the speed without its sign.
    reading = gpssm.Unsigned() if name == "drive" else gpssm.Signed()
    return {
        "constant": {"constant": ConstantCandidate()},
        "arx": grid("arx", AutoregressiveLinearCandidate, output_lags=(2, 4, 8)),
        "kalman": grid("kalman", LinearKalmanCandidate, order=(3,)),
        "gpssm": {
            **grid("gpssm", OutputErrorCandidate, states=(2, 3, 4), trusting=(0,), reading=(reading,)),
            **grid("gpssm", OutputErrorCandidate, states=(2, 3), trusting=(2,), reading=(reading,)),
        },
    }


def quick_families(name: str) -> dict[str, Candidates]:
    """A few small ones."""
    return {
        "constant": {"constant": ConstantCandidate()},
        "arx": grid("arx", AutoregressiveLinearCandidate, output_lags=(2,)),
        "gpssm": grid("gpssm", OutputErrorCandidate, states=(1,), num_inducing=(8,), rounds=(1,)),
    }


PROTOCOL = {
    "split": "first half trains, second half tests; the tanks have records of their own",
    "prediction": f"one free run over the whole test half; its first {N_INIT} samples (tanks {TANKS_N_INIT}) are read "
    "and not scored",
    "selection": "by gpssm.select: free runs over four held-out blocks of the training half, one seed; the simplest "
    "within one standard error, in each family and, for `selected`, over all of them. No test half was looked at",
    "selected": f"if its fit is random, an ensemble of {MEMBERS} fits with different keys for every seed; this was "
    "fixed beforehand",
    "gpssm": "a sparse-GP correction of a linear system, fitted by free runs (gpssm.fit_output_error); on the drive "
    "outputs are magnitudes, because its sensor is known to lose the sign",
    "gp-narx": f"for comparison, {NARX_LAGS} lags fixed beforehand; not among what `selected` is chosen from",
    "candidates": {family: list(candidates) for family, candidates in families("").items()},
    "units": "of the record",
}


def load(name: str) -> tuple[gpssm.Episodes, gpssm.Episode, int]:
    """Training records, test record, samples to read."""
    if name == "cascaded_tanks":
        return *cascaded_tanks(), TANKS_N_INIT
    return *halves(name), N_INIT


def held_out_scores(candidates: Candidates, train: gpssm.Episodes, n_init: int, quick: bool) -> Selection:
    """Free runs over held-out blocks of the training record."""
    found = select(candidates, train, n_init=n_init, folds=Blocks(2 if quick else 4), seeds=1, key=jr.key(0))
    print(found.table(), flush=True)
    return found


def among(selection: Selection, names: list[str]) -> str:
    """The winner among some of the candidates."""
    part = Selection(tuple(names), tuple(score for score in selection.scores if score.candidate in names))
    return part.winner or names[0]


def averaged(candidate: Any) -> Any:
    """An ensemble of fits, where they differ."""
    return candidate if isinstance(candidate, AbstractDeterministic) else EnsembleCandidate((candidate,) * MEMBERS)


def one_set(results: Results, name: str, compared: dict[str, Candidates], quick: bool) -> None:
    """Choose within each family and over all of them, then fit the chosen ones with every seed."""
    train, test, n_init = load(name)
    everything = {key: candidate for candidates in compared.values() for key, candidate in candidates.items()}
    scored = cache(lambda: held_out_scores(everything, train, n_init, quick))
    groups = {**{family: list(candidates) for family, candidates in compared.items()}, "selected": list(everything)}
    chosen = {
        method: results.choice(name, method, lambda names=names: among(scored(), names))
        for method, names in groups.items()
    }
    fits = {method: everything[key] for method, key in chosen.items()}
    fits["selected"] = averaged(fits["selected"])
    if not quick:
        chosen["gp-narx"] = f"gp-narx output_lags={NARX_LAGS}"
        fits["gp-narx"] = AutoregressiveGPCandidate(output_lags=NARX_LAGS)

    def work(method: str, seed: int) -> list[dict[str, Any]]:
        system = fits[method](train, key=jr.fold_in(jr.key(1), seed))
        predicted = free_run(system, test, seed=seed, n_init=n_init)
        if seed == 0 and method == "selected":
            draw(results.out / f"real_sets_{name}.png", predicted, test, f"{name}: {chosen[method]}")
        return [{"metric": m, "value": v, "chosen": chosen[method]} for m, v in scores(predicted, test).items()]

    for method, candidate in fits.items():
        once = quick or isinstance(candidate, AbstractDeterministic)
        for seed in SEEDS[:1] if once else SEEDS:
            results.run(name, method, seed, partial(work, method, seed))


def main() -> None:
    """All sets, families and seeds; continue where an earlier run stopped."""
    options = arguments(__doc__ or "", "real_sets")
    results = Results("real_sets", {**PROTOCOL, "quick": options.quick}, options.out, fresh=options.fresh)
    for name in SETS[:1] if options.quick else (*SETS, "cascaded_tanks"):
        one_set(results, name, (quick_families if options.quick else families)(name), options.quick)
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
