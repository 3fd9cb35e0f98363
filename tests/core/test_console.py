"""Lines that show that something goes on while nothing can be counted."""

import io
import sys
import threading
import time
from types import SimpleNamespace

import pytest

import gpssm
from gpssm._core import _activity, _console
from gpssm._core._activity import compiling, doing
from gpssm._core._ticker import alive
from gpssm.fitting import Status


class Terminal(io.StringIO):
    """A buffer that takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def nothing_yet(monkeypatch):
    for name in ("_doing", "_noted", "_compiling"):
        monkeypatch.setattr(_activity, name, [])


def passed(monkeypatch, seconds: float) -> None:
    """The clock goes on by so much."""
    now = time.monotonic()
    for module in (_console, _activity):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now + seconds))


def test_a_file_gets_a_line_at_once_and_then_now_and_then(monkeypatch):
    stream = io.StringIO()
    console = gpssm.Console(stream=stream)
    with doing("reading"):
        console.tick()
        console.tick()
        assert [line.split() for line in stream.getvalue().splitlines()] == [["0:00", "reading"]]
        passed(monkeypatch, 2.0)
        console.tick()
    assert stream.getvalue().splitlines()[-1].split() == ["0:02", "reading", "for", "0:02"]


def test_after_hours_lines_come_less_often(monkeypatch):
    stream = io.StringIO()
    console = gpssm.Console(stream=stream)
    console.began -= 3600.0
    console.tick()
    for seconds, lines in ((10.0, 1), (19.0, 2)):
        passed(monkeypatch, seconds)
        console.tick()
        assert len(stream.getvalue().splitlines()) == lines


def test_compiling_is_said_and_a_status_is_not_repeated_in_full(monkeypatch):
    stream = io.StringIO()
    console = gpssm.Console(stream=stream)
    console.update(Status("Adam", 50, 200, 1.25, 10.0))
    compiling(True)
    passed(monkeypatch, 3.0)
    console.tick()
    first, second = stream.getvalue().splitlines()
    assert "ELBO/step +1.2500" in first and "15 s left" in first
    assert second.split() == ["0:03", "Adam", "50/200", "compiling", "for", "0:03"]


def test_what_began_after_the_last_status_is_shown_instead(monkeypatch):
    stream = Terminal()
    console = gpssm.Console(stream=stream)
    console.update(Status("Adam", 200, 200, 1.25, 10.0))
    passed(monkeypatch, 1.0)
    with doing("scoring"):
        console.tick()
    assert "ELBO" not in stream.getvalue().rpartition("\r")[2]
    assert stream.getvalue().rpartition("\x1b[2K")[2].split() == ["0:01", "scoring"]


def test_a_line_never_breaks_at_the_edge_of_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    stream = Terminal()
    gpssm.Console(stream=stream).update(Status("Adam", 50, 200, 1.25, 10.0))
    assert len(stream.getvalue().rpartition("\x1b[2K")[2]) == 29


def test_slow_steps_are_told_in_seconds():
    assert "4.0 s a step, 40 s left" in Status("rounds", 10, 20, 0.0, 0.25).line()
    assert "2 steps/s, 5 s left" in Status("rounds", 10, 20, 0.0, 2.0).line()


def test_a_notebook_has_one_line_that_moves(monkeypatch):
    shown: list[str] = []

    def display(data, *, raw, display_id):
        assert raw and display_id
        shown.append(data["text/plain"])
        return SimpleNamespace(update=lambda data, raw: shown.__setitem__(-1, data["text/plain"]))

    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    written = io.StringIO()
    monkeypatch.setattr(sys, "stdout", written)
    console = gpssm.Console()
    with doing("reading"):
        console.tick()
    console.update(Status("Adam", 50, 200, 1.25, 10.0))
    console.say("a remark")
    assert len(shown) == 1 and "50/200" in shown[0]
    assert written.getvalue().split() == ["0:00", "a", "remark"], "not in red"


class Counting:
    """Counts signs of life."""

    def __init__(self, lost_after: int = 10**6):
        self.ticks, self.rested, self._lost_after = 0, 0, lost_after
        self.heard = threading.Event()

    def tick(self) -> None:
        self.ticks += 1
        self.heard.set()
        if self.ticks >= self._lost_after:
            raise BrokenPipeError

    def rest(self) -> None:
        self.rested += 1


def test_a_thread_ticks_while_the_caller_is_busy(monkeypatch):
    monkeypatch.setattr("gpssm._core._ticker.OFTEN", 0.001)
    shown = Counting()
    with alive(shown), alive(shown):
        for _ in range(3):
            assert shown.heard.wait(30.0)
            shown.heard.clear()
        assert sum(thread.name == "gpssm-ticker" for thread in threading.enumerate()) == 1, "one inside another"
    ended = shown.ticks
    assert ended >= 3 and shown.rested == 1
    assert not any(thread.name == "gpssm-ticker" for thread in threading.enumerate())


def test_a_reader_who_has_gone_does_not_end_the_work(monkeypatch):
    monkeypatch.setattr("gpssm._core._ticker.OFTEN", 0.001)
    shown = Counting(lost_after=2)
    with alive(shown):
        deadline = time.monotonic() + 30.0
        while any(thread.name == "gpssm-ticker" for thread in threading.enumerate()):
            assert time.monotonic() < deadline
            time.sleep(0.001)
    assert shown.ticks == 2


def test_what_cannot_tick_is_left_alone():
    with alive(gpssm.Silent()):
        assert not any(thread.name == "gpssm-ticker" for thread in threading.enumerate())
