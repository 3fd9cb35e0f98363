"""What long calls set aside while they run."""

import gc
import weakref

import pytest

from gpssm._core import _garbage
from gpssm._core._garbage import set_aside


class Knot:
    """Garbage that only a look through all objects finds: it holds on to itself."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def nothing_set_aside():
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_what_there_was_is_left_alone_meanwhile_and_not_for_longer():
    knot = Knot()
    gone = weakref.ref(knot)
    with set_aside():
        assert gc.get_freeze_count() > 0
        del knot
        gc.collect()
        assert gone() is not None
        inner = weakref.ref(Knot())
        gc.collect()
        assert inner() is None, "what is made meanwhile is looked through as ever"
    assert gc.get_freeze_count() == 0
    gc.collect()
    assert gone() is None


def test_an_error_sets_everything_free():
    with pytest.raises(KeyError), set_aside():
        raise KeyError
    assert gc.get_freeze_count() == 0


def test_within_another_and_where_somebody_has_set_aside_nothing_changes():
    gc.freeze()
    with set_aside(), set_aside():
        pass
    assert gc.get_freeze_count() > 0


def test_many_short_calls_leave_no_garbage_for_good(monkeypatch):
    """Each makes Python forget how long ago it looked; after a while the next one looks."""
    monkeypatch.setattr(_garbage, "_last_look", float("-inf"))
    knot = Knot()
    gone = weakref.ref(knot)
    del knot
    with set_aside():
        pass
    assert gone() is None
