"""Output-error identification: a GPSSM whose own free runs come as close to the data as the prior allows."""

import time

import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._history import History
from gpssm._params import cast
from gpssm._precision import double_precision
from gpssm.data import Episodes, Scaler
from gpssm.output_error._problem import Problem
from gpssm.output_error._start import AbstractReading, Signed
from gpssm.predict import Identified


@double_precision
def fit_output_error(
    episodes: Episodes,
    *,
    states: int,
    num_inducing: int = 30,
    lengthscale: float = 2.0,
    reading: AbstractReading | None = None,
    rounds: int = 6,
    trusting: int = 2,
    iterations: int = 10,
    scaler: Scaler | None = None,
    key: PRNGKeyArray,
) -> Identified:
    """Learn a linear system and a GP that corrects it from free runs over the training records.

    The bound judges single steps; this judges what comes out after hundreds of them. A free run fits anything if it is
    let, therefore two brakes. First, everything has a prior: the linear part around the identified linear system, the
    GP's inducing values around zero, with an amplitude for each state that is re-estimated in each of the `rounds` from
    how many parameters the data determine (MacKay's evidence framework). Second, what a free run misses is correlated
    in time, so that n residuals are worth fewer independent ones; the likelihood is raised to the power of one over
    their correlation time.

    What a linear system misses may last so long that, with the second brake on, the GP never gets a chance to explain
    it: in the first `trusting` rounds residuals count as independent and amplitudes are kept. With few data that start
    leads to memorising, and none is better: let `gpssm.select` compare 0 and 2.

    The posterior over the GP is Gaussian with the curvature at the optimum. `iterations` of Levenberg and Marquardt are
    made in each round. The key places the inducing inputs.
    """
    began = time.monotonic()
    scaler = Scaler.from_episodes(episodes) if scaler is None else scaler
    scaled = scaler.apply(episodes)
    start = (Signed() if reading is None else reading).start(scaled, scaler, states)
    problem = Problem.of(start, scaled, num_inducing, lengthscale, key)
    history = History(float(episodes.num_steps))
    problem = problem.trusting() if trusting else problem.weighed(0.0)
    for i in range(rounds):
        problem = problem.search(iterations)
        history.events.append(problem.described())
        if i < rounds - 1:
            problem = problem.trusting() if i < trusting else problem.reweighed()
    model = problem.model()
    history.seconds = time.monotonic() - began
    return Identified(
        model=cast(model, np.float64),
        scaler=scaler,
        recognition=None,
        output_names=episodes.output_names,
        input_names=episodes.input_names,
        dt=episodes.dt,
        history=history,
    )
