"""The two figures of the kink experiment: the learnt functions near the data, and far away from them."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from gpssm.systems import Kink

TITLES = {"rbf": "RBF", "rbf+matern12": "RBF + Matérn-1/2", "arccos0": "Arc-cosine, order 0", "mgp": "Manifold GP"}


def draw_figures(out: Path, kernels: tuple[str, ...]) -> None:
    """Draw what has been stored, for both cases."""
    for case in ("best", "paper"):
        stored = {name: out / "kink_curves" / f"{case}-{name}.npz" for name in kernels}
        if not all(path.exists() for path in stored.values()):
            continue
        _grid(stored, out / f"kink_{case}.png", (-3.0, 6.5), (-3.0, 6.5), data=True)
        _grid(stored, out / f"kink_{case}_wide.png", (-8.0, 14.0), (-16.0, 16.0), data=False)


def _grid(
    stored: dict[str, Path], target: Path, xlim: tuple[float, float], ylim: tuple[float, float], *, data: bool
) -> None:
    columns = min(len(stored), 4)
    figure, axes = plt.subplots(
        1, columns, figsize=(4.2 * columns, 4.0), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, (name, path) in zip(axes[0], stored.items(), strict=True):
        with np.load(path) as curve:
            _panel(axis, curve, data=data)
        axis.set(title=TITLES[name], xlabel="state now", xlim=xlim, ylim=ylim)
    axes[0, 0].set_ylabel("next state")
    axes[0, 0].legend(loc="lower left" if not data else "upper left", fontsize=8, framealpha=0.9)
    figure.savefig(target, dpi=130)
    plt.close(figure)


def _panel(axis: Axes, curve, *, data: bool) -> None:
    x, mean, std = curve["x"], curve["mean"], curve["std"]
    if data:
        y = curve["y"]
        axis.plot(
            y[:, :-1].ravel(), y[:, 1:].ravel(), ".", color="0.75", ms=2, label="outputs, this and next", zorder=0
        )
    axis.plot(x, Kink().function(x), color="black", lw=1.2, label="true function")
    axis.plot(x, x, color="0.4", lw=0.8, ls=":", label="mean function")
    axis.fill_between(x, mean - 2 * std, mean + 2 * std, color="C0", alpha=0.25, lw=0, label="two standard deviations")
    axis.plot(x, mean, color="C0", lw=1.5, label="learnt mean")
    axis.plot(curve["inducing"], curve["at_inducing"], "o", color="C3", ms=4, label="inducing points")
