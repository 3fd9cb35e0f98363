"""Ctrl-C as a wish: real signals, answered at once, and nothing of it left behind."""

import hashlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from gpssm._core._interrupt import unbroken
from gpssm.fitting._interrupt import InterruptedFitError, Interruption

SOON = 1.0
"""Seconds in which a wish must be acknowledged."""

ALL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def press() -> None:
    """Ctrl-C. The handler has run when the next line does."""
    os.kill(os.getpid(), signal.SIGINT)


@contextmanager
def meaning_the_same(*numbers: signal.Signals) -> Iterator[None]:
    """These mean the same as Ctrl-C, as they do in the command."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def busy(seconds: float) -> None:
    """A program in C that lets other threads run and hands nothing to the interpreter, as compiled code and compilers
    do."""
    count, began = 20_000, time.perf_counter()
    hashlib.pbkdf2_hmac("sha256", b"", b"", count)
    pace = count / (time.perf_counter() - began)
    hashlib.pbkdf2_hmac("sha256", b"", b"", int(pace * seconds))


def wait_for(happened: Callable[[], bool]) -> bool:
    until = time.monotonic() + 10.0
    while not happened() and time.monotonic() < until:
        time.sleep(0.01)
    return happened()


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Handlers, pipe and thread are gone afterwards, whatever the test does."""
    handlers, files = [signal.getsignal(number) for number in ALL], os.listdir("/proc/self/fd")
    yield
    assert [signal.getsignal(number) for number in ALL] == handlers
    assert signal.set_wakeup_fd(-1) == -1
    assert len(os.listdir("/proc/self/fd")) == len(files)
    assert not any(thread.name == "gpssm-interrupt" for thread in threading.enumerate())
    assert Interruption._entered is None


def test_the_first_is_a_wish_and_is_answered():
    said: list[str] = []
    with Interruption(said.append) as interruption:
        interruption.check()
        press()
        assert interruption.requested
        with pytest.raises(InterruptedFitError):
            interruption.check()
        assert wait_for(lambda: len(said) == 1)
    assert "next safe point" in said[0] and "again stops at once" in said[0]


def test_the_second_stops_at_once_and_is_not_answered_again():
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt), Interruption(said.append):
        press()
        assert wait_for(lambda: len(said) == 1)
        press()
        pytest.fail("must not get here")
    assert len(said) == 1


def test_it_is_answered_while_compiled_code_runs():
    answers: list[float] = []
    with Interruption(lambda message: answers.append(time.monotonic())) as interruption:
        pressed: list[float] = []
        timer = threading.Timer(0.2, lambda: (pressed.append(time.monotonic()), press()))
        timer.start()
        busy(2.0)
        ended = time.monotonic()
        assert interruption.requested
        timer.join()
    assert answers, "the answer must not wait for the interpreter"
    assert answers[0] - pressed[0] < SOON
    assert answers[0] < ended


def test_an_error_inside_puts_everything_back():
    with pytest.raises(ZeroDivisionError), Interruption(lambda message: None):
        raise ZeroDivisionError


def test_a_handler_and_a_wakeup_of_somebody_else_are_put_back_and_heard():
    """An event loop waits for signals at a descriptor of its own; it goes on hearing of them."""
    heard: list[int] = []
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
        signal.set_wakeup_fd(theirs.fileno())
        try:
            with Interruption(lambda message: None) as interruption:
                press()
                assert interruption.requested and heard == []
                ours.settimeout(10.0)
                assert ours.recv(8) == bytes([signal.SIGINT])
            press()
            assert heard == [signal.SIGINT]
            assert signal.set_wakeup_fd(-1) == theirs.fileno()
        finally:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGINT, before)


def test_an_answer_that_fails_does_no_harm():
    """A terminal that is gone must not keep others from hearing of signals."""
    ours, theirs = socket.socketpair()

    def gone(message: str) -> None:
        raise BrokenPipeError

    with ours, theirs:
        theirs.setblocking(False)
        ours.settimeout(10.0)
        signal.set_wakeup_fd(theirs.fileno())
        try:
            with pytest.raises(KeyboardInterrupt), Interruption(gone):
                press()
                assert ours.recv(8) == bytes([signal.SIGINT])
                try:
                    press()
                finally:
                    assert ours.recv(8) == bytes([signal.SIGINT])
        finally:
            signal.set_wakeup_fd(-1)


def test_whoever_ignores_signals_goes_on_ignoring_them():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interruption(lambda message: None) as interruption:
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            press()
            assert not interruption.requested
    finally:
        signal.signal(signal.SIGINT, before)


def test_nothing_is_installed_outside_the_main_thread():
    found: list[object] = []

    def elsewhere() -> None:
        with Interruption(lambda message: None) as interruption:
            found.append(signal.getsignal(signal.SIGINT))
            found.append(interruption.requested)
            interruption.request()
            found.append(interruption.requested)

    handler = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [handler, False, True]


def test_one_inside_another_shares_its_wish():
    outer_said: list[str] = []
    inner_said: list[str] = []
    with Interruption(outer_said.append) as outer:
        installed = signal.getsignal(signal.SIGINT)
        with Interruption(inner_said.append) as inner:
            assert signal.getsignal(signal.SIGINT) == installed
            press()
            assert inner.requested and outer.requested
        assert signal.getsignal(signal.SIGINT) == installed, "the inner one leaves what it has not installed"
        with Interruption(inner_said.append) as later:
            assert later.requested, "what begins afterwards ends soon as well"
        assert wait_for(lambda: len(outer_said) == 1)
    assert inner_said == []


def test_a_wish_inside_is_one_outside():
    with Interruption(lambda message: None) as outer, Interruption(lambda message: None) as inner:
        inner.request()
        assert outer.requested


def test_what_ended_a_search_is_a_wish_the_first_time_and_raised_the_second():
    interruption = Interruption(lambda message: None)
    interruption.heard(KeyboardInterrupt())
    assert interruption.requested
    interruption.heard(InterruptedFitError())
    with pytest.raises(KeyboardInterrupt):
        interruption.heard(KeyboardInterrupt())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_whatever_means_the_same_is_a_wish_and_stays_one(number):
    """Schedulers ask again and again; only Ctrl-C said twice stops at once."""
    said: list[str] = []
    with meaning_the_same(number), Interruption(said.append) as interruption:
        for _ in range(3):
            signal.raise_signal(number)
        assert interruption.requested
        assert wait_for(lambda: len(said) == 1)
        with pytest.raises(KeyboardInterrupt):
            press()


def test_others_are_left_alone_where_they_mean_something_else():
    with Interruption(lambda message: None):
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_job_in_the_background_ignores_ctrl_c_and_hears_its_scheduler():
    """Shells start what goes into the background with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with meaning_the_same(signal.SIGTERM), Interruption(lambda message: None) as interruption:
            press()
            assert not interruption.requested
            signal.raise_signal(signal.SIGTERM)
            assert interruption.requested
    finally:
        signal.signal(signal.SIGINT, before)


def test_where_nothing_can_be_lost_the_first_stops_at_once():
    said: list[str] = []
    with Interruption(said.append, at_once=True):
        with Interruption(lambda message: None) as inner:
            assert not inner.requested
        with pytest.raises(KeyboardInterrupt):
            press()
        assert wait_for(lambda: len(said) == 1)
    assert said == ["Interrupted: stopping."]


def test_a_fit_inside_makes_it_a_wish_again():
    with Interruption(lambda message: None, at_once=True), Interruption(lambda message: None) as inner:
        press()
        assert inner.requested


def test_whoever_does_not_listen_is_given_up_once():
    """A compiler does not return for a minute; what is entered innermost knows what has been kept."""
    ends: list[str] = []
    outer = Interruption(lambda message: None, give_up=lambda: ends.append("outer"), patience=0.1)
    with outer, Interruption(lambda message: None, give_up=lambda: ends.append("inner")):
        press()
        busy(0.5)
        assert ends == ["inner"]
        busy(0.3)
    assert ends == ["inner"]


def test_nobody_is_given_up_in_a_process_of_somebody_else():
    ends: list[str] = []
    quick = Interruption(lambda message: None, patience=0.05)
    with quick, Interruption(lambda message: None, give_up=lambda: ends.append("inner")):
        press()
        time.sleep(0.2)
    assert ends == []


def test_nobody_is_given_up_while_a_file_is_written():
    ends: list[float] = []
    with Interruption(lambda message: None, give_up=lambda: ends.append(time.monotonic()), patience=0.05):
        with unbroken:
            press()
            time.sleep(0.3)
            written = time.monotonic()
        assert wait_for(lambda: len(ends) == 1)
    assert ends[0] >= written


def test_a_wish_is_answered_although_the_end_that_it_led_to_came_first():
    """The thread that answers may get its turn only when everything is done, and it is too late for further signals."""
    said: list[str] = []
    before = sys.getswitchinterval()
    sys.setswitchinterval(100.0)
    try:
        with Interruption(said.append, at_once=True) as interruption:
            with pytest.raises(KeyboardInterrupt):
                press()
            interruption.too_late()
            assert said == [], "the other thread has not had its turn"
    finally:
        sys.setswitchinterval(before)
    assert len(said) == 1


def test_a_terminal_that_takes_no_words_holds_nothing_up():
    """Its thread ends whenever it can, with what it reads from, and whoever comes next is heard."""
    blocked, said = threading.Event(), list[str]()
    with Interruption(lambda message: said.append(message) if blocked.wait(60.0) else None) as stuck:
        press()
        began = time.monotonic()
    assert stuck.requested and time.monotonic() - began < 10.0 and said == []
    with Interruption(said.append) as interruption:
        press()
        assert interruption.requested and wait_for(lambda: len(said) == 1)
    blocked.set()
    assert wait_for(lambda: len(said) == 2)
    assert wait_for(lambda: not any(thread.name == "gpssm-interrupt" for thread in threading.enumerate()))


def test_when_all_is_done_it_is_too_late():
    said: list[str] = []
    with (
        meaning_the_same(signal.SIGTERM),
        Interruption(said.append, at_once=True) as outer,
        Interruption(said.append) as inner,
    ):
        inner.too_late()
        press()
        signal.raise_signal(signal.SIGTERM)
        assert not outer.requested
    assert said == []
