"""What must not change the bound: padding, the order of episodes, hidden values, and how episodes are batched."""

from itertools import combinations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from gpssm._core._params import cast
from gpssm.data import Episode, Episodes
from gpssm.inference import (
    AbstractInducing,
    BiRNN,
    Bound,
    Collapsed,
    Explicit,
    GaussHermite,
    MeanField,
    PerStepStates,
    TanhRNN,
)
from gpssm.inference.recognition import AbstractRecognition
from gpssm.models import GPSSM, GaussMarkov, LinearGaussian
from gpssm.models._batch import Batch
from gpssm.optimisers import Minibatches
from tests.reference.compiling import constant, jit
from tests.reference.transition_cases import D, P, make

OUTPUTS, LENGTHS = 2, (3, 5, 2, 4)
EXPLICIT = (Explicit(),)
BOTH = (Explicit(), Collapsed())


@constant
def records() -> Episodes:
    rng = np.random.default_rng(0)
    y = [rng.standard_normal((length, OUTPUTS)) for length in LENGTHS]
    y[1][2] = y[3][0, 1] = np.nan
    return Episodes([Episode(y=a, u=rng.standard_normal((len(a), P))) for a in y])


@constant
def data() -> Batch:
    return Batch.of(records())


@constant
def model() -> GPSSM:
    emission = LinearGaussian.first_states(OUTPUTS, D, noise=0.2, learn=True)
    return cast(GPSSM(make("RBF", seed=1).transition, emission, D), np.float64)


@constant
def network() -> BiRNN:
    def create(key: jax.Array) -> BiRNN:
        skip = jnp.eye(OUTPUTS, D)
        return BiRNN.create(outputs=OUTPUTS, inputs=P, state_dim=D, hidden=4, cell=TanhRNN, skip=skip, key=key)

    return jit(create)(jr.key(2))


@constant
def free_states() -> PerStepStates:
    q = jit(lambda n, d: jax.vmap(n.posterior)(d))(network(), data())
    return PerStepStates.from_posterior(GaussMarkov(q.means, q.gains, q.chols))


@jit
def evaluate(recognition: AbstractRecognition, data: Batch, treatments: tuple[AbstractInducing, ...]):
    """The bound for each treatment of q(u), and the gradient of their sum in the model and the recognition."""

    def total(tree: tuple[GPSSM, AbstractRecognition]) -> tuple[jax.Array, list[Bound]]:
        key, rule = jr.key(3), GaussHermite(3)
        bounds = [MeanField(tree[1], t, rule).bound(tree[0], data, key=key)[0] for t in treatments]
        return sum((bound.total() for bound in bounds), jnp.zeros(())), bounds

    return eqx.filter_grad(total, has_aux=True)((model(), recognition))


@constant
def as_it_is() -> tuple:
    return evaluate(network(), data(), BOTH)


def assert_same(a, b) -> None:
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9), a, b)


@pytest.mark.system
def test_padding_changes_neither_bound_nor_gradient():
    assert_same(evaluate(network(), Batch.of(records(), length=7), BOTH), as_it_is())


def test_the_order_of_episodes_does_not_matter():
    shuffled = jax.tree.map(lambda leaf: jax.device_put(np.asarray(leaf)[[2, 0, 3, 1]]), data())
    assert_same(evaluate(network(), shuffled, BOTH), as_it_is())


@pytest.mark.parametrize("hidden", [-5.0, 1e6])
def test_hidden_values_have_no_influence_at_all(hidden):
    """Outputs that were not observed and controls beyond the end of a record: bit-equal."""
    plain = jax.tree.map(np.asarray, data())
    y = np.where(plain.observed, plain.y, hidden)
    u = np.where(plain.valid[..., None], plain.u, hidden)
    assert not np.array_equal(y, plain.y) and not np.array_equal(u, plain.u)
    rubbish = eqx.tree_at(lambda d: (d.y, d.u), data(), jax.device_put((y, u)))
    jax.tree.map(np.testing.assert_array_equal, evaluate(network(), rubbish, BOTH), as_it_is())


def test_each_control_moves_the_next_state_and_the_last_one_none():
    """The last control of a record is held beyond its last sample."""

    def with_controls(episodes: np.ndarray, steps: np.ndarray) -> tuple:
        u = np.array(data().u)
        u[episodes, steps] = 50.0
        return evaluate(free_states(), eqx.tree_at(lambda d: d.u, data(), jax.device_put(u)), EXPLICIT)

    before, after = evaluate(free_states(), data(), EXPLICIT), with_controls(np.arange(4), np.array(LENGTHS) - 1)
    jax.tree.map(np.testing.assert_array_equal, before, after)
    (_, [first]), (_, [bound]) = with_controls(np.array([0]), np.array([0])), before
    assert first["transition"] != bound["transition"] and first["likelihood"] == bound["likelihood"]


def test_weights_count_episodes():
    """An episode of weight two is two episodes; one of weight zero is none."""
    weighted = eqx.tree_at(lambda d: d.weight, data(), jax.device_put(np.array([2.0, 1.0, 0.0, 1.0])))
    repeated = jax.tree.map(lambda leaf: jax.device_put(np.asarray(leaf)[[0, 0, 1, 3]]), data())
    assert_same(evaluate(network(), weighted, BOTH), evaluate(network(), repeated, BOTH))


draw = jit(lambda data, key: Minibatches(2).draw(data, key=key))


def test_minibatches_give_the_full_bound_and_gradient_on_average():
    """For an explicit q(u). Free states belong to episodes by index, which a batch must carry along."""
    found = {}
    for seed in range(40):
        batch = draw(data(), jr.key(seed))
        members = tuple(sorted(np.asarray(batch.index).tolist()))
        np.testing.assert_allclose(batch.weight, len(LENGTHS) / 2)
        found.setdefault(members, batch)
    assert set(found) == set(combinations(range(len(LENGTHS)), 2))
    results = [evaluate(free_states(), batch, EXPLICIT) for batch in found.values()]
    mean = jax.tree.map(lambda *leaves: np.mean(leaves, axis=0), *results)
    assert_same(mean, evaluate(free_states(), data(), EXPLICIT))


def test_episodes_of_a_single_step_have_a_bound():
    """There is no transition, so that the bound is that of a static Gaussian model."""
    gradient, bounds = evaluate(network(), Batch.of(Episodes([episode[:1] for episode in records()])), BOTH)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves((gradient, bounds)))
    for bound in bounds:
        np.testing.assert_allclose(bound["transition"], 0.0, atol=1e-10)
