"""Systems to be written to files: untrained, because a file does not care."""

import dataclasses
from collections.abc import Callable
from functools import cache

import gpjax.kernels as gk
import gpjax.parameters as gp
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import paramax

import gpssm
from gpssm._core._params import Positive, cast
from gpssm.inference import GRU, BiRNN
from gpssm.kernels import Angles, ArcCosine0, Manifold
from gpssm.methods import PreviousEpisode
from gpssm.models import (
    GPSSM,
    FadingMean,
    JointPosterior,
    LinearGaussian,
    LinearMean,
    LinearTransition,
    Magnitude,
    SampledModels,
    SampledPosterior,
    SparseGP,
    StableMean,
)
from gpssm.models._sampled_models import kernel_arrays
from gpssm.predict import AbstractPredictor, Channels, MixturePredictor
from tests.reference.small_system import records

KERNELS: dict[str, Callable[[], gk.AbstractKernel]] = {
    "RBF": lambda: gk.RBF(lengthscale=jnp.array([0.7, 1.3]), variance=0.8),
    "Matern12": gk.Matern12,
    "Matern32": gk.Matern32,
    "Matern52": gk.Matern52,
    "Periodic": lambda: gk.Periodic(period=2.0),
    "PoweredExponential": lambda: gk.PoweredExponential(power=0.8),
    "RationalQuadratic": lambda: gk.RationalQuadratic(alpha=1.5),
    "White": lambda: gk.White(variance=0.3),
    "ArcCosine": lambda: gk.ArcCosine(order=1),
    "Linear": lambda: gk.Linear(variance=0.4),
    "Polynomial": lambda: gk.Polynomial(degree=3, shift=0.5),
    "Constant": lambda: gk.Constant(constant=0.7),
    "sum": lambda: gk.RBF() + gk.Matern12(active_dims=[0]) + gk.Constant(constant=0.1),
    "product": lambda: gk.RBF(active_dims=[0]) * gk.Linear(active_dims=slice(1, 2, 1), n_dims=1),
    "nested": lambda: (gk.RBF() + gk.Linear()) * gk.Matern52(),
    "ArcCosine0": lambda: ArcCosine0(variance=1.4, weight_variance=0.6, bias_variance=0.3),
    "Manifold": lambda: Manifold(gk.Matern32(), inputs=2, widths=(3, 2), key=jr.key(1)),
    "Angles": lambda: Angles(gk.RBF(lengthscale=jnp.array([0.5, 1.0, 2.0])), inputs=(0,), radians=(1.5,)),
    "held parameter": lambda: gk.RBF(lengthscale=paramax.non_trainable(gp.PositiveReal(jnp.asarray(0.5)))),
    "bounded parameter": lambda: gk.RBF(lengthscale=gp.SigmoidBounded(0.5, low=0.1, high=3.0)),
}


def history(steps: int = 7) -> gpssm.History:
    """A record with something in each field."""
    rng = np.random.default_rng(0)
    return gpssm.History(
        num_steps=82.0,
        bound=rng.standard_normal(steps),
        terms={"likelihood": rng.standard_normal(steps), "entropy": rng.standard_normal(steps)},
        process_noise=rng.uniform(size=(steps, 1)),
        measurement_noise=rng.uniform(size=(steps, 1)),
        gradient_norm=rng.uniform(size=steps),
        held_out=[(3, -1.25), (steps, float("-inf"))],
        events=["step 3: something — happened", "Adam: all steps were made"],
        seconds=1.5,
    )


def system(
    kernel: gk.AbstractKernel | None = None, *, network: bool = True, cell: type = GRU, seed: int = 0
) -> gpssm.System:
    """One state, one input; seven inducing points."""
    episodes = records()
    with jax.enable_x64(True):
        model_key, network_key = jr.split(jr.key(seed))
        model = GPSSM.from_data(episodes, state_dim=1, kernel=kernel, num_inducing=7, key=model_key)
        reader = BiRNN.from_data(episodes, state_dim=1, hidden=3, cell=cell, key=network_key)
        scaler = gpssm.Scaler.from_episodes(episodes)
        return gpssm.System(model, scaler, Channels.of(episodes), reader if network else None, history())


def linear_system() -> gpssm.System:
    """A linear transition with two states, one of them hidden, a learnt emission and no network."""
    rng = np.random.default_rng(3)
    mean = LinearMean(jnp.asarray(0.5 * rng.standard_normal((2, 2))), jnp.ones((2, 1)), jnp.zeros(2))
    emission = LinearGaussian.first_states(1, 2, learn=True)
    model = cast(GPSSM(LinearTransition(mean, Positive.of(jnp.full(1, 0.1))), emission, 2), np.float64)
    recipe = gpssm.data.Recipe(("level",), ("valve",), time="t", resample=0.5, offsets=(1.0, 0.0), units=("m", ""))
    channels = Channels(("level",), ("valve",), recipe=recipe)
    return gpssm.System(model, gpssm.Scaler.from_episodes(records()), channels)


def unsigned_system() -> gpssm.System:
    """The same system behind a sensor without sign."""
    signed = linear_system()
    emission = Magnitude(
        weight=jnp.array([[1.0, 0.3]]),
        offset=jnp.array([0.1]),
        floor=paramax.non_trainable(jnp.array([-0.4])),
        noise=Positive.of(jnp.array([0.02])),
    )
    model = cast(GPSSM(signed.model.transition, emission, 2), np.float64)
    return dataclasses.replace(signed, model=model)


@cache
def others() -> dict[str, AbstractPredictor]:
    """Models of every other kind."""
    methods = {
        "arx": gpssm.ARX(2),
        "subspace": gpssm.Subspace(2),
        "exact GP": gpssm.GPNARX(1, iterations=2, restarts=1),
        "sparse GP": gpssm.GPNARX(1, iterations=2, restarts=1, max_exact=10, num_inducing=5),
        "constant": gpssm.Constant(),
        "previous episode": PreviousEpisode(),
    }
    made = {name: gpssm.fit(records(), method, progress=gpssm.Silent()).system for name, method in methods.items()}
    mixture = MixturePredictor((made["arx"], made["constant"]), (0.8, 0.2), 0.9)
    return made | {
        "mixture": mixture,
        "mixture of a mixture": MixturePredictor((mixture, made["arx"])),
        "joint": joint_system(jnp.eye),
        "around a stable linear system": stable_system(),
        "drawn": joint_system(None),
        "drawn with kernels": drawn_system(),
    }


def drawn_system() -> gpssm.System:
    """Models that differ in function, noises and kernel."""
    plain = joint_system(None)
    arrays = kernel_arrays(plain.model.transition.bases())  # pyright: ignore[reportAttributeAccessIssue]
    kernels = tuple(jnp.stack([leaf + 0.1 * i for i in range(4)]) for leaf in arrays)
    noises = jnp.linspace(0.01, 0.04, 4)[:, None]
    joint = SampledModels(jnp.ones((4, 1, 3)), noises, 2.0 * noises, kernels, False)
    return dataclasses.replace(plain, joint=joint)


def joint_system(factor) -> gpssm.System:
    """A GP whose mean fades, with a joint posterior: a Gaussian, or a few drawn models."""
    gp = SparseGP.create(gk.RBF(), jnp.linspace(-1.0, 1.0, 6).reshape(3, 2), state_dim=1, mean=FadingMean(0.8))
    plain = GPSSM(gp, LinearGaussian.first_states(1, 1), 1)
    joint = SampledPosterior(jnp.ones((4, 1, 3))) if factor is None else JointPosterior(0.1 * factor(3), False)
    scaler, channels = system().scaler, system().channels
    return gpssm.System(plain, scaler, channels, joint=joint)


def stable_system() -> gpssm.System:
    """A GP about a linear map that stays stable."""
    plain = joint_system(jnp.eye)
    mean = StableMean.around(np.array([[0.7]]), np.array([[0.3]]), np.array([0.1]))
    transition = dataclasses.replace(plain.model.transition, mean=mean)
    return dataclasses.replace(plain, model=dataclasses.replace(plain.model, transition=transition))
