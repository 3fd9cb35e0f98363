"""Compilation for tests: each function runs a few times on small arrays, so that optimising its code does not pay."""

from functools import cache, partial

import equinox as eqx
import jax
from jax._src.core import trace_state_clean

jit = partial(eqx.filter_jit, compiler_options={"xla_backend_optimization_level": 0})
"""`eqx.filter_jit` that compiles several times faster. Also saves tests from compiling each operation by itself."""

as_users_do = partial(
    eqx.filter_jit, compiler_options={"xla_backend_optimization_level": 3, "xla_cpu_use_fusion_emitters": True}
)
"""`eqx.filter_jit` with XLA's own defaults, which the settings of the tests take away: for tests of optimised code."""


def constant(function):
    """Compute once and keep: the value itself, also when it is first asked for inside a traced function."""

    @cache
    def evaluated(*args):
        if trace_state_clean():
            return function(*args)
        with jax.ensure_compile_time_eval():
            return function(*args)

    return evaluated
