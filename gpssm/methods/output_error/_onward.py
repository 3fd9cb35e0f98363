"""Where an output-error fit goes on from an earlier one, to the same records or to more of them."""

import jax
import numpy as np
from gpjax.kernels import RBF

from gpssm._core._params import val
from gpssm.data import Episodes
from gpssm.fitting import Fit, Room
from gpssm.methods.output_error._parameters import Frame, Parameters
from gpssm.methods.output_error._problem import Problem
from gpssm.methods.output_error._records import Records, filled_starts
from gpssm.methods.output_error._stable import StableMatrices
from gpssm.methods.output_error._start import first_states
from gpssm.models import GPSSM, LinearGaussian, LinearMean, SparseGP
from gpssm.predict import System


def earlier_model(fit: Fit | None, states: int, num_inducing: int) -> GPSSM | None:
    """The model of an earlier output-error fit of the same size; None where there is nothing to go on from."""
    model = fit.system.model if fit is not None and isinstance(fit.system, System) else None
    if model is None or model.state_dim != states or not isinstance(model.emission, LinearGaussian):
        return None
    gp = model.transition
    if not isinstance(gp, SparseGP) or not isinstance(gp.mean, LinearMean) or not gp.whitened:
        return None
    if gp.inducing.shape[:-1] != (num_inducing,) or len(gp.kernels) != states:
        return None
    if any(type(kernel) is not RBF or kernel.active_dims != slice(None) for kernel in gp.kernels):
        return None
    lengths = [np.asarray(val(kernel.lengthscale)) for kernel in gp.kernels]  # pyright: ignore[reportAttributeAccessIssue]
    return model if all(np.array_equal(one, lengths[0]) for one in lengths) else None


def onward(model: GPSSM, scaled: Episodes, lengthscale: float, room: Room) -> Problem:
    """The problem at the optimum of an earlier fit, but for the first states of the records, which linear free runs
    give. The linear part has its prior around where it stands."""
    gp, emission = model.transition, model.emission
    assert isinstance(gp, SparseGP) and isinstance(gp.mean, LinearMean) and isinstance(emission, LinearGaussian)
    mean, numbers = gp.mean, np.asarray(val(gp.kernels[0].lengthscale))  # pyright: ignore[reportAttributeAccessIssue]
    A, B, c, C, b = map(
        np.asarray, (mean.state_matrix, mean.control_matrix, mean.offset, emission.weight, emission.offset)
    )
    inducing = np.asarray(gp.inducing)
    log_scales = np.broadcast_to(np.log(numbers), inducing.shape[1:])
    amplitudes = np.array([np.sqrt(float(np.squeeze(val(kernel.variance)))) for kernel in gp.kernels])  # pyright: ignore[reportAttributeAccessIssue]
    starts = filled_starts(np.stack([first_states(A, B, c, C, b, episode) for episode in scaled]), room.episodes)

    def parameters(log_scales: np.ndarray, values: np.ndarray, starts: np.ndarray) -> Parameters:
        change, by_input, offset, *rest = jax.device_put((np.zeros_like(A), B, c, log_scales, values, starts))
        return Parameters(change, by_input, offset, emission, *rest)

    values = np.asarray(gp.q_mean)
    centre = parameters(np.full_like(log_scales, np.log(lengthscale)), np.zeros_like(values), np.zeros_like(starts))
    inducing, amplitudes = jax.device_put((inducing, amplitudes))
    frame = Frame(inducing, amplitudes, StableMatrices.around(A))
    records = Records.of(scaled, steps=room.steps)
    here = parameters(log_scales, values, starts)
    return Problem(here, centre, frame, records, np.ones(scaled.num_outputs), 1.0, None, 1.0)
