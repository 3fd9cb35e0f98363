"""Systems that were pickled predict the same bits, whatever the precision of whoever reads them."""

import pickle
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF

from gpssm.baselines import AutoregressiveLinear, LinearKalman
from gpssm.evaluate import AutoregressiveGPCandidate, GPSSMCandidate
from gpssm.predict import MixturePredictor
from gpssm.systems import Pendulum

TRAIN = Pendulum().simulate(episodes=3, steps=20, key=jr.key(0)).episodes


def _read_in_single_precision(system: Any) -> Any:
    with jax.enable_x64(False):
        return pickle.loads(pickle.dumps(system))


@pytest.mark.parametrize(
    "fit",
    [
        lambda: LinearKalman.fit(TRAIN, order=2, iterations=3, key=jr.key(1)),
        lambda: AutoregressiveLinear.fit(TRAIN, output_lags=2),
        lambda: MixturePredictor((AutoregressiveLinear.fit(TRAIN, output_lags=1),), width=0.5),
    ],
    ids=["state-space model", "autoregression", "mixture"],
)
def test_a_copy_predicts_the_same_bits(fit: Callable):
    system = fit()
    both = (system, _read_in_single_precision(system))
    np.testing.assert_array_equal(
        *(one.simulate(TRAIN[0], n_init=4, num_samples=3, key=jr.key(2)).samples for one in both)
    )


@pytest.mark.parametrize(
    "make", [lambda kernel: GPSSMCandidate(1, kernel), lambda kernel: AutoregressiveGPCandidate(kernel=kernel)]
)
def test_a_candidate_keeps_the_precision_of_its_kernel(make: Callable):
    with jax.enable_x64(True):
        candidate = make(RBF(lengthscale=jnp.full(2, 1.0 / 3.0)))
    again = _read_in_single_precision(candidate)
    for before, after in zip(jax.tree.leaves(candidate.kernel), jax.tree.leaves(again.kernel), strict=True):
        np.testing.assert_array_equal(before, after)
