"""Fingerprints tell apart what would be traced differently, and nothing is given one whose code nobody knows."""

import abc
import collections
import enum
import functools
import inspect
import os
import sys
import time
from functools import partial
from types import SimpleNamespace

import gpjax.kernels as gk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from gpssm._core import _code_state
from gpssm._core._alike import for_each
from gpssm._core._fingerprint import UnknownError, fingerprint
from gpssm.kernels._evaluate import cross_covariance
from gpssm.methods import ModelSpec

DIFFERENT = [
    None,
    *(0, 1, True, False, 1.0, -0.0, 0.0, "1", b"1", ..., float("nan"), 1j),
    *((), [], {}, (1,), [1], (1, 2), ((1,), 2), (1, (2,)), {"a": 1}, {"a": 2}, {"b": 1}, slice(1), slice(1, None)),
    *(jnp.asarray(2.0), jnp.asarray(2.0, jnp.zeros(()).dtype), np.dtype([("a", "i4")]), np.dtype([("b", "i4")])),
    *(jnp.dtype("int4"), jnp.dtype("uint4")),
    *(np.float32(1), np.float64(1), np.zeros(2), np.zeros((1, 2)), np.zeros(2, int), np.ones(2), np.dtype("f4")),
    *(jnp.sin, jnp.cos, jax.nn.relu, jax.jit, dict, tuple, for_each),
    *(partial(jnp.sum, axis=0), partial(jnp.sum, axis=1), partial(jnp.mean, axis=0)),
    *(gk.RBF(n_dims=1), gk.RBF(n_dims=2), gk.Matern12(n_dims=1), gk.RBF(n_dims=1) + gk.RBF(n_dims=1)),
    *(jax.tree.structure(gk.RBF(n_dims=1)), jax.tree.structure(gk.Matern12(n_dims=1)), jax.tree.structure((1, 2))),
    *(optax.adam(1e-3), optax.adam(1e-2), optax.sgd(1e-3), ModelSpec(2), ModelSpec(3)),
]


def test_different_things_have_different_fingerprints():
    found = [fingerprint(value) for value in DIFFERENT]
    assert len(set(found)) == len(DIFFERENT)


def test_equal_things_have_one():
    made = [lambda: gk.RBF(n_dims=1), lambda: optax.adam(1e-3), lambda: {"a": np.ones(3)}, lambda: ModelSpec(2)]
    for make in made:
        assert fingerprint(make()) == fingerprint(make())


def test_where_one_ends_and_the_next_begins_matters():
    assert fingerprint("ab", "c") != fingerprint("a", "bc")
    assert fingerprint((1,), 2) != fingerprint(1, (2,))


class Own(gk.RBF):
    """A kernel of somebody's."""


class Kind(enum.Enum):
    one = 1


class Held:
    def __init__(self):
        self.held = 1


@functools.wraps(jax.nn.relu)
def activation(x):
    """Somebody's, under the name of another."""
    return 2.0 * x


class Twice(partial):
    def __call__(self, *args, **kwargs):
        return 2 * super().__call__(*args, **kwargs)


class Number(np.float64):
    """Of somebody's."""


@jax.tree_util.register_static
class Static(partial):
    """A tree that is its own fixed part."""


OTHERS = [
    activation,
    collections.Counter("a"),
    np.frompyfunc(abs, 1, 1),
    np.ma.zeros(2),
    np.array([None]),
    np.matrix(1),
    jax.sharding.SingleDeviceSharding(jax.devices()[0]),
    jax.sharding.NamedSharding(jax.make_mesh((1,), ("a",)), jax.sharding.PartitionSpec("a")),
    Twice(jnp.tanh),
    Number(1.0),
]


@pytest.mark.parametrize("value", OTHERS, ids=lambda value: type(value).__name__)
def test_what_may_hold_more_than_is_seen_has_none(value):
    with pytest.raises(UnknownError):
        fingerprint(value)


def test_a_tree_that_is_its_own_fixed_part_has_none():
    Static.__module__ = "jax.tree_util"
    with pytest.raises(UnknownError):
        fingerprint(jax.tree.structure(Static(jnp.sin)))


@pytest.mark.parametrize("value", [Own(n_dims=1), lambda x: x, Kind.one, Held(), Held, (1, [Held()]), object(), {1, 2}])
def test_what_is_not_known_has_none(value):
    with pytest.raises(UnknownError):
        fingerprint(value)


def test_what_a_function_was_given_is_part_of_it():
    assert fingerprint(optax.exponential_decay(1.0, 2, 0.5)) != fingerprint(optax.exponential_decay(1.0, 2, 0.25))
    rate = optax.exponential_decay(1.0, 2, 0.5)
    assert fingerprint(optax.adam(rate)) != fingerprint(optax.adam(1.0))


def test_every_letter_of_the_code_counts(tmp_path):
    source = tmp_path / "a.py"
    states = []
    for text in ("x = 1", "x = 2", "x = 1 "):
        source.write_text(text)
        _code_state._state.cache_clear()
        states.append(_code_state._state(tmp_path))
    source.rename(tmp_path / "b.py")
    _code_state._state.cache_clear()
    assert len({*states, _code_state._state(tmp_path)}) == 4


def test_without_sources_nothing_is_known(tmp_path):
    with pytest.raises(UnknownError, match="sources"):
        _code_state._state(tmp_path)


def test_code_that_is_changed_while_it_runs_has_no_state(tmp_path, monkeypatch):
    source = tmp_path / "deep" / "a.py"
    source.parent.mkdir()
    source.write_text("x = 1")
    monkeypatch.setattr(_code_state, "PACKAGE", tmp_path)
    monkeypatch.setattr(_code_state, "_PLACE", os.stat(tmp_path))
    monkeypatch.setitem(sys.modules, tmp_path.name, SimpleNamespace(BEGAN=time.time_ns() + 10**9))
    monkeypatch.setattr(_code_state, "_rules", lambda: ())
    before = _code_state.code_state()
    assert _code_state.code_state() == before
    # A copy that keeps the time of what it was copied from has been changed now all the same.
    monkeypatch.setitem(sys.modules, tmp_path.name, SimpleNamespace(BEGAN=time.time_ns() - 10**9))
    os.utime(source, (0, 0))
    with pytest.raises(UnknownError, match="while it runs"):
        _code_state.code_state()


def test_a_folder_that_is_exchanged_as_a_whole_has_no_state(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(f"x = '{name}'")
    package = tmp_path / "current"
    package.symlink_to("one")
    monkeypatch.setattr(_code_state, "PACKAGE", package)
    monkeypatch.setattr(_code_state, "_PLACE", os.stat(package))
    monkeypatch.setitem(sys.modules, "current", SimpleNamespace(BEGAN=time.time_ns() + 10**9))
    monkeypatch.setattr(_code_state, "_rules", lambda: ())
    _code_state.code_state()
    package.unlink()
    package.symlink_to("two")
    with pytest.raises(UnknownError, match="while it runs"):
        _code_state.code_state()


def test_libraries_that_were_exchanged_since_python_began_have_no_state(tmp_path, monkeypatch):
    """They may have been imported before that, and this package after it."""
    monkeypatch.setattr(_code_state, "_state", lambda package: (b"", (str(tmp_path),)))
    monkeypatch.setattr(_code_state, "_rules", lambda: ())
    monkeypatch.setattr(_code_state, "_changes", lambda folder: (0,))
    monkeypatch.setitem(sys.modules, "gpssm", SimpleNamespace(BEGAN=time.time_ns() + 10**9))
    with pytest.raises(UnknownError, match="while it runs"):
        _code_state.code_state()


def test_when_python_began_is_told_rather_too_early():
    # Importing the tests has taken a second or more.
    _code_state.process_began.cache_clear()
    now = time.time_ns()
    assert now - 86_400 * 10**9 < _code_state.process_began(now) <= now
    assert _code_state.process_began(5) == 5  # no clock that was believed says so


def test_bounds_that_somebody_meets_in_their_own_way_are_seen(monkeypatch):
    import numpyro.distributions as dist

    positive = type(dist.constraints.positive)
    held = dict(dist.biject_to._registry)
    # (Where shapes are checked at run time, rules of the library are wrapped, and then nothing is kept at all.)
    monkeypatch.setattr(_code_state, "_dispatches", [])
    monkeypatch.setattr(dist.biject_to, "_registry", held)
    honest = list(_code_state._rules())
    held[positive] = lambda constraint: dist.transforms.ExpTransform()
    with pytest.raises(UnknownError, match="own way"):
        list(_code_state._rules())
    # Another of their own rules is seen as well.
    held[positive] = held[type(dist.constraints.real)]
    assert list(_code_state._rules()) != honest


def test_rules_that_somebody_has_said_anew_are_seen(monkeypatch):
    base = cross_covariance.dispatch(gk.RBF)

    @functools.wraps(base)
    def mine(*args):
        return 100.0 * base(*args)

    Smooth = abc.ABCMeta("Smooth", (), {"__module__": "mine"})
    Smooth.register(gk.RationalQuadratic)
    changes = [(gk.RBF, mine), (Smooth, mine)]
    for kind, rule in changes:
        holder = SimpleNamespace(registry={kind: rule}, __name__="k")
        monkeypatch.setattr(_code_state, "_dispatches", [lambda holder=holder: holder])
        with pytest.raises(UnknownError):
            list(_code_state._rules())
    # One of the library's own, for another class than it was written for.
    # (Where shapes are checked at run time each is wrapped by the checker, and then nothing is kept at all.)
    honest = {kind: inspect.unwrap(rule) for kind, rule in cross_covariance.registry.items()}
    found = []
    for registry in (honest, {**honest, gk.RBF: honest[gk.SumKernel]}):
        holder = SimpleNamespace(registry=registry, __qualname__="cross_covariance", __name__="cross_covariance")
        monkeypatch.setattr(_code_state, "_dispatches", [lambda holder=holder: holder])
        found.append(list(_code_state._rules()))
    assert found[0] != found[1]
