"""Recognition: the recurrences, the posterior they give, and that padding and masked values change nothing."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from gpssm.data import Episode, Episodes, Scaler
from gpssm.inference import GRU, BiRNN, PerStepStates, TanhRNN
from gpssm.inference.recognition._base import chols_from, numbers_from
from gpssm.inference.recognition._cells import AbstractCell, run_both_ways
from gpssm.models import GaussMarkov
from gpssm.models._batch import Batch
from tests.reference.compiling import constant, jit
from tests.reference.differences import assert_derivatives
from tests.reference.recurrent import gru_step, run, tanh_step

D, OUTPUTS, P, HIDDEN = 2, 2, 1, 4
LENGTHS = (6, 4)
NETWORKS = {
    "GRU": dict(cell=GRU),
    "TanhRNN, diagonal": dict(cell=TanhRNN, diagonal=True),
    "GRU, diagonal, no offsets": dict(cell=GRU, diagonal=True, offsets=False),
    "TanhRNN, no offsets, no skip": dict(cell=TanhRNN, offsets=False, skip=False),
}
cells = pytest.mark.parametrize(("kind", "step"), [(GRU, gru_step), (TanhRNN, tanh_step)])
networks = pytest.mark.parametrize("name", NETWORKS)


def random_cell(kind: type[AbstractCell], seed: int) -> AbstractCell:
    """All parameters random, also those that start at zero."""
    shapes = jax.eval_shape(lambda: kind.create(3, HIDDEN, key=jr.key(0)))
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: jnp.asarray(0.7 * rng.standard_normal(leaf.shape)), shapes)


def parameters(cell: AbstractCell) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(a) for a in (cell.recurrent, cell.recurrent_bias, cell.input, cell.bias))


@cells
def test_both_directions_equal_plain_loops_that_skip_invalid_steps(kind, step):
    forward, backward = random_cell(kind, 1), random_cell(kind, 2)
    inputs = np.random.default_rng(3).standard_normal((7, 3))
    valid = np.array([True, True, False, True, True, False, False])
    ahead, behind = jit(run_both_ways)(forward, backward, inputs, valid)
    seen = inputs[valid]
    expected = run(step(*parameters(forward)), seen, HIDDEN), run(step(*parameters(backward)), seen[::-1], HIDDEN)[::-1]
    np.testing.assert_allclose(ahead[valid], expected[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(behind[valid], expected[1], rtol=1e-10, atol=1e-12)
    # A step that does not count carries the state through.
    np.testing.assert_array_equal(ahead[2], ahead[1])
    np.testing.assert_array_equal(behind[2], behind[3])
    np.testing.assert_array_equal(behind[5:], 0.0)


@cells
def test_derivative_of_the_recurrence(kind, step):
    shapes = random_cell(kind, 1), random_cell(kind, 2), jnp.zeros((5, 3))
    flat, unflatten = jax.flatten_util.ravel_pytree(shapes)
    valid = jnp.array([True, False, True, True, False])

    def hidden(numbers: jax.Array) -> tuple[jax.Array, jax.Array]:
        forward, backward, inputs = unflatten(numbers)
        return run_both_ways(forward, backward, inputs, valid)

    point = 0.7 * np.random.default_rng(4).standard_normal(flat.shape)
    assert_derivatives(hidden, point, forward=False)


@constant
def records() -> Episodes:
    rng = np.random.default_rng(5)
    y = [rng.standard_normal((length, OUTPUTS)) for length in LENGTHS]
    y[0][2, 0] = y[1][1, 1] = np.nan
    return Episodes([Episode(y=a, u=rng.standard_normal((len(a), P))) for a in y])


@constant
def all_networks() -> dict[str, BiRNN]:
    def create(key: jax.Array, **chosen) -> BiRNN:
        settings = {"skip": True, "diagonal": False, "offsets": True, **chosen}
        made = BiRNN.from_data(records(), state_dim=D, hidden=HIDDEN, key=key, **settings)
        # Larger weights than at the start, so that every part of the network is felt.
        return eqx.tree_at(
            lambda n: (n.first.weight, n.rest.weight), made, (8.0 * made.first.weight, 8.0 * made.rest.weight)
        )

    return {name: create(jr.key(6), **chosen) for name, chosen in NETWORKS.items()}


def network(name: str) -> BiRNN:
    return all_networks()[name]


@jit
def posteriors(recognition, episodes: Batch) -> GaussMarkov:
    return jax.vmap(recognition.posterior)(episodes)


def assert_same(a: GaussMarkov, b: GaussMarkov) -> None:
    """To rounding: matrix products of different shape may be summed in different order."""
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13), a, b)


def pick(tree, episode: int, steps: int):
    return jax.tree.map(lambda leaf: np.asarray(leaf)[episode, :steps], tree)


@networks
def test_padding_changes_no_posterior(name):
    longest, longer = (posteriors(network(name), Batch.of(records(), length=length)) for length in (None, 9))
    alone = posteriors(network(name), Batch.of(records()[1:]))
    for i, length in enumerate(LENGTHS):
        assert_same(pick(longest, i, length), pick(longer, i, length))
    assert_same(pick(longest, 1, LENGTHS[1]), pick(alone, 0, LENGTHS[1]))
    # What lies beyond the record is an independent standard normal.
    np.testing.assert_array_equal(longer.means[1, LENGTHS[1] :], 0.0)
    np.testing.assert_array_equal(longer.gains[1, LENGTHS[1] :], 0.0)
    np.testing.assert_array_equal(longer.chols[1, LENGTHS[1] :], np.broadcast_to(np.eye(D), (5, D, D)))


@networks
def test_what_padding_and_masked_outputs_hold_has_no_influence(name):
    data = Batch.of(records(), length=8)
    rubbish = eqx.tree_at(
        lambda d: (d.y, d.u),
        data,
        jax.device_put(
            (
                np.where(np.asarray(data.observed), np.asarray(data.y), 1e3),
                np.where(np.asarray(data.valid)[..., None], np.asarray(data.u), -1e3),
            )
        ),
    )
    before, after = posteriors(network(name), data), posteriors(network(name), rubbish)
    jax.tree.map(np.testing.assert_array_equal, before, after)


@networks
def test_the_mask_and_every_input_are_read(name):
    data = Batch.of(records())
    base = posteriors(network(name), data)
    for field, value in (("y", 9.0), ("u", 9.0), ("observed", False)):
        changed = np.array(getattr(data, field))
        changed[0, 3, 0] = value
        other = posteriors(network(name), dataclasses.replace(data, **{field: jax.device_put(changed)}))
        # A change in the middle is felt before and after, and only in its own episode.
        for step in (0, 5):
            assert np.asarray(other.chols)[0, step, 0, 0] != np.asarray(base.chols)[0, step, 0, 0]
        jax.tree.map(np.testing.assert_array_equal, pick(other, 1, 4), pick(base, 1, 4))


@networks
def test_the_posterior_has_the_asked_for_form(name):
    q = jax.tree.map(np.asarray, posteriors(network(name), Batch.of(records())))
    index = np.arange(D)
    np.testing.assert_array_equal(q.chols, np.tril(q.chols))
    assert np.all(q.chols[..., index, index] > 0.0)
    off_diagonal = [matrix[0, 1:, 1, 0] for matrix in (q.gains, q.chols)]
    if network(name).diagonal:
        assert not np.any(off_diagonal)
    else:
        assert np.all(off_diagonal)
    if not network(name).offsets:
        for t in range(1, LENGTHS[0]):
            np.testing.assert_allclose(q.means[0, t], q.gains[0, t] @ q.means[0, t - 1], rtol=1e-10, atol=1e-12)


def test_a_recurrence_in_single_precision_is_close_and_gives_double_precision():
    double = network("GRU")
    single = dataclasses.replace(double, single_precision=True)
    data = Batch.of(records())

    @jit
    def slopes(recognition):
        arrays, static = eqx.partition(recognition, eqx.is_inexact_array)

        def total(arrays):
            q = jax.vmap(eqx.combine(arrays, static).posterior)(data)
            return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(q))

        return jax.grad(total)(arrays)

    pairs = zip(
        jax.tree.leaves((posteriors(double, data), slopes(double))),
        jax.tree.leaves((posteriors(single, data), slopes(single))),
        strict=True,
    )
    differences = []
    for exact, close in pairs:
        assert close.dtype == jnp.float64
        differences.append(np.abs(np.asarray(exact) - np.asarray(close)).max() / max(np.abs(exact).max(), 1.0))
    assert 1e-10 < max(differences) < 1e-5


def test_with_a_skip_the_means_start_near_the_outputs():
    data = Batch.of(records())
    made = jit(lambda key: BiRNN.from_data(records(), state_dim=3, hidden=HIDDEN, key=key))(jr.key(7))
    q = posteriors(made, data)
    np.testing.assert_allclose(q.means[..., :OUTPUTS], jnp.where(data.observed, data.y, 0.0), atol=0.3)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("size", [1, 3])
def test_numbers_and_factors_are_two_forms_of_the_same(diagonal, size):
    count = size if diagonal else size * (size + 1) // 2
    numbers = jnp.asarray(np.random.default_rng(8).standard_normal((2, count)))

    @jit
    def there_and_back(numbers: jax.Array) -> tuple[jax.Array, jax.Array]:
        chols = chols_from(numbers, size, diagonal)
        return chols, numbers_from(chols, diagonal)

    chols, back = there_and_back(numbers)
    np.testing.assert_array_equal(chols, np.tril(chols))
    np.testing.assert_allclose(back, numbers, rtol=1e-12)


def test_free_states_give_back_what_they_were_made_from_by_index():
    data = Batch.of(records())
    q = posteriors(network("GRU"), data)
    free = PerStepStates.from_posterior(q)
    assert_same(posteriors(free, data), q)
    swapped, flipped = jax.tree.map(lambda leaf: np.asarray(leaf)[::-1], (data, q))
    assert_same(posteriors(free, swapped), flipped)


@pytest.mark.parametrize("diagonal", [False, True])
def test_free_states_start_at_the_scaled_outputs(diagonal):
    free = PerStepStates.from_data(records(), state_dim=3, gain=0.4, scale=0.2, diagonal=diagonal)
    data = Batch.of(Scaler.from_episodes(records()).apply(records()))
    q = posteriors(free, data)
    seen = np.asarray(data.observed)
    np.testing.assert_allclose(np.asarray(q.means[..., :OUTPUTS])[seen], np.asarray(data.y)[seen], rtol=1e-10)
    np.testing.assert_allclose(q.gains[0], np.broadcast_to(0.4 * np.eye(3), (LENGTHS[0], 3, 3)), rtol=1e-12)
    np.testing.assert_allclose(q.chols[0], np.broadcast_to(0.2 * np.eye(3), (LENGTHS[0], 3, 3)), rtol=1e-12, atol=1e-15)


def test_diagonal_free_states_have_diagonal_gains_and_factors():
    q = posteriors(network("GRU"), Batch.of(records()))
    diagonal = posteriors(PerStepStates.from_posterior(q, diagonal=True), Batch.of(records()))
    np.testing.assert_allclose(diagonal.gains, np.asarray(q.gains) * np.eye(D), rtol=1e-12)
    np.testing.assert_allclose(diagonal.chols, np.asarray(q.chols) * np.eye(D), rtol=1e-12)
