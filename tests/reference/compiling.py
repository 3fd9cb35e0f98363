"""Compilation for tests: each function runs a few times on small arrays, so that optimising its code does not pay."""

from functools import partial

import equinox as eqx

jit = partial(eqx.filter_jit, compiler_options={"xla_backend_optimization_level": 0})
"""`eqx.filter_jit` that compiles several times faster. Also saves tests from compiling each operation by itself."""
