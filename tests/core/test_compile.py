"""Set-up code gives the same numbers compiled, within a trace, and under vmap."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from gpssm._core._compile import LARGE, compile_by_work, compile_for_setup


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


def _options_of(monkeypatch, size: int, backend: str = "cpu") -> list[dict]:
    """With what options a function of so many steps is compiled."""
    given = []

    def noting(function, *, compiler_options):
        given.append(compiler_options)
        return jax.jit(function)

    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    # On a CPU programs are compiled here, elsewhere by Equinox.
    monkeypatch.setattr("gpssm._core._program.jax", _With(jax, jit=noting))
    monkeypatch.setattr("gpssm._core._program.eqx.filter_jit", noting)
    doubled = compile_by_work(lambda x: x.shape[0])(lambda x: 2.0 * x)
    np.testing.assert_array_equal(doubled(jnp.ones(size)), np.full(size, 2.0))
    return given


class _With:
    """A module with some names replaced."""

    def __init__(self, module, **replaced):
        self.__dict__ |= {**vars(module), **replaced}


def test_how_hard_the_compiler_tries_depends_on_the_number_of_steps(monkeypatch):
    (small,) = _options_of(monkeypatch, LARGE - 1)
    (large,) = _options_of(monkeypatch, LARGE)
    assert small["xla_backend_optimization_level"] == 0
    assert large["xla_backend_optimization_level"] > 0


def test_other_machines_are_not_given_the_options_of_a_cpu(monkeypatch):
    for size in (1, LARGE):
        (options,) = _options_of(monkeypatch, size, backend="gpu")
        assert not any("cpu" in name for name in options)


def test_small_and_large_programs_give_the_same_numbers():
    waves = compile_by_work(lambda x: x.shape[0])(lambda x: jnp.cumsum(jnp.exp(-x) * jnp.sin(x)))
    x = np.linspace(0.0, 5.0, LARGE)
    expected = np.cumsum(np.exp(-x) * np.sin(x))
    np.testing.assert_allclose(waves(jnp.asarray(x)), expected, rtol=1e-10)
    np.testing.assert_allclose(waves(jnp.asarray(x[:100])), expected[:100], rtol=1e-10)
