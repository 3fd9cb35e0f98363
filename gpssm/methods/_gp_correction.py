"""From a linear model to a nonlinear one: a GP learns what a linear system misses."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._params import Positive, cast
from gpssm._core._random import seed_of, split
from gpssm._core._result import Result
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.fitting._problem import Training, prepare
from gpssm.inference import AbstractExpectation, Collapsed, MeanField, PerStepStates, default_rule, linearised_posterior
from gpssm.kernels._abstract import AbstractKernel
from gpssm.kernels._rbf import rbf
from gpssm.methods._variational import fit_of
from gpssm.methods.linear import Linear
from gpssm.models import GPSSM, Batch, LinearTransition, SparseGP
from gpssm.models._inducing_inputs import place_inducing_inputs
from gpssm.optimisers import LBFGS
from gpssm.predict import System


class GPCorrection(AbstractMethod):
    """A linear model becomes the mean function of the transition, and everything, the linear part included, is learnt
    on by L-BFGS with states at each step and q(u) collapsed.

    The GP starts as a small correction. Where the linear model was right already, the correction stays small.
    """

    linear: Linear | None = None
    """How the linear model is learnt; None goes on from an earlier linear fit."""
    kernel: AbstractKernel | None = None
    """One of your own is taken as it is."""
    num_inducing: int = 50
    lengthscale: float = 3.0
    """First length-scales, in standard deviations of the states and inputs visited."""
    variance_ratio: float = 2.0
    """First variance of the GP over the process noise of the linear model."""
    optimiser: LBFGS = LBFGS(150)
    expectation: AbstractExpectation | None = None

    @property
    def deterministic(self) -> bool:
        return False

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """The linear model, then its correction."""
        if self.linear is None:
            if data.start is None:
                raise ValueError("GPCorrection() has no linear model to correct: give linear=Linear(order=...)")
            return self._corrected(data.start.system, data, run, key)
        linear_key, grow_key = split(key)
        before = self.linear.fit(data.afresh(), run.within("linear"), key=linear_key)
        if before.result is Result.interrupted:
            return before.by(self)
        return self._corrected(before.system, data, run, grow_key).following(before)

    def _corrected(self, linear: object, data: Prepared, run: Run, key: PRNGKeyArray) -> Fit:
        if not isinstance(linear, System) or not isinstance(linear.model.transition, LinearTransition):
            raise TypeError("only a linear state-space model can be corrected so: fit Linear(order=...) first")
        before, batch = linear.model, data.batch()
        points_key, mean_key, polish_key = split(key, 3)
        zeros = np.zeros((*batch.valid.shape, before.state_dim))
        states = PerStepStates.from_posterior(linearised_posterior(before, batch, zeros, rounds=1))
        transition = _correction(
            linear.model.transition,
            _visited(states.means, batch),
            self.kernel,
            self.num_inducing,
            self.lengthscale,
            self.variance_ratio,
            points_key,
            mean_key,
        )
        model = cast(GPSSM(transition, before.emission, before.state_dim), np.float64)
        inference = MeanField(states, Collapsed(), self.expectation or default_rule(model.state_dim))
        stage = run.stage("correction", shown="L-BFGS")
        trained = self.optimiser.run(prepare((model, inference), np.float64), Training(batch), stage, key=polish_key)
        return fit_of(trained, None, data, self)


def _visited(means: Float[Array, "B T D"], data: Batch) -> Float[np.ndarray, "N Q"]:
    valid = np.asarray(data.valid)
    return np.concatenate([np.asarray(means)[valid], np.asarray(data.u)[valid]], axis=1)


def _correction(
    linear: LinearTransition,
    points: Float[np.ndarray, "N Q"],
    kernel: AbstractKernel | None,
    num_inducing: int,
    lengthscale: float,
    variance_ratio: float,
    points_key: PRNGKeyArray,
    mean_key: PRNGKeyArray,
) -> SparseGP:
    noise = np.asarray(linear.noise_variance())
    scales = jnp.asarray(lengthscale * np.maximum(points.std(axis=0), 1e-3))
    kernels = [rbf(scales, float(variance_ratio * variance)) if kernel is None else kernel for variance in noise]
    inducing = place_inducing_inputs(points, num_inducing, seed=seed_of(points_key))
    created = SparseGP.create(kernels, jnp.asarray(inducing), state_dim=len(noise), mean=linear.mean, key=mean_key)
    return eqx.tree_at(lambda t: t.noise, created, Positive.of(jnp.asarray(noise)))
