"""The figure of the noisy cart-pole: errors by horizon, and how far ours is from each opponent in each data seed."""

from collections.abc import Iterable, Sequence
from statistics import mean

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from experiments._results import Results

STYLES = ("o-", "^--", "s--", "k:")


def draw(results: Results, cases: Iterable[str], horizons: Sequence[int], methods: Sequence[str]) -> None:
    """One column for each case; `methods` are ours, the opponents and the floor."""
    shown = [case for case in cases if results.values("tip_error", case=case, method=methods[0])]
    figure, grid = plt.subplots(2, len(shown), figsize=(4.4 * len(shown), 5.6), layout="constrained", squeeze=False)
    for (above, below), case in zip(grid.T, shown, strict=True):
        for style, method in zip(STYLES, methods, strict=True):
            at = [mean(results.values("tip_error_at", case=case, method=method, horizon=h)) for h in horizons]
            above.plot(horizons, at, style, ms=4, label=method)
        above.set(title=case, xlabel="steps after the last sample read", ylim=(0, None))
        ours = _by_seed(results, case, methods[0])
        for row, (opponent, colour) in enumerate(zip(methods[1:-1], ("C1", "C2"), strict=True)):
            theirs = _by_seed(results, case, opponent)
            gaps = [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]
            below.plot(gaps, [row] * len(gaps), "o", color=colour, alpha=0.5)
            below.plot(mean(gaps), row, "|", color=colour, ms=24, mew=2)
        below.axvline(0.0, color="black", lw=0.8)
        below.set(yticks=range(len(methods) - 2), yticklabels=methods[1:-1], ylim=(-0.6, len(methods) - 2.4))
        below.set(xlabel="ours minus theirs, mean error of each data seed")
    grid[0, 0].set(ylabel="error of the tip, rod lengths")
    grid[0, 0].legend(fontsize=8)
    figure.savefig(results.path.with_suffix(".png"), dpi=130)
    plt.close(figure)


def _by_seed(results: Results, case: str, method: str) -> dict[int, float]:
    key = (case, method, "tip_error")
    return {r["seed"]: r["value"] for r in results.rows if (r["case"], r["method"], r["metric"]) == key}
