"""Where an output-error fit goes on from an earlier one, to the same records or to more of them."""

import jax
import numpy as np

from gpssm._core._params import val
from gpssm.data import Episodes
from gpssm.fitting import Fit, Room
from gpssm.methods.output_error._parameters import Frame, Parameters
from gpssm.methods.output_error._problem import Problem
from gpssm.methods.output_error._records import Records, filled_starts
from gpssm.methods.output_error._start import first_state
from gpssm.models import GPSSM, AbstractEmission, LinearGaussian, LinearMean, SampledPosterior, SparseGP
from gpssm.models.transition._stable import StableMatrices
from gpssm.predict import System


def earlier_model(fit: Fit, states: int, num_inducing: int, emission: type[AbstractEmission]) -> GPSSM | str:
    """The model of an earlier output-error fit of the same size, or why there is none to go on from."""
    system = fit.system
    # Only finished output-error fits have models drawn from their posterior.
    if not isinstance(system, System) or not isinstance(system.joint, SampledPosterior):
        return "it is no finished output-error fit"
    gp = system.model.transition
    assert isinstance(gp, SparseGP)
    if emission is not LinearGaussian or not isinstance(system.model.emission, LinearGaussian):
        return "only with a linear emission it can go on"
    if system.model.state_dim != states:
        return f"it has {system.model.state_dim} states, not {states}"
    if len(gp.inducing) != num_inducing:
        return f"it has {len(gp.inducing)} inducing points, not {num_inducing}"
    return system.model


def onward(model: GPSSM, scaled: Episodes, lengthscale: float, room: Room) -> Problem:
    """The problem at the function of an earlier fit. First states of the records are those of linear free runs, which
    are poor where the GP matters: the first search has to find better ones. The linear part has its prior around where
    it stands."""
    gp, emission = model.transition, model.emission
    assert isinstance(gp, SparseGP) and isinstance(gp.mean, LinearMean) and isinstance(emission, LinearGaussian)
    mean, lengths = gp.mean, np.asarray(val(gp.kernels[0].lengthscale))  # pyright: ignore[reportAttributeAccessIssue]
    A, B, c, C, b = map(
        np.asarray, (mean.state_matrix, mean.control_matrix, mean.offset, emission.weight, emission.offset)
    )
    inducing = np.asarray(gp.inducing)
    log_scales = np.broadcast_to(np.log(lengths), inducing.shape[1:])
    amplitudes = np.array([np.sqrt(float(np.squeeze(val(kernel.variance)))) for kernel in gp.kernels])  # pyright: ignore[reportAttributeAccessIssue]
    starts = filled_starts(np.stack([first_state(A, B, c, C, b, episode) for episode in scaled]), room.episodes)

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
