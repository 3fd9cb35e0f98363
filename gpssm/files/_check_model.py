"""Whether the parts of a model from a file fit together.

What a prediction will do is traced once with shapes alone, so that a misfit is found when the file is read.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from gpssm._core._errors import FileError
from gpssm.data import Scaler
from gpssm.models import GPSSM, Batch
from gpssm.predict import (
    AbstractPredictor,
    Autoregression,
    Channels,
    ConstantPredictor,
    MixturePredictor,
    RepeatPredictor,
    System,
)


def check_model(system: AbstractPredictor) -> None:
    """Refuse what could not predict."""
    match system:
        case MixturePredictor():
            system.__post_init__()
            for member in system.members:
                if not isinstance(member, AbstractPredictor):
                    raise FileError("a member of the mixture is no model")
                _check_channels(member.channels)
                if member.channels != system.channels:
                    raise FileError("the members of the mixture have different channels")
                check_model(member)
        case System():
            _check_channels(system.channels)
            _check_state_space(system)
        case Autoregression():
            _check_channels(system.channels)
            _check_autoregression(system)
        case ConstantPredictor():
            _check_channels(system.channels)
            _check_outputs(system.channels, system.mean, system.std)
        case RepeatPredictor():
            _check_channels(system.channels)
            if system.outputs.ndim != 2 or not len(system.outputs):
                raise FileError("the record that is repeated has no steps")
            _check_outputs(system.channels, system.outputs[0], system.std)
        case _:
            # A model of a user's own class: its `__check_init__` has been called.
            _check_channels(system.channels)


def _check_channels(channels: Channels) -> None:
    if not isinstance(channels, Channels):
        raise FileError("the channels of the model are missing")
    for names in (channels.output_names, channels.input_names):
        if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            raise FileError("the names of the channels are not a list of names")
    dt = channels.dt
    if dt is not None and not (isinstance(dt, float) and np.isfinite(dt) and dt > 0.0):
        raise FileError(f"the time step is {dt!r}")


def _check_scaler(scaler: Scaler, channels: Channels) -> None:
    if not isinstance(scaler, Scaler):
        raise FileError("the scaler of the model is missing")
    scaler.__post_init__()
    if (len(scaler.output_mean), len(scaler.input_mean)) != (len(channels.output_names), len(channels.input_names)):
        raise FileError("names and scaler do not fit together")


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
    if system.recognition is not None:
        means = eqx.filter_eval_shape(
            lambda net, e: net.posterior(e).means, system.recognition, _blank(outputs, inputs)
        )
        if means.shape != (3, states):
            raise FileError(f"the network reads {means.shape[-1]} states and the model has {states}")


def _check_autoregression(system: Autoregression) -> None:
    channels, lags = system.channels, system.lags
    _check_scaler(system.scaler, channels)
    lags.__post_init__()
    outputs, inputs = len(channels.output_names), len(channels.input_names)
    z = jax.ShapeDtypeStruct((lags.outputs * outputs + lags.inputs * inputs,), np.float64)
    shapes = [
        leaf.shape
        for leaf in eqx.filter_eval_shape(lambda r, z: (*r.moments(z), r.noise_variance()), system.regression, z)
    ]
    if shapes != [(outputs,)] * 3:
        raise FileError(f"a prediction would have the shapes {shapes}")


def _check_outputs(channels: Channels, mean: np.ndarray, std: np.ndarray) -> None:
    wanted = (len(channels.output_names),)
    if np.shape(mean) != wanted or np.shape(std) != wanted or not (np.asarray(std) > 0.0).all():
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
