"""How every model of the experiments is learnt: all settings in one place, as methods for `gpssm.fit`.

What depends on the data, such as the size of a kernel, is an argument. Everything else is written here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import jax.numpy as jnp
from gpjax.kernels import RBF, AbstractKernel, Matern12

import gpssm
from gpssm.evaluate import grid
from gpssm.inference import Collapsed, Explicit, MeanField, MonteCarlo
from gpssm.methods import (
    ARX,
    GPNARX,
    AbstractMethod,
    AroundLinear,
    BestOf,
    Constant,
    Differences,
    Linear,
    Marginal,
    ModelSpec,
    Network,
    OutputError,
    Pairs,
    ParticleGibbs,
    PerStep,
    Polished,
    PreviousEpisode,
    SubspaceMean,
    Then,
    Variational,
)
from gpssm.models import GPSSM, LinearGaussian, Magnitude
from gpssm.optimisers import LBFGS, Adam, Alternating, Rates

Methods = dict[str, AbstractMethod]

# GPJax wraps plain numbers as parameters by itself; the type checker sees only the fields of its kernels.


def _papers(model: ModelSpec, network: Network, optimiser: Adam) -> Variational:
    """The paper's inference: q(u) by gradients, states from the network alone, one path."""
    return Variational(model, q_x=network, q_u=Explicit(), expectation=MonteCarlo(1), optimiser=optimiser)


def _two_starts(model: ModelSpec | GPSSM, network: Network, steps: int, iterations: int) -> BestOf:
    """q(u) collapsed; states polished without the network, once from the network's posterior and once from the data."""
    trained = Variational(model, q_x=network, q_u=Collapsed(), expectation=MonteCarlo(1), optimiser=Adam(steps))
    polish = Variational(q_x=PerStep(), optimiser=LBFGS(iterations))
    return BestOf(trained.then(polish), replace(polish, model=model))


# The kink.

KINK_INDUCING, KINK_HIDDEN = 20, 20


def _kink_model(kernel: AbstractKernel) -> ModelSpec:
    return ModelSpec(1, kernel=kernel, num_inducing=KINK_INDUCING, process_variance=0.1, noise_variance=0.1)


def kink_paper(kernel: AbstractKernel, *, steps: int = 4000) -> Variational:
    """The paper's recipe."""
    return _papers(_kink_model(kernel), Network(KINK_HIDDEN, skip=False), Adam(steps))


def kink_best(kernel: AbstractKernel, *, steps: int = 2000, iterations: int = 300) -> BestOf:
    """Ours."""
    return _two_starts(_kink_model(kernel), Network(KINK_HIDDEN, skip=False), steps, iterations)


def smooth_kink(model: GPSSM, *, steps: int = 1500, iterations: int = 400) -> BestOf:
    """Of a model whose emission and inducing inputs are given."""
    return _two_starts(model, Network(20), steps, iterations)


def kink_marginal(kernel: AbstractKernel, *, rounds: int = 4) -> Marginal:
    """States integrated out, from the regression of each output on the one before."""
    return Marginal(_kink_model(kernel), rounds=rounds)


def smooth_kink_marginal(model: GPSSM, *, rounds: int = 4) -> Marginal:
    """The same of a model whose emission and inducing inputs are given."""
    return Marginal(model, rounds=rounds)


def kink_referee(kernel: AbstractKernel, *, sweeps: int, warmup: int) -> ParticleGibbs:
    """Draws from the exact posterior of the same model."""
    return ParticleGibbs(_kink_model(kernel), sweeps=sweeps, warmup=warmup)


SMOOTH_KINK_REGRESSION = GPNARX(1, kernel=RBF(lengthscale=1.0, variance=1.0))  # pyright: ignore[reportArgumentType]
"""An exact GP from each output to the next."""

REPAIR = Marginal(rounds=0)
"""Of an earlier fit, only the covariance of the function anew."""


# The pendulum.

PENDULUM = Polished(states=2, num_inducing=50, hidden=32, steps=1500, iterations=300)
PENDULUM_QUICK = replace(PENDULUM, num_inducing=20, steps=100, iterations=10)


def pendulum_opponents(lags: tuple[int, ...]) -> dict[str, Methods]:
    """Autoregressions whose numbers of lags compete."""
    return {"arx": grid("arx", ARX, output_lags=lags), "gp-narx": grid("gp-narx", GPNARX, output_lags=lags)}


# The swing-ups.


def _in_turn(model: ModelSpec, optimiser: Alternating) -> Variational:
    """q(u) collapsed, states smoothed and the model fitted in turn."""
    return Variational(model, q_x=PerStep(), q_u=Collapsed(), optimiser=optimiser)


@dataclass(frozen=True)
class SwingUp:
    """How the GPSSM rows of a swing-up experiment are learnt."""

    inducing: int
    """Of the paper's row. Never more than half the number of steps, in all rows."""
    hidden: int
    steps: int
    """Of the paper's row."""
    best_inducing: int
    cycles: int
    """Of smoothing and fitting in turn, and then as many of L-BFGS on everything."""
    recipe: "Recipe"
    """Of the network's row."""

    def paper(self, train: gpssm.Episodes, *, states: int) -> Variational:
        """The paper's settings: Matern-1/2, Adam at 1e-3 throughout."""
        size = states + train.num_inputs
        kernel = Matern12(lengthscale=jnp.full(size, 2.0), variance=0.5)  # pyright: ignore[reportArgumentType]
        model = ModelSpec(states, kernel=kernel, num_inducing=min(self.inducing, train.num_steps // 2))
        return _papers(model, Network(self.hidden), Adam(self.steps, rates=Rates.all(1e-3), final=1.0))

    def best(self, train: gpssm.Episodes, *, states: int, kernel: AbstractKernel) -> Variational:
        """Ours: q(u) collapsed, states smoothed and the model fitted in turn. The kernel should know of angles."""
        model = ModelSpec(states, kernel=kernel, num_inducing=min(self.best_inducing, train.num_steps // 2))
        return _in_turn(model, Alternating(self.cycles, LBFGS(self.cycles)))

    def network(self, train: gpssm.Episodes, *, states: int, kernel: AbstractKernel) -> Then:
        """The paper's method by the recipe of the noisy cart-pole."""
        return self.recipe.method(train, states=states, kernel=kernel)


@dataclass(frozen=True)
class Recipe:
    """The paper's model, network and bound with q(u) at its optimum, from noises that a regression on pairs shows.

    First the network alone learns to read states as that regression means them, then everything is trained. The noises
    follow slowly: early on, the network errs more than the sensors do, and what it misses is booked as process noise.
    """

    inducing: int
    """Never more than half the number of steps."""
    hidden: int
    first: int
    """Steps of the network alone."""
    steps: int
    smooth: bool = True
    """Begin with a process noise well below the measurement noise, both from pairs; otherwise they begin equal."""

    def method(self, train: gpssm.Episodes, *, states: int, kernel: AbstractKernel) -> Then:
        """For these episodes. The kernel should know of angles."""
        network = Network(self.hidden, gain=0.9, width=None)
        # Where velocities are hidden, forces move what is measured by a detour.
        pairs = Pairs(0.1, guess=Differences()) if states > train.num_outputs else Pairs(0.2)
        alone = Variational(
            ModelSpec(states, kernel=kernel, num_inducing=min(self.inducing, train.num_steps // 2)),
            first=pairs if self.smooth else None,
            q_x=network,
            q_u=Explicit(),
            expectation=MonteCarlo(1),
            optimiser=Adam(self.first),
            freeze=_whole_model,
        )
        together = Adam(self.steps, rates=Rates(noise=Rates().noise / 10.0))
        return alone.then(Variational(q_x=network, q_u=Collapsed(), expectation=MonteCarlo(1), optimiser=together))


def refinement(*, iterations: int, distil: int) -> Variational:
    """What the network has learnt, taken to the optimum of the family; the network then learns to read it."""
    return Variational(q_x=PerStep(), q_u=Collapsed(), optimiser=LBFGS(iterations), distil=distil)


def _whole_model(model: GPSSM, inference: MeanField) -> GPSSM:
    return model


NETWORK = Recipe(inducing=100, hidden=32, first=200, steps=1000)
NETWORK_QUICK = Recipe(inducing=12, hidden=8, first=20, steps=20)
FEW_TRIALS = replace(NETWORK, steps=3000)
NETWORK_STARTS: dict[str, Recipe] = {
    "smooth": replace(FEW_TRIALS, steps=5000),
    "equal": replace(FEW_TRIALS, steps=5000, smooth=False),
    "smooth, 200 points": replace(FEW_TRIALS, steps=5000, inducing=200),
}
"""How the network's fit begins, and with how many inducing points."""
CART_POLE = SwingUp(inducing=100, hidden=50, steps=4000, best_inducing=200, cycles=25, recipe=FEW_TRIALS)
DOUBLE_PENDULUM = SwingUp(inducing=200, hidden=80, steps=1500, best_inducing=200, cycles=25, recipe=FEW_TRIALS)
SWING_UP_QUICK = SwingUp(inducing=20, hidden=8, steps=20, best_inducing=20, cycles=2, recipe=NETWORK_QUICK)


def swing_up_argp(kernel: AbstractKernel, *, lags: int, inducing: int) -> GPNARX:
    """A sparse autoregressive GP, affordable with many lags."""
    return GPNARX(lags, kernel=kernel, restarts=1, iterations=60, max_exact=inducing, num_inducing=inducing)


def swing_up_marginal(train: gpssm.Episodes, *, states: int, kernel: AbstractKernel, quick: bool) -> Marginal:
    """States integrated out; the first guess of hidden ones is chosen by held-out stretches. As many inducing points as
    the data can tell of: half a value for each measured number, over all states. In six dimensions they leave much of
    the function open all the same: the evidence moves them."""
    measured = sum(int(episode.observed.sum()) for episode in train)
    model = ModelSpec(states, kernel=kernel, num_inducing=8 if quick else measured // (2 * states))
    return Marginal(model, rounds=1 if quick else 4, iterations=5 if quick else 100, move_inducing=True)


def real_set_marginal(*, unsigned: bool, quick: bool) -> Marginal:
    """Around a linear system; free runs over held-out stretches say with how many states, and when training ends."""
    emission = Magnitude if unsigned else LinearGaussian
    model = AroundLinear((2,) if quick else (2, 3), num_inducing=8 if quick else 30, emission=emission)
    return Marginal(model, rounds=1 if quick else 10, iterations=5 if quick else 60)


PROCESS_NOISE_STATES = 4


def process_noise(kernel: AbstractKernel, *, inducing: int, cycles: int) -> Variational:
    """As the double pendulum's best row, without L-BFGS at the end."""
    model = ModelSpec(PROCESS_NOISE_STATES, kernel=kernel, num_inducing=inducing)
    return _in_turn(model, Alternating(cycles, None))


SWING_UP_CONSTANT, SWING_UP_PREVIOUS = Constant(), PreviousEpisode()


def swing_up_kalman(order: int) -> Linear:
    """A linear state-space model."""
    return Linear(order)


def swing_up_autoregressions(kernels: Mapping[int, AbstractKernel]) -> dict[str, dict[int, GPNARX]]:
    """Autoregressive GPs by their numbers of lags, which compete. The kernels of the second kind should know of
    angles."""
    return {
        "argp": {lags: GPNARX(output_lags=lags) for lags in kernels},
        "argp angles": {lags: GPNARX(output_lags=lags, kernel=kernel) for lags, kernel in kernels.items()},
    }


# The actuator.

ACTUATOR_STATES, ACTUATOR_INDUCING, ACTUATOR_HIDDEN, ACTUATOR_STEPS = 4, 15, 15, 4000


def actuator_paper(*, inputs: int, steps: int = ACTUATOR_STEPS) -> Variational:
    """The paper's model and inference."""
    scales = jnp.full(ACTUATOR_STATES + inputs, 2.0)
    smooth = RBF(lengthscale=scales, variance=0.5)  # pyright: ignore[reportArgumentType]
    rough = Matern12(lengthscale=scales, variance=0.1)  # pyright: ignore[reportArgumentType]
    model = ModelSpec(ACTUATOR_STATES, kernel=smooth + rough, num_inducing=ACTUATOR_INDUCING)
    return _papers(model, Network(ACTUATOR_HIDDEN), Adam(steps))


BY_NETWORK = Variational(
    ModelSpec(2), q_x=Network(32), q_u=Collapsed(), expectation=MonteCarlo(1), optimiser=Adam(1500)
)
BY_BOUND = Variational(ModelSpec(2), q_x=PerStep(), q_u=Collapsed(), optimiser=LBFGS(100))
BY_BOUND_LINEAR_MEAN = Variational(
    ModelSpec(2, mean=SubspaceMean()), q_x=PerStep(), q_u=Collapsed(), optimiser=LBFGS(40)
)

ACTUATOR_OPPONENTS: Methods = {"constant": Constant(), "arx": ARX(output_lags=10), "kalman": Linear(4)}
ACTUATOR_MEMBERS: Methods = {
    "free runs, 2 states": OutputError(2),
    "free runs, 3 states": OutputError(3),
    "bound, 2 states, linear mean, 40 iterations": BY_BOUND_LINEAR_MEAN,
    "bound, 2 states, 100 iterations": BY_BOUND,
    "network, 2 states, 1500 steps": BY_NETWORK,
}
ACTUATOR_QUICK: Methods = grid("gpssm", OutputError, states=(2,), num_inducing=(10,), rounds=(1,))
NARX: Methods = grid("gp-narx", GPNARX, output_lags=(4, 10), increment=(False,))


# The real records.


def real_set_families(*, unsigned: bool) -> dict[str, Methods]:
    """What is compared on a set, from simple to complex. Of an `unsigned` sensor, which shows magnitudes, only fits by
    free runs know."""
    emission = Magnitude if unsigned else LinearGaussian
    by_bound: Methods = {"gpssm network, states=2": BY_NETWORK, "gpssm bound, states=2": BY_BOUND}
    free_runs: Methods = {
        f"gpssm free runs, states={n}, warmup_rounds={rounds}": OutputError(n, warmup_rounds=rounds, emission=emission)
        for n, rounds in ((2, 0), (3, 0), (2, 2), (3, 2))
    }
    return {
        "constant": {"constant": Constant()},
        "arx": grid("arx", ARX, output_lags=(2, 4, 8)),
        "kalman": grid("kalman", partial(Linear, iterations=100), order=(2, 3, 4)),
        "gp-narx": NARX,
        "gpssm": free_runs if unsigned else free_runs | by_bound,
    }


REAL_SETS_QUICK: dict[str, Methods] = {
    "constant": {"constant": Constant()},
    "arx": grid("arx", ARX, output_lags=(2,)),
    "gpssm": grid("gpssm", OutputError, states=(1,), num_inducing=(8,), rounds=(1,)),
}
