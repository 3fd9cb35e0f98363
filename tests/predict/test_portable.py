"""Systems that were pickled predict the same bits, whatever the precision of whoever reads them."""

import copy
import pickle
from collections.abc import Callable

import jax
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.baselines import AutoregressiveLinear, LinearKalman
from gpssm.systems import Pendulum

TRAIN = Pendulum().simulate(episodes=3, steps=20, key=jr.key(0)).episodes


def _read_in_single_precision(written: bytes) -> object:
    with jax.enable_x64(False):
        return pickle.loads(written)


@pytest.mark.parametrize("again", [lambda system: _read_in_single_precision(pickle.dumps(system)), copy.deepcopy])
@pytest.mark.parametrize(
    "fit",
    [
        lambda: LinearKalman.fit(TRAIN, order=2, iterations=3, key=jr.key(1)),
        lambda: AutoregressiveLinear.fit(TRAIN, output_lags=2),
        lambda: gpssm.Ensemble((AutoregressiveLinear.fit(TRAIN, output_lags=1),), width=0.5),
    ],
    ids=["state-space model", "autoregression", "mixture"],
)
def test_a_copy_predicts_the_same_bits(fit: Callable, again: Callable):
    system = fit()
    runs = [one.simulate(TRAIN[0], n_init=4, num_samples=3, key=jr.key(2)).samples for one in (system, again(system))]
    np.testing.assert_array_equal(*runs)
