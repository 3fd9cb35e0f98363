"""Pictures that are drawn from a results file, because its experiment leaves none."""

import matplotlib

matplotlib.use("Agg")
from statistics import mean

import matplotlib.pyplot as plt

from experiments.pages import hidden_swing_ups
from experiments.pages._rows import ROOT, Stored
from experiments.pages._swing_up import HORIZONS


def hidden_swing_up_errors() -> None:
    """Errors against the horizon, both systems."""
    page = hidden_swing_ups.PAGE
    stored = Stored(page.source)
    figure, panels = plt.subplots(1, 2, figsize=(8, 3), layout="constrained", sharey=True)
    for panel, case in zip(panels, ("cart_pole", "double_pendulum"), strict=True):
        for style, method in zip(("s--", "^--", "o-"), (*hidden_swing_ups.LAGS, "marginal"), strict=True):
            columns = [page.columns[f"not balanced, at {h}"] for h in HORIZONS]
            errors = [mean(stored.values(case, method, column)) for column in columns]
            panel.plot(HORIZONS, errors, style, label=page.names.get(method, method))
        panel.set(title=case.replace("_", " "), xlabel="steps after the last sample read", xticks=HORIZONS)
    panels[0].set(ylabel="error of the tip, rod lengths", ylim=(0, None))
    panels[0].legend(fontsize=8)
    figure.savefig(ROOT / next(iter(page.figures)), dpi=150)
    plt.close(figure)
