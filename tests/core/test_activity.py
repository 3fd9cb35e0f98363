"""What the process is busy with, and what the compiler took of its time."""

import time

import jax
import jax.numpy as jnp
import pytest

from gpssm._core import _activity
from gpssm._core._activity import clock, compiler, current, doing, note
from gpssm._core._compiler_clock import COMPILED, LOWERED, Intervals, _heard, compiler_seconds, watch_compiler


def what() -> str | None:
    activity = current()
    return None if activity is None else activity.what


@pytest.fixture(autouse=True)
def nothing_yet(monkeypatch):
    for name in ("_doing", "_noted", "_compiling"):
        monkeypatch.setattr(_activity, name, [])


def test_the_latest_is_shown_and_what_surrounds_it_comes_back():
    assert what() is None
    with doing("fitting"):
        note("Adam")
        assert what() == "Adam"
        with doing("scoring"):
            assert what() == "scoring"
            note("a remark")
            assert what() == "a remark"
        assert what() == "Adam", "the remark belonged to the scoring"
    assert what() is None


def test_an_error_ends_what_was_done():
    with pytest.raises(ValueError), doing("reading"):
        raise ValueError
    assert what() is None


@pytest.mark.parametrize(("seconds", "told"), [(7.9, "0:07"), (754.0, "12:34"), (3723.0, "1:02:03")])
def test_clocks_are_read_by_people(seconds, told):
    assert clock(seconds) == told


def test_stretches_inside_each_other_count_once():
    intervals = Intervals()
    for start, end in ((1.0, 2.0), (3.0, 4.0), (2.5, 5.0), (10.0, 11.0)):
        intervals.add(start, end)
    assert intervals.total(0.0) == pytest.approx(1.0 + 2.5 + 1.0)
    assert intervals.total(4.5) == pytest.approx(0.5 + 1.0), "only what came after"
    intervals.add(0.0, 12.0)
    assert intervals.total(0.0) == pytest.approx(12.0)


def test_the_compiler_is_seen_between_two_of_its_parts():
    _heard("/jax/something/else", 1.0)
    assert compiler() is None
    _heard(LOWERED, 0.0)
    busy = compiler()
    assert busy is not None and busy.what == "compiling"
    _heard(COMPILED, 0.0)
    assert compiler() is None


def test_jax_tells_how_long_it_compiled():
    watch_compiler()
    began = time.monotonic()
    jax.jit(lambda x: jnp.sin(x) * 3.0 + jnp.cumsum(x))(jnp.arange(37.0))
    spent, compiled = time.monotonic() - began, compiler_seconds(began)
    assert 0.0 < compiled <= spent
    assert compiler() is None, "it has ended"
