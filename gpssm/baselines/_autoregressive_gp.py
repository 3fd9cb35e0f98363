"""Fitting autoregressions: GPs by marginal likelihood, linear maps by least squares."""

from typing import NamedTuple, final

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from gpjax.kernels import RBF, AbstractKernel
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._guess import spread_points
from gpssm._params import Positive, cast
from gpssm._precision import double_precision
from gpssm.baselines._autoregressive import Autoregression
from gpssm.baselines._channels import Channels
from gpssm.baselines._exact_gp import ExactGP, Points, Prior, filled_up, log_evidence
from gpssm.baselines._lags import Lags
from gpssm.baselines._maximise import maximise, shaken
from gpssm.baselines._regression import LinearRegression, NoMean, SparseRegression
from gpssm.data import Episodes, Scaler
from gpssm.transition import SparseGP, Transitions


@final
class AutoregressiveGP:
    """A GP from the last outputs and inputs to the next output, one for each output."""

    @staticmethod
    @double_precision
    def fit(
        episodes: Episodes,
        *,
        output_lags: int = 1,
        input_lags: int | None = None,
        increment: bool = True,
        kernel: AbstractKernel | None = None,
        restarts: int = 2,
        iterations: int = 100,
        max_exact: int = 2000,
        num_inducing: int = 200,
        scaler: Scaler | None = None,
        key: PRNGKeyArray,
    ) -> Autoregression:
        """Learn the hyper-parameters by marginal likelihood, from `restarts` starts for each output.

        The default kernel is an RBF with a length-scale for each lag of each channel. As many inputs as outputs are
        looked back upon unless `input_lags` says otherwise. Up to `max_exact` rows the GP is exact; beyond, it is
        sparse with `num_inducing` learnt inducing inputs and its bound is maximised.
        """
        scaler = Scaler.from_episodes(episodes) if scaler is None else scaler
        lags = _lags(episodes, output_lags, input_lags, increment)
        table, targets = lags.table(scaler.apply(episodes))
        width = table.shape[1]
        if kernel is None:
            kernel = RBF(lengthscale=jnp.full(width, max(2.0, width**0.5)), variance=1.0)  # pyright: ignore[reportArgumentType]
        learn = _exact if len(table) <= max_exact else _sparse
        regression, evidence = learn(kernel, table, targets, restarts, iterations, num_inducing, key)
        return Autoregression(regression, lags, scaler, Channels.of(episodes), evidence)


@final
class AutoregressiveLinear:
    """A linear map from the last outputs and inputs to the next output (ARX)."""

    @staticmethod
    @double_precision
    def fit(
        episodes: Episodes,
        *,
        output_lags: int = 1,
        input_lags: int | None = None,
        ridge: float = 1e-6,
        max_radius: float | None = 1.0,
        scaler: Scaler | None = None,
    ) -> Autoregression:
        """Least squares with a slight ridge; free runs draw the coefficients from their posterior.

        Regressions on noisy data, and draws around them, are often slightly unstable, and a long free run explodes.
        Recurrences with a larger spectral radius than `max_radius` are pulled back to it; None leaves them as they are.
        """
        scaler = Scaler.from_episodes(episodes) if scaler is None else scaler
        lags = _lags(episodes, output_lags, input_lags, False)
        table, targets = lags.table(scaler.apply(episodes))
        rows = np.concatenate([table, np.ones((len(table), 1))], axis=1)
        precision = rows.T @ rows + ridge * len(rows) * np.eye(rows.shape[1])
        weights = np.linalg.solve(precision, rows.T @ targets)
        freedom = max(len(rows) - rows.shape[1], 1)
        noise = np.maximum(((targets - rows @ weights) ** 2).sum(axis=0) / freedom, 1e-10)
        # With precision = L L', L^-T e has the covariance of the coefficients up to the noise variance.
        chol = np.linalg.inv(np.linalg.cholesky(precision)).T
        squares = (targets - rows @ weights) ** 2
        evidence = float(-0.5 * np.sum(np.log(2.0 * np.pi * noise) + squares / noise))
        regression = LinearRegression(
            jnp.asarray(weights), jnp.asarray(chol), jnp.asarray(noise), output_lags, max_radius
        )
        return Autoregression(regression, lags, scaler, Channels.of(episodes), evidence)


def _lags(episodes: Episodes, output_lags: int, input_lags: int | None, increment: bool) -> Lags:
    inputs = output_lags if input_lags is None else input_lags
    return Lags(output_lags, inputs if episodes.num_inputs else 0, increment)


def _exact(
    kernel: AbstractKernel,
    table: np.ndarray,
    targets: np.ndarray,
    restarts: int,
    iterations: int,
    num_inducing: int,
    key: PRNGKeyArray,
) -> tuple[ExactGP, float]:
    z, valid = jnp.asarray(filled_up(table)), jnp.asarray(filled_up(np.ones(len(table))))
    columns = tuple(jnp.asarray(filled_up(column)) for column in targets.T)
    total, priors = 0.0, []
    for column, output_key in zip(columns, jr.split(key, len(columns)), strict=True):
        level = max(float(jnp.sum(column**2) / len(table)), 1e-6)
        starts = [cast(Prior(kernel, Positive.of(share * level)), np.float64) for share in (0.1, 0.01)]
        keys = jr.split(output_key, restarts)
        starts += [shaken(starts[i % 2], spread=1.0, key=keys[i]) for i in range(2, restarts)]
        runs = [
            maximise(start, log_evidence, Points(z, column, valid), iterations=iterations)
            for start in starts[:restarts]
        ]
        prior, evidence = max(runs, key=lambda run: run[1])
        priors.append(prior)
        total += evidence
    return ExactGP.condition(tuple(priors), z, valid, columns), total


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


def _sparse(
    kernel: AbstractKernel,
    table: np.ndarray,
    targets: np.ndarray,
    restarts: int,
    iterations: int,
    num_inducing: int,
    key: PRNGKeyArray,
) -> tuple[SparseRegression, float]:
    outputs, data = targets.shape[1], _Table(jnp.asarray(table), jnp.asarray(targets))
    runs = []
    for i, start_key in enumerate(jr.split(key, restarts)):
        seed_key, shake_key = jr.split(start_key)
        inducing = spread_points(table, num_inducing, seed=int(jr.randint(seed_key, (), 0, 2**31 - 1)))
        gp = SparseGP.create(
            [kernel] * outputs,
            jnp.asarray(inducing),
            state_dim=outputs,
            noise=max(float(targets.var()), 1e-6) * (0.1, 0.01)[i % 2],
            mean=NoMean(),
        )
        gp = cast(gp, np.float64)
        gp = gp if i < 2 else eqx.tree_at(lambda t: t.kernels, gp, shaken(gp.kernels, spread=1.0, key=shake_key))
        runs.append(maximise(gp, _collapsed_bound, data, iterations=iterations))
    best, bound = max(runs, key=lambda run: run[1])
    return SparseRegression(_at_optimum(best, data).condition()), bound


@eqx.filter_jit
def _at_optimum(gp: SparseGP, data: _Table) -> SparseGP:
    return gp.towards_optimum(data.transitions())
