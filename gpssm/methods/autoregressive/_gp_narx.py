"""GP autoregressions, by marginal likelihood."""

import time
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._compile import compile_by_work
from gpssm._core._history import History
from gpssm._core._params import Positive, cast
from gpssm._core._result import Result
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.kernels._abstract import AbstractKernel
from gpssm.kernels._rbf import rbf
from gpssm.methods._maximise import Maximum, maximise, perturb
from gpssm.methods.autoregressive._arx import lags_for
from gpssm.models import SparseGP, Transitions
from gpssm.models._inducing_inputs import place_inducing_inputs
from gpssm.predict import Autoregression
from gpssm.predict.autoregression import AbstractRegression, NoMean, SparseRegression
from gpssm.predict.autoregression._exact_gp import ExactGP, Points, Prior, filled_up, log_evidence


class GPNARX(AbstractMethod):
    """A GP from the last outputs and inputs to the next output, one for each output.

    Up to `max_exact` rows the GP is exact; beyond, it is sparse and its bound is maximised.
    """

    output_lags: int = 1
    input_lags: int | None = None
    """None: as many inputs as outputs are looked back upon."""
    increment: bool = True
    """Explain the change of the outputs instead of the outputs themselves."""
    kernel: AbstractKernel | str | None = None
    """None: an RBF with a length-scale for each lag of each channel."""
    restarts: int = 2
    """Searches for each output. The first two start at fixed places, the others at random."""
    iterations: int = 100
    max_exact: int = 2000
    num_inducing: int = 200

    def __check_init__(self) -> None:
        if self.restarts < 1:
            raise ValueError(f"restarts={self.restarts}: need at least one")

    @property
    def deterministic(self) -> bool:
        return self.restarts <= 2

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Learn the hyper-parameters and condition on the data."""
        began = time.monotonic()
        lags = lags_for(data, self.output_lags, self.input_lags, self.increment)
        table, targets = lags.table(data.scaled)
        learn = self._exact if len(table) <= self.max_exact else self._sparse
        regression, evidence, stopped = learn(self._kernel(table.shape[1]), table, targets, run, key)
        history = History(float(data.episodes.num_steps), seconds=time.monotonic() - began)
        history.events.append(f"marginal likelihood: {evidence / len(table):.4f} a row of {len(table)}")
        system = Autoregression(regression, lags, data.scaler, data.channels, evidence)
        return Fit.of(system, self, Result.interrupted if stopped else Result.finished, history)

    def _kernel(self, width: int) -> AbstractKernel:
        if isinstance(self.kernel, str):
            from gpssm.kernels import kernel_from_words

            return kernel_from_words(self.kernel, dims=width)
        if self.kernel is not None:
            return self.kernel
        return rbf(jnp.full(width, max(2.0, width**0.5)), 1.0)

    def _exact(
        self, kernel: AbstractKernel, table: np.ndarray, targets: np.ndarray, run: Run, key: PRNGKeyArray
    ) -> tuple[AbstractRegression, float, bool]:
        z, valid = jnp.asarray(filled_up(table)), jnp.asarray(filled_up(np.ones(len(table))))
        columns = tuple(jnp.asarray(filled_up(column)) for column in targets.T)
        total, priors, stopped = 0.0, [], False
        for i, (column, output_key) in enumerate(zip(columns, jr.split(key, len(columns)), strict=True)):
            level = max(float(jnp.sum(column**2) / len(table)), 1e-6)
            starts = [cast(Prior(kernel, Positive.of(share * level)), np.float64) for share in (0.1, 0.01)]
            keys = jr.split(output_key, self.restarts)
            starts += [perturb(starts[k % 2], spread=1.0, key=keys[k]) for k in range(2, self.restarts)]
            points = Points(z, column, valid)
            found = self._best(starts[: self.restarts], log_evidence, points, run.within(f"output{i}"))
            # After Ctrl-C the other outputs get what their starts say.
            stopped |= found.interrupted
            priors.append(found.tree)
            total += found.value
        return ExactGP.condition(tuple(priors), z, valid, columns), total, stopped

    def _best(self, starts: list, objective, points, run: Run) -> Maximum:
        best: Maximum | None = None
        for k, start in enumerate(starts):
            stage = run.stage(f"start{k}", shown="GP-NARX")
            found = maximise(start, objective, points, iterations=self.iterations, stage=stage)
            if best is None or found.value > best.value:
                best = found
            if found.interrupted:
                return best._replace(interrupted=True)
        assert best is not None
        return best

    def _sparse(
        self, kernel: AbstractKernel, table: np.ndarray, targets: np.ndarray, run: Run, key: PRNGKeyArray
    ) -> tuple[AbstractRegression, float, bool]:
        outputs, data = targets.shape[1], _Table(jnp.asarray(table), jnp.asarray(targets))
        starts = []
        for i, start_key in enumerate(jr.split(key, self.restarts)):
            seed_key, shake_key = jr.split(start_key)
            seed = int(jr.randint(seed_key, (), 0, 2**31 - 1))
            gp = SparseGP.create(
                [kernel] * outputs,
                jnp.asarray(place_inducing_inputs(table, self.num_inducing, seed=seed)),
                state_dim=outputs,
                noise=max(float(targets.var()), 1e-6) * (0.1, 0.01)[i % 2],
                mean=NoMean(),
            )
            gp = cast(gp, np.float64)
            if i >= 2:
                gp = eqx.tree_at(lambda t: t.kernels, gp, perturb(gp.kernels, spread=1.0, key=shake_key))
            starts.append(gp)
        found = self._best(starts, _collapsed_bound, data, run)
        return SparseRegression(_at_optimum(found.tree, data).condition()), found.value, found.interrupted


class _Table(NamedTuple):
    z: Float[Array, "N Q"]
    targets: Float[Array, "N O"]

    def transitions(self) -> Transitions:
        """The rows as transitions: the newest outputs, which come first, are the state."""
        outputs = self.targets.shape[1]
        return Transitions(
            states=self.z[:, :outputs],
            controls=self.z[:, outputs:],
            next_means=self.targets,
            next_variances=jnp.zeros_like(self.targets),
            weights=jnp.ones_like(self.z[:, 0]),
        )


def _collapsed_bound(gp: SparseGP, table: _Table) -> Float[Array, ""]:
    expected, divergence, _ = gp.collapsed(table.transitions())
    return expected - divergence


@compile_by_work(lambda gp, data: data.z.shape[0])
def _at_optimum(gp: SparseGP, data: _Table) -> SparseGP:
    return gp.towards_optimum(data.transitions())
