"""Whether the parts of a model from a file fit together.

What a prediction will do is traced once with shapes alone, so that a misfit is found when the file is read.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from gpssm._core._errors import FileError
from gpssm.data import Scaler
from gpssm.inference import AbstractRecognition
from gpssm.models import GPSSM, Batch
from gpssm.predict import (
    AbstractPredictor,
    Autoregression,
    Channels,
    ConstantPredictor,
    Lags,
    LinearPredictor,
    LinearSystem,
    MixturePredictor,
    RepeatPredictor,
    System,
)
from gpssm.predict.autoregression import AbstractGPRegression, AbstractRegression, LinearRegression
from gpssm.predict.autoregression._exact_gp import ExactGP


def check_model(system: AbstractPredictor) -> None:
    """Refuse what could not predict."""
    width = system.free_run_width
    if not _is_number(width) or not (np.isfinite(width) and width > 0.0):
        raise FileError(f"the width of its free runs is {width!r}")
    match system:
        case MixturePredictor():
            _check_mixture(system)
        case System():
            _check_channels(system.channels)
            _check_state_space(system)
        case Autoregression():
            _check_channels(system.channels)
            _check_autoregression(system)
        case LinearPredictor():
            _check_channels(system.channels)
            _check_linear(system)
        case ConstantPredictor():
            _check_channels(system.channels)
            _check_direct(system)
            _check_outputs(system.channels, system.mean, system.std)
        case RepeatPredictor():
            _check_channels(system.channels)
            if not isinstance(system.outputs, np.ndarray) or system.outputs.ndim != 2 or not len(system.outputs):
                raise FileError("the record that is repeated has no steps")
            _check_direct(system)
            _check_outputs(system.channels, system.outputs[0], system.std)
        case _:
            # A model of a user's own class: its `__check_init__` has been called.
            _check_channels(system.channels)


def _check_mixture(mixture: MixturePredictor) -> None:
    members, weights = mixture.members, mixture.weights
    if not isinstance(members, tuple) or not all(isinstance(member, AbstractPredictor) for member in members):
        raise FileError("a member of the mixture is no model")
    if weights is not None and not (isinstance(weights, tuple) and all(_is_number(weight) for weight in weights)):
        raise FileError("the weights of the mixture are no numbers")
    if not _is_number(mixture.width):
        raise FileError("the width of the mixture is no number")
    mixture.__post_init__()
    for member in members:
        check_model(member)
        if member.channels != members[0].channels:
            raise FileError("the members of the mixture have different channels")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_channels(channels: Channels) -> None:
    if not isinstance(channels, Channels):
        raise FileError("the channels of the model are missing")
    for names in (channels.output_names, channels.input_names):
        if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            raise FileError("the names of the channels are not a list of names")
        if len(set(names)) < len(names):
            raise FileError("two channels have the same name")
    if not channels.output_names:
        raise FileError("the model has no outputs")
    dt = channels.dt
    if dt is not None and not (isinstance(dt, float) and np.isfinite(dt) and dt > 0.0):
        raise FileError(f"the time step is {dt!r}")
    count = len(channels.output_names) + len(channels.input_names)
    if len(channels.low) not in (0, count) or len(channels.high) != len(channels.low):
        raise FileError("there is not one range for each channel")
    recipe = channels.recipe
    if recipe is not None and (recipe.outputs, recipe.inputs) != (channels.output_names, channels.input_names):
        raise FileError("the recipe of its data is for other channels")


def _check_scaler(scaler: Scaler, channels: Channels) -> None:
    if not isinstance(scaler, Scaler):
        raise FileError("the scaler of the model is missing")
    scaler.__post_init__()
    if (len(scaler.output_mean), len(scaler.input_mean)) != (len(channels.output_names), len(channels.input_names)):
        raise FileError("names and scaler do not fit together")


def _check_direct(system: ConstantPredictor | RepeatPredictor) -> None:
    if system.scaler is not None:
        _check_scaler(system.scaler, system.channels)


def _check_state_space(system: System) -> None:
    model, channels = system.model, system.channels
    if not isinstance(model, GPSSM):
        raise FileError("the file does not hold a state-space model")
    _check_scaler(system.scaler, channels)
    states, outputs, inputs = model.state_dim, len(channels.output_names), len(channels.input_names)
    if type(states) is not int or states < 1:
        raise FileError(f"the model has {states!r} states")
    x, u = jax.ShapeDtypeStruct((states,), np.float64), jax.ShapeDtypeStruct((inputs,), np.float64)

    def one_step(model: GPSSM, x: jax.Array, u: jax.Array):
        mean, variance = model.transition.condition().moments(x, u)
        noises = model.transition.noise_variance(), model.emission.noise_variance()
        return mean, variance, model.emission.mean(x), *noises

    shapes = [leaf.shape for leaf in eqx.filter_eval_shape(one_step, model, x, u)]
    if shapes != [(states,), (states,), (outputs,), (states,), (outputs,)]:
        raise FileError(f"a prediction would have the shapes {shapes}")
    _check_noise(model.transition.noise_variance())
    _check_noise(model.emission.noise_variance())
    if system.joint is not None and not system.joint.fits(model):
        raise FileError("the joint posterior of the model is about another one")
    if system.recognition is not None:
        if not isinstance(system.recognition, AbstractRecognition):
            raise FileError("the network of the model is none")
        means = eqx.filter_eval_shape(
            lambda net, e: net.posterior(e).means, system.recognition, _blank(outputs, inputs)
        )
        if means.shape != (3, states):
            raise FileError(f"the network reads {means.shape[-1]} states and the model has {states}")


def _check_linear(predictor: LinearPredictor) -> None:
    _check_scaler(predictor.scaler, predictor.channels)
    system = predictor.system
    if not isinstance(system, LinearSystem) or not all(isinstance(part, np.ndarray) for part in vars(system).values()):
        raise FileError("the matrices of the linear model are missing")
    states, outputs = len(system.c), len(predictor.channels.output_names)
    inputs = len(predictor.channels.input_names)
    shapes = {"A": (states, states), "B": (states, inputs), "c": (states,), "C": (outputs, states), "b": (outputs,)}
    shapes |= {"Q": (states, states), "R": (outputs,), "m0": (states,), "P0": (states, states)}
    for name, shape in shapes.items():
        part = getattr(system, name)
        if part.shape != shape or not np.isfinite(part).all():
            raise FileError(f"the matrix {name} of the linear model has the shape {part.shape}, or is not finite")
    _check_noise(np.concatenate([system.R, np.diagonal(system.Q), np.diagonal(system.P0)]))


def _check_noise(variance: jax.Array | np.ndarray) -> None:
    values = np.asarray(variance)
    if not (np.isfinite(values).all() and (values >= 0.0).all()):
        raise FileError(f"a noise of the model has the variance {values}")


def _check_autoregression(system: Autoregression) -> None:
    channels, lags, regression = system.channels, system.lags, system.regression
    _check_scaler(system.scaler, channels)
    if not isinstance(lags, Lags) or not isinstance(regression, AbstractRegression):
        raise FileError("the lags or the regression of the model are missing")
    if type(lags.outputs) is not int or type(lags.inputs) is not int or type(lags.increment) is not bool:
        raise FileError("the lags of the model are no whole numbers")
    lags.__post_init__()
    if not _is_number(system.log_evidence):
        raise FileError("the evidence of the model is no number")
    outputs, inputs = len(channels.output_names), len(channels.input_names)
    width = lags.outputs * outputs + lags.inputs * inputs
    match regression:
        case LinearRegression():
            _check_linear_regression(regression, width, outputs, lags)
        case ExactGP():
            _check_exact_gp(regression, width, outputs)
    if isinstance(regression, AbstractGPRegression):
        z = jax.ShapeDtypeStruct((width,), np.float64)
        moments = eqx.filter_eval_shape(lambda r, z: (*r.moments(z), r.noise_variance()), regression, z)
        shapes = [leaf.shape for leaf in moments]
        if shapes != [(outputs,)] * 3:
            raise FileError(f"a prediction would have the shapes {shapes}")
    _check_noise(regression.noise_variance())


def _check_linear_regression(regression: LinearRegression, width: int, outputs: int, lags: Lags) -> None:
    """Also what traced shapes do not show: arrays that happen to broadcast."""
    shapes = np.shape(regression.weights), np.shape(regression.chol), np.shape(regression.noise)
    if shapes != ((width + 1, outputs), (width + 1, width + 1), (outputs,)):
        raise FileError(f"lags and coefficients do not fit together: {shapes}")
    for part in (regression.weights, regression.chol):
        if not (np.issubdtype(part.dtype, np.floating) and np.isfinite(part).all()):
            raise FileError("coefficients of the model are no finite numbers")
    radius = regression.max_radius
    if regression.output_lags != lags.outputs or not (radius is None or (_is_number(radius) and radius > 0.0)):
        raise FileError("the recurrence of the model makes no sense")


def _check_exact_gp(gp: ExactGP, width: int, outputs: int) -> None:
    parts = (gp.priors, gp.targets, gp.inverses, gp.weights)
    if not all(isinstance(part, tuple) and len(part) == outputs for part in parts):
        raise FileError("there is not one GP for each output")
    rows = np.shape(gp.z)[0]
    shapes = {np.shape(gp.valid), *map(np.shape, gp.targets), *map(np.shape, gp.weights)}
    if np.shape(gp.z) != (rows, width) or shapes != {(rows,)} or set(map(np.shape, gp.inverses)) != {(rows, rows)}:
        raise FileError("the rows of the GP do not fit together")


def _check_outputs(channels: Channels, mean: np.ndarray, std: np.ndarray) -> None:
    wanted = (len(channels.output_names),)
    numbers = all(isinstance(values, np.ndarray) and values.dtype.kind == "f" for values in (mean, std))
    if not numbers or mean.shape != wanted or std.shape != wanted or not (std > 0.0).all():
        raise FileError("means, spreads and names do not fit together")


def _blank(outputs: int, inputs: int) -> Batch:
    return Batch(
        y=jnp.zeros((3, outputs)),
        u=jnp.zeros((3, inputs)),
        observed=jnp.ones((3, outputs), bool),
        valid=jnp.ones(3, bool),
        index=jnp.zeros((), jnp.int32),
        weight=jnp.ones(()),
    )
