"""Many states, each with a kernel of its own: the same numbers as written out, and programs that do not explode."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF

from gpssm._core import _alike, _linalg
from gpssm._core._linalg import small_cholesky
from gpssm.kernels import _evaluate
from gpssm.models import SparseGP
from gpssm.models.transition import Transitions
from tests.reference.compiling import jit

pytestmark = pytest.mark.system  # thirty states written out take their time, which is the point

ROWS, POINTS = 12, 5


def transition(states: int) -> SparseGP:
    kernels = [RBF(lengthscale=jnp.full(states + 1, 1.0 + 0.1 * d), variance=1.0 + d) for d in range(states)]
    inducing = np.random.default_rng(1).standard_normal((POINTS, states + 1))
    return SparseGP.create(kernels, jnp.asarray(inducing), state_dim=states, key=jr.key(0))


def table(states: int) -> Transitions:
    rng = np.random.default_rng(2)
    x, u, following = (rng.standard_normal((ROWS, size)) for size in (states, 1, states))
    variances = rng.uniform(0.1, 0.2, (ROWS, states))
    return Transitions(*(jnp.asarray(part) for part in (x, u, following, variances, np.ones(ROWS))))


def bounds(gp: SparseGP, rows: Transitions):
    dynamics = gp.condition()
    return gp.collapsed(rows)[:2], dynamics.expected_log_prob(rows), dynamics.moments(rows.states[0], rows.controls[0])


@pytest.fixture
def written_out(monkeypatch) -> Callable[[], None]:
    """From its call on everything is written out, however many states there are."""

    def change() -> None:
        for module in (_alike, _linalg, _evaluate):
            monkeypatch.setattr(module, "WRITTEN_OUT", 1000)

    return change


def test_nine_states_are_what_they_were(written_out):
    gp, rows = transition(9), table(9)
    value, gradient = jit(bounds)(gp, rows), jit(eqx.filter_grad(lambda g: g.collapsed(rows)[0]))(gp)
    written_out()
    again = jit(lambda g, r: bounds(g, r))(gp, rows), jit(eqx.filter_grad(lambda g: g.collapsed(rows)[0]))(gp)
    for one, other in zip(jax.tree.leaves((value, gradient)), jax.tree.leaves(again), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_the_program_for_thirty_states_is_not_much_longer_than_for_ten(written_out):
    """Once it grew with the square of the number, and took minutes to compile."""

    def length(states: int) -> int:
        def loss(gp: SparseGP, rows: Transitions):
            return gp.collapsed(rows)[0] + jnp.sum(small_cholesky(jnp.eye(states)[None]))

        arrays, rest = eqx.partition(transition(states), eqx.is_array)
        program = jax.make_jaxpr(lambda a, r: loss(eqx.combine(a, rest), r))(arrays, table(states))
        return str(program).count("\n")

    ten, thirty = length(10), length(30)
    written_out()
    assert thirty < 3.0 * ten
    assert thirty < 0.2 * length(30)
