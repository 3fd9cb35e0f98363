"""Set-up code gives the same numbers compiled, within a trace, and under vmap."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from gpssm._core._compile import compile_for_setup


def plain(scale, shape, *, key):
    return {"draw": scale * jr.normal(key, shape), "shape": shape}


def test_the_numbers_are_those_of_the_plain_function_and_what_is_no_array_is_kept():
    expected = plain(jnp.asarray(2.0), (3,), key=jr.key(0))
    found = compile_for_setup(plain)(jnp.asarray(2.0), (3,), key=jr.key(0))
    np.testing.assert_allclose(found["draw"], expected["draw"], rtol=1e-12)
    assert found["shape"] == (3,)


def test_within_a_trace_it_is_part_of_that():
    once = compile_for_setup(plain)
    keys = jr.split(jr.key(1), 4)
    expected = np.stack([plain(jnp.asarray(2.0), (3,), key=key)["draw"] for key in keys])
    mapped = jax.jit(jax.vmap(lambda key: once(jnp.asarray(2.0), (3,), key=key)["draw"]))(keys)
    np.testing.assert_allclose(mapped, expected, rtol=1e-12)
    # No argument is traced, but the caller is.
    inside = jax.jit(lambda x: x + once(jnp.asarray(2.0), (3,), key=keys[0])["draw"])(jnp.zeros(3))
    np.testing.assert_allclose(inside, expected[0], rtol=1e-12)


def test_a_second_call_with_other_numbers_does_not_compile_again():
    traces = []

    @compile_for_setup
    def counted(x):
        traces.append(1)
        return x + 1.0

    assert [float(counted(jnp.asarray(value))) for value in (1.0, 2.0, 3.0)] == [2.0, 3.0, 4.0]
    assert len(traces) == 1


def test_constants_are_part_of_the_program():
    seen = []

    @compile_for_setup
    def with_constant(x):
        constant = jnp.zeros(3) + 1.0
        seen.append(isinstance(constant, jax.core.Tracer))
        return x + constant

    np.testing.assert_array_equal(with_constant(jnp.asarray(1.0)), np.full(3, 2.0))
    assert seen == [True]
