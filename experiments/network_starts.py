"""What the paper's method needs on the cart-pole: where its noises begin, inducing points, a way out for the kernel.

From equal noises a network may copy its measurements; from a process noise well below the measurement noise it smooths
them. Both starts are taken to the optimum of the variational family, so that their bounds can be compared: the network
reads the states first, then each state has numbers of its own, and the network learns to read those.
"""

from functools import partial
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import matplotlib
import numpy as np
from gpjax.kernels import RBF, AbstractKernel

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import gpssm
from experiments import methods
from experiments._learn import learn
from experiments._results import Results, arguments
from experiments._swing_up import HORIZONS, UNIT, noise_rows, score, turning
from experiments._trials import Study, load_study

SEEDS, TRIALS, STATES, N_INIT = (0, 1, 2), 8, 4, 3
OBSERVED = (0, 1, 2, 3)
ITERATIONS, DISTIL, QUICK_STEPS = 150, 400, 10
WAY_OUT = "smooth, way out"
PROTOCOL = {
    "trials": f"cart-pole, the first {TRIALS} PILCO trials of three seeds, all states measured with noise of sd 0.01",
    "tests": "as in the cart-pole's table",
    "prediction": f"free run under the recorded controls after {N_INIT} samples, which are not scored",
    "unit": UNIT,
    "model": "the paper's network (32 units) and bound with q(u) at its optimum, RBF on sines and cosines, 100 "
    "inducing points, 200 steps of Adam on the network alone and 5000 on everything, noises at a tenth of the rate",
    "smooth": "noises begin as a regression on pairs shows them, process over measurement noise 0.2",
    "equal": "process and measurement noise begin equal, with a variance of 0.01 in units of the scaled outputs",
    WAY_OUT: "as smooth, with an RBF on all states and actions added to the kernel: where no trial has been, turns of "
    "the pole do not look alike to it",
    "refined": f"then {ITERATIONS} iterations of L-BFGS on the model and on states that have numbers of their own, and "
    f"{DISTIL} steps in which the network learns to read them",
    "bound": "per step; of the refined rows by quadrature and at its end, of the others the mean of the last steps of "
    "Adam, by one path",
    "selection": "nothing is chosen by these scores",
}


def kernel_of(name: str, study: Study, train: gpssm.Episodes) -> AbstractKernel:
    """That of the cart-pole's own rows, or one with a way out."""
    kernel = turning(study, train, states=STATES)
    if name != WAY_OUT:
        return kernel
    plain = RBF(lengthscale=jnp.full(STATES + train.num_inputs, 2.0), variance=0.1)  # pyright: ignore[reportArgumentType]
    return kernel + plain


def rows(study: Study, fitted: gpssm.Fit, seed: int) -> list[dict[str, Any]]:
    """Scores, noises and the bound."""
    assert isinstance(fitted.system, gpssm.System)
    process = fitted.system.scaler.output_scale**2 * np.asarray(fitted.system.model.transition.noise_variance())
    scores = score(study, fitted.system, n_init=N_INIT, seed=seed)
    ratio = {"metric": "process_over_noise", "value": float(np.mean(process) / np.mean(_measured(fitted.system)))}
    return [*scores, *noise_rows(fitted.system), ratio, {"metric": "bound", "value": float(fitted.bound)}]


def _measured(system: gpssm.System) -> np.ndarray:
    return system.scaler.output_scale**2 * np.asarray(system.model.emission.noise_variance())


def draw(results: Results) -> None:
    """Errors by horizon, and the bounds that the starts come to in each seed."""
    names = list(dict.fromkeys(row["method"] for row in results.rows))
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", width_ratios=(1, 1, 1.1))
    for panel, case in zip(panels, ("network", "refined"), strict=False):
        for i, name in enumerate(names):
            rows = [r for r in results.rows if (r["case"], r["method"], r["metric"]) == (case, name, "tip_error_at")]
            rows = [r for r in rows if r["test"].startswith("policy")]
            means = [np.mean([r["value"] for r in rows if r["horizon"] == h]) for h in HORIZONS]
            panel.plot(HORIZONS, means, "o-", color=f"C{i}", ms=4, label=name)
        panel.set(
            title=f"{case}: error of the tip, not balanced", xlabel="steps ahead", xticks=HORIZONS, ylim=(0, None)
        )
    for i, name in enumerate(names):
        for case, marker in (("network", "o"), ("refined", "^")):
            found = results.values("bound", case=case, method=name)
            panels[2].plot(np.arange(len(found)) + 0.1 * i, found, marker, color=f"C{i}", ms=5)
    panels[2].set(title="bound per step (triangles: refined)", xlabel="seed", xticks=range(len(SEEDS)))
    panels[0].legend(fontsize=8)
    figure.savefig(results.path.with_suffix(".png"), dpi=110)
    plt.close(figure)


def main() -> None:
    """All starts and seeds; continue where an earlier run stopped."""
    options = arguments(__doc__ or "", "network_starts")
    results = Results("network_starts", {**PROTOCOL, "quick": options.quick}, options.out, fresh=options.fresh)
    quick = options.quick
    recipes = methods.NETWORK_STARTS | {WAY_OUT: methods.NETWORK_STARTS["smooth"]}
    for seed in SEEDS[:1] if quick else SEEDS:
        study = load_study("cart_pole", seed, OBSERVED)
        train = study.first(2 if quick else TRIALS)
        for name, recipe in recipes.items():
            known: dict[str, gpssm.Fit] = {}

            def first(seed=seed, train=train, study=study, name=name, recipe=recipe, known=known) -> gpssm.Fit:
                if "fit" not in known:
                    used = methods.NETWORK_QUICK if quick else recipe
                    method = used.method(train, states=STATES, kernel=kernel_of(name, study, train))
                    known["fit"] = learn(train, method, key=jr.fold_in(jr.key(5), seed))
                return known["fit"]

            def refined(seed=seed, train=train, first=first) -> gpssm.Fit:
                size = {"iterations": QUICK_STEPS, "distil": QUICK_STEPS} if quick else {}
                method = methods.refinement(**({"iterations": ITERATIONS, "distil": DISTIL} | size))
                return learn(train, method, start=first(), key=jr.fold_in(jr.key(6), seed))

            for case, fit in (("network", first), ("refined", refined)):
                work = partial(lambda fit, study, seed: rows(study, fit(), seed), fit, study, seed)
                results.run(case, name, seed, work)
    draw(results)
    print(f"results: {results.path}")


if __name__ == "__main__":
    main()
