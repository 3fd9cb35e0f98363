"""The kink: learn a non-smooth transition function from noisy observations of its state (section 4.1 of the paper).

Two cases: `best`, our recipe (q(u) collapsed; states polished without the network, once from the network's posterior
and once from the data; the higher bound wins), and `paper`, the paper's (Adam on an explicit q(u), states from the
network alone). State and outputs share their units here, so that nothing is rescaled: x[0] ~ N(0, 1) is the model's
own prior.
"""

from itertools import product

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from gpjax.kernels import RBF, AbstractKernel, Matern12

import gpssm
from experiments import methods
from experiments._kink_figures import draw_figures
from experiments._learn import learn
from experiments._results import Results, arguments
from gpssm.inference import GaussHermite, MeanField
from gpssm.models import GPSSM, SparseGP
from gpssm.systems import Kink

EPISODES, STEPS = 200, 10
SEEDS = (0, 1, 2, 3, 4)
RECIPES = {"best": methods.kink_best, "paper": methods.kink_paper}
QUICK = {"best": {"steps": 100, "iterations": 20}, "paper": {"steps": 100}}
KERNELS = ("rbf", "rbf+matern12", "arccos0", "mgp")
PROTOCOL = {
    "system": "f(x) = x + 1 below 4, else 13 - 2x; process variance 0.01, observation variance 0.1, x[0] ~ N(0, 1)",
    "data": f"{EPISODES} episodes x {STEPS} steps, data seed = seed",
    "model": f"{methods.KINK_INDUCING} inducing points spread over the data range, {methods.KINK_HIDDEN} hidden units, "
    "emission fixed to the truth but for its noise",
    "rmse_visited": "transition mean against f on 400 even points over the 1 to 99 % range of the true visited states",
    "rmse_kink": "the same within 0.5 of x = 4",
    "selection": "settings fixed in advance, the same for all seeds; of two starts the one with the higher training "
    "bound; nothing is chosen by these scores",
    "trivial": "method 'keep_state' predicts f(x) = x, method 'linear' is least squares on consecutive outputs",
}


def kernel_for(name: str, key: jax.Array) -> AbstractKernel:
    """The four kernels of the paper, with its initial length-scales."""
    match name:
        case "rbf":
            return RBF(lengthscale=1.0)  # pyright: ignore[reportArgumentType]
        case "rbf+matern12":
            return RBF(lengthscale=10.0) + Matern12(lengthscale=0.1)  # pyright: ignore[reportArgumentType]
        case "arccos0":
            return gpssm.kernels.ArcCosine0()
        case "mgp":
            return gpssm.kernels.Manifold(Matern12(), inputs=1, widths=(3, 2, 3, 2, 3), key=key)
    raise ValueError(f"unknown kernel {name}")


def identity_scaler() -> gpssm.Scaler:
    """No rescaling."""
    return gpssm.Scaler(
        output_mean=np.zeros(1), output_scale=np.ones(1), input_mean=np.zeros(0), input_scale=np.ones(0)
    )


def fit_kernel(case: str, name: str, episodes: gpssm.Episodes, quick: bool, key: jax.Array) -> gpssm.Fit:
    """Fit one kernel by one recipe."""
    kernel_key, fit_key = jr.split(key)
    recipe = RECIPES[case](kernel_for(name, kernel_key), **(QUICK[case] if quick else {}))
    fitted = learn(episodes, recipe, scaler=identity_scaler(), key=fit_key)
    return higher_bound(fitted) if fitted.parts else fitted


def higher_bound(fitted: gpssm.Fit) -> gpssm.Fit:
    """Of two starts the one that ended with the higher bound."""
    return max(fitted.parts, key=final_bound)


def learnt_function(fitted: gpssm.Fit, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the transition function."""
    with jax.enable_x64(True):
        dynamics = model_of(fitted).transition.condition()
        moments = jax.vmap(lambda point: dynamics.moments(point, jnp.zeros(0)))
        mean, variance = moments(jnp.asarray(x)[:, None])
    return np.asarray(mean)[:, 0], np.sqrt(np.asarray(variance)[:, 0])


def scores(predict, visited: np.ndarray) -> dict[str, float]:
    """Errors of a function over the visited range and near the kink."""
    low, high = np.percentile(visited, [1, 99])
    wide, near = np.linspace(low, high, 400), np.linspace(3.5, 4.5, 400)
    truth = Kink().function
    return {
        "rmse_visited": gpssm.metrics.rmse(np.asarray(truth(wide)), predict(wide)),
        "rmse_kink": gpssm.metrics.rmse(np.asarray(truth(near)), predict(near)),
    }


def main() -> None:
    """Run all cases, kernels and seeds; continue where an earlier run stopped."""
    options = arguments(__doc__ or "", "kink")
    seeds, kernels = ((0,), KERNELS[:1]) if options.quick else (SEEDS, KERNELS)
    results = Results("kink", {**PROTOCOL, "quick": options.quick}, options.out, fresh=options.fresh)
    simulated = {seed: Kink().simulate(episodes=EPISODES, steps=STEPS, key=jr.key(seed)) for seed in seeds}
    visited = {seed: np.concatenate(s.states)[:, 0] for seed, s in simulated.items()}
    for seed in seeds:
        line = linear_fit(simulated[seed].episodes)
        results.run("trivial", "keep_state", seed, lambda s=seed: scores(lambda x: x, visited[s]))
        results.run("trivial", "linear", seed, lambda s=seed, line=line: scores(line, visited[s]))
    for case, name, seed in product(RECIPES, kernels, seeds):

        def work(case=case, name=name, seed=seed):
            episodes = simulated[seed].episodes
            fitted = fit_kernel(case, name, episodes, options.quick, jr.fold_in(jr.key(1), seed))
            if seed == seeds[0]:
                store_curve(options.out, case, name, fitted, episodes)
            model = model_of(fitted)
            return {
                **scores(lambda x: learnt_function(fitted, x)[0], visited[seed]),
                "process_variance": float(model.transition.noise_variance()[0]),
                "noise_variance": float(model.emission.noise_variance()[0]),
                "elbo_per_step": final_bound(fitted),
            }

        results.run(case, name, seed, work)
    draw_figures(options.out, kernels)
    print(f"results: {results.path}")


def model_of(fitted: gpssm.Fit) -> GPSSM:
    """The state-space model of a fit that is known to have one."""
    assert isinstance(fitted.system, gpssm.System)
    return fitted.system.model


def final_bound(fitted: gpssm.Fit) -> float:
    """Bound per time step at the end: the last value of a deterministic polish, the mean over the last steps of
    Adam."""
    assert isinstance(fitted.inference, MeanField)
    deterministic = isinstance(fitted.inference.expectation, GaussHermite)
    return float(fitted.history.bound[-1] if deterministic else fitted.history.bound[-100:].mean())


def linear_fit(episodes: gpssm.Episodes):
    """Least squares from one output to the next."""
    now, following = (np.concatenate([cut(e.y[:, 0]) for e in episodes]) for cut in (lambda y: y[:-1], lambda y: y[1:]))
    slope, offset = np.polyfit(now, following, 1)
    return lambda x: slope * x + offset


def store_curve(out, case: str, name: str, fitted: gpssm.Fit, episodes: gpssm.Episodes) -> None:
    """Keep what the figures need, so that they can be drawn again without training."""
    x = np.linspace(-8.0, 14.0, 1101)
    mean, std = learnt_function(fitted, x)
    transition = model_of(fitted).transition
    assert isinstance(transition, SparseGP)
    inducing = np.asarray(transition.inducing)[:, 0]
    y = np.stack([episode.y[:, 0] for episode in episodes])
    folder = out / "kink_curves"
    folder.mkdir(exist_ok=True)
    np.savez(
        folder / f"{case}-{name}.npz",
        x=x,
        mean=mean,
        std=std,
        inducing=inducing,
        at_inducing=learnt_function(fitted, inducing)[0],
        y=y,
    )


if __name__ == "__main__":
    main()
