"""Several starts trained together end where each alone ends."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.optimisers._restarts import train_many
from tests.fit.small_task import free_states, padded, sparse_model

EPISODES = gpssm.Episodes.from_arrays(
    y=[np.sin(0.7 * np.arange(12.0) + i)[:, None] for i in range(2)],
    u=[np.cos(1.3 * np.arange(12.0) + i)[:, None] for i in range(2)],
)


def start(seed: int) -> tuple[gpssm.GPSSM, gpssm.MeanField]:
    model_key, network_key = jr.split(jr.key(seed))
    model = gpssm.GPSSM.from_data(EPISODES, state_dim=1, num_inducing=4, key=model_key)
    network = gpssm.BiRNN.from_data(EPISODES, state_dim=1, hidden=3, key=network_key)
    return model, gpssm.MeanField(network, gpssm.Collapsed(), gpssm.MonteCarlo(1))


def numbers(*trees: object) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(trees) if isinstance(leaf, jax.Array)])


def test_starts_together_end_as_each_alone():
    seeds = (0, 1, 2, 3)
    keys = [jr.key(10 + seed) for seed in seeds]
    many = gpssm.fit_many([start(seed) for seed in seeds], EPISODES, steps=12, at_once=2, keys=keys)
    assert many.best is many.fits[int(np.argmax(many.bounds))]
    for i in (1, 2):
        alone = gpssm.fit(*start(seeds[i]), EPISODES, steps=12, key=keys[i])
        np.testing.assert_allclose(many.fits[i].history.bound, alone.history.bound, rtol=1e-9)
        np.testing.assert_allclose(
            numbers(many.fits[i].identified.model, many.fits[i].inference),
            numbers(alone.identified.model, alone.inference),
            rtol=1e-7,
            atol=1e-9,
        )


def test_one_that_becomes_nan_does_not_hold_up_the_others():
    data = padded((12, 9), seed=0)
    trees = [
        (sparse_model(), gpssm.MeanField(free_states(data), gpssm.Explicit(), gpssm.MonteCarlo(1))),
        (sparse_model(), gpssm.MeanField(free_states(data), gpssm.Explicit(), gpssm.MonteCarlo(1))),
    ]
    trees[1] = (
        eqx.tree_at(lambda m: m.transition.inducing, trees[1][0], replace_fn=lambda z: z * jnp.nan),
        trees[1][1],
    )
    good, bad = train_many(trees, data, steps=4, every=2, keys=[jr.key(0), jr.key(1)])
    assert good.result is gpssm.Result.finished and len(good.history.bound) == 4
    assert np.isfinite(numbers(good.model, good.inference)).all()
    assert bad.result is gpssm.Result.diverged and any("halved" in event for event in bad.history.events)


def test_starts_of_another_shape_are_refused():
    small, large = start(0), start(1)
    large = (gpssm.GPSSM.from_data(EPISODES, state_dim=1, num_inducing=5, key=jr.key(1)), large[1])
    with pytest.raises(ValueError, match="start 1 differs"):
        gpssm.fit_many([small, large], EPISODES, steps=2, keys=[jr.key(0), jr.key(1)])
    with pytest.raises(ValueError, match="2 starts and 1 keys"):
        gpssm.fit_many([small, small], EPISODES, steps=2, keys=[jr.key(0)])
