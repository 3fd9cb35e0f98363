"""Output-error identification: a GPSSM whose own free runs come as close to the data as the prior allows."""

import time

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._history import History
from gpssm._core._params import cast
from gpssm._core._random import fold_in
from gpssm._core._result import Result
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run, Status
from gpssm.methods.output_error._onward import earlier_model, onward
from gpssm.methods.output_error._problem import Problem
from gpssm.methods.output_error._start import STARTS
from gpssm.models import AbstractEmission, LinearGaussian
from gpssm.predict import System


class OutputError(AbstractMethod):
    """Learn a linear system and a GP that corrects it from free runs over the training records.

    The bound judges single steps; this judges what comes out after hundreds of them. A free run fits anything if it is
    let, therefore two brakes. First, everything has a prior: the linear part around the identified linear system, the
    GP's inducing values around zero, with an amplitude for each state that is re-estimated in each of the `rounds` from
    how many parameters the data determine (MacKay's evidence framework). Second, what a free run misses is correlated
    in time, so that n residuals are worth fewer independent ones; the likelihood is raised to the power of one over
    their correlation time.

    The posterior over the GP is Gaussian with the curvature at the optimum. The key places the inducing inputs.

    From an earlier output-error fit of the same size (`start=`), to these records or others, it goes on with the
    function of that; the key then only draws models. From anything else it begins anew, and says so.
    """

    states: int
    num_inducing: int = 30
    lengthscale: float = 2.0
    """First length-scales, in standard deviations of the states and inputs visited."""
    emission: type[AbstractEmission] = eqx.field(default=LinearGaussian, static=True)
    """`LinearGaussian`, or `Magnitude` for sensors that show magnitudes, zero being zero in the user's units."""
    rounds: int = 6
    warmup_rounds: int = 2
    """What a linear system misses may last so long that, with the second brake on, the GP never gets a chance to
    explain it: in the first rounds residuals count as independent and amplitudes are kept. With few data that start
    leads to memorising, and none is better: let `gpssm.select` compare 0 and 2."""
    iterations: int = 10
    """Of Levenberg and Marquardt in each round."""

    def __check_init__(self) -> None:
        if self.states < 1:
            raise ValueError(f"states={self.states}: a state-space model needs at least one state")
        if self.rounds < 1:
            raise ValueError(f"rounds={self.rounds}: need at least one")
        if self.emission not in STARTS:
            known = ", ".join(emission.__name__ for emission in STARTS)
            raise ValueError(f"emission={self.emission.__name__}: output-error fits know {known}")

    @property
    def deterministic(self) -> bool:
        return False

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Search and weigh anew in turn, with a checkpoint after each round."""
        stage = run.stage("rounds", shown="output error")
        history = History(float(data.episodes.num_steps))
        problem, skipped = self._begun(data, run, history, key)
        done, stopped = skipped, False
        resumed = stage.resume(problem.state())
        if resumed is not None:
            problem, done, history = problem.at(resumed.state), resumed.step, resumed.history
        began = time.monotonic() - history.seconds
        for i in range(done, self.rounds):
            problem = problem.search(self.iterations, stop=lambda: run.interrupted)
            history.events.append(problem.described())
            pace = (i + 1 - done) / (time.monotonic() - began)
            made, total = i + 1 - skipped, self.rounds - skipped
            stage.update(Status(stage.shown, made, total, problem.error(), pace, label="free-run error (scaled)"))
            stopped = run.interrupted and i < self.rounds - 1
            if stopped or i == self.rounds - 1:
                break
            problem = problem.trusting() if i < self.warmup_rounds else problem.reweighed()
            history.seconds = time.monotonic() - began
            stage.keep(problem.state(), i + 1, history)
        history.seconds = time.monotonic() - began
        # A fit that was broken off is not at the optimum about which models are drawn.
        joint = None if stopped else problem.drawn(fold_in(key, 1 << 20))
        system = System(cast(problem.model(), np.float64), data.scaler, data.channels, joint=joint)
        finite = bool(jnp.all(jnp.isfinite(system.model.transition.noise_variance())))
        result = Result.interrupted if stopped else Result.finished if finite else Result.diverged
        return Fit.of(system, self, result, history)

    def _begun(self, data: Prepared, run: Run, history: History, key: PRNGKeyArray) -> tuple[Problem, int]:
        """The problem before its first search, and how many rounds need not be made."""
        skipped, problem = 0, None
        if data.start is not None:
            earlier = earlier_model(data.start, self.states, self.num_inducing, self.emission)
            if isinstance(earlier, str):
                history.events.append(f"output error: begins anew and not from the earlier fit: {earlier}")
                run.say(history.events[-1])
            else:
                problem = onward(earlier, data.scaled, self.lengthscale, data.room)
                # The GP has had its chance to explain what a linear system misses; first states need a round.
                skipped = max(self.warmup_rounds - 1, 0) if self.rounds > self.warmup_rounds + 1 else 0
        if problem is None:
            start = STARTS[self.emission](data.scaled, data.scaler, self.states)
            problem = Problem.of(start, data.scaled, self.num_inducing, self.lengthscale, key, data.room)
        return problem.trusting() if self.warmup_rounds else problem.weighed(0.0), skipped
