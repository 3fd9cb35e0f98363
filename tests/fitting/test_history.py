"""The record of a fit, the lines it shows, and when it stops."""

import io

import jax.numpy as jnp
import numpy as np
import pytest

import gpssm
from gpssm._core._history import History, Trace
from gpssm.fitting import Status
from gpssm.optimisers import Plateau


def _trace(bounds: list[float], *, states: int = 2, outputs: int = 1) -> Trace:
    total = jnp.asarray(bounds)
    return Trace(
        terms={"likelihood": 3.0 * total, "entropy": -2.0 * total},
        total=total,
        process_noise=jnp.ones((len(bounds), states)),
        measurement_noise=jnp.full((len(bounds), outputs), 0.5),
        gradient_norm=jnp.abs(total),
        jitter=jnp.zeros(len(bounds)),
    )


def _history(bounds: list[float], *, num_steps: float = 10.0) -> History:
    history = History(num_steps)
    history.append(_trace(bounds))
    return history


def test_bounds_and_terms_are_kept_for_each_time_step():
    history = _history([10.0, 20.0])
    history.append(_trace([30.0]))
    np.testing.assert_allclose(history.bound, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(history.terms["likelihood"], [3.0, 6.0, 9.0])
    np.testing.assert_allclose(history.terms["entropy"], [-2.0, -4.0, -6.0])
    assert history.process_noise.shape == (3, 2)
    assert history.measurement_noise.shape == (3, 1)
    np.testing.assert_allclose(history.gradient_norm, [10.0, 20.0, 30.0])


def test_a_later_stage_follows():
    first, second = _history([10.0, 20.0, 30.0]), _history([40.0])
    first.held_out, second.held_out = [(3, 0.5)], [(1, 0.7)]
    first.events, second.events = ["a"], ["b"]
    first.seconds, second.seconds = 1.5, 2.0
    both = first.then(second)
    np.testing.assert_allclose(both.bound, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(both.terms["entropy"], [-2.0, -4.0, -6.0, -8.0])
    assert both.process_noise.shape == (4, 2)
    assert both.held_out == [(3, 0.5), (4, 0.7)], "steps count on"
    assert both.events == ["a", "b"]
    assert both.seconds == 3.5
    assert len(first.bound) == 3, "the first record is left alone"


def test_stages_broken_off_before_their_first_step_follow_each_other():
    """What two of them leave is still nothing, and goes before and after any other stage."""
    nothing = History(10.0).then(History(10.0))
    assert nothing.process_noise is None and nothing.measurement_noise is None
    nothing.process_noise = np.zeros(0)  # as files of earlier versions have it
    for both in (_history([10.0, 20.0]).then(nothing), nothing.then(_history([10.0, 20.0]))):
        np.testing.assert_allclose(both.bound, [1.0, 2.0])
        assert both.process_noise.shape == (2, 2) and both.measurement_noise.shape == (2, 1)


def test_a_stage_without_steps_takes_nothing_away():
    first, nothing = _history([10.0, 20.0]), History(10.0)
    for both in (first.then(nothing), nothing.then(first)):
        np.testing.assert_allclose(both.bound, [1.0, 2.0])
        np.testing.assert_allclose(both.terms["likelihood"], [3.0, 6.0])
        assert both.process_noise.shape == (2, 2)


def test_the_bound_it_ended_with_is_that_of_the_last_stage():
    adam = History(1.0, bound=np.arange(100.0), averaged=50)
    assert adam.final_bound == np.arange(50.0, 100.0).mean()
    search = History(1.0, bound=np.array([200.0, 300.0]))
    assert adam.then(search).final_bound == 300.0
    assert search.then(adam).final_bound == adam.final_bound
    short = History(1.0, bound=np.array([1.0, 3.0]), averaged=50)
    assert adam.then(short).final_bound == 2.0
    assert adam.then(History(1.0)).final_bound == adam.final_bound
    assert History(1.0).final_bound == -np.inf


@pytest.mark.parametrize(
    ("bounds", "reached"),
    [
        (np.zeros(19), False),
        (np.zeros(20), True),
        (np.arange(20.0), False),
        (np.arange(20.0)[::-1], True),
        (np.concatenate([np.zeros(10), np.full(10, 0.5)]), True),
        (np.concatenate([np.zeros(10), np.full(10, 1.5)]), False),
        (np.concatenate([np.full(100, -50.0), np.zeros(20)]), True),
    ],
)
def test_a_plateau_is_a_gain_below_the_threshold(bounds, reached):
    assert Plateau(patience=10, gain=1.0, after=0).reached(bounds) is reached


def test_a_plateau_is_never_reached_too_early():
    stop = Plateau(patience=5, gain=1.0, after=30)
    assert not stop.reached(np.zeros(29))
    assert stop.reached(np.zeros(30))


def _report(step: int = 30, total: int = 100, held_out: float | None = None) -> Status:
    return Status("Adam", step, total, -1.25, 10.0, np.array([0.01, 0.04]), np.array([0.25]), held_out)


def test_a_line_says_everything():
    line = _report(held_out=-0.5).line()
    for part in ("Adam", "30/100", "ELBO/step -1.2500", "process sd 0.1 0.2", "output sd 0.5", "held out -0.5000"):
        assert part in line
    assert "10 steps/s" in line
    assert "7 s left" in line, "70 steps at 10 a second"
    assert "held out" not in _report().line()


def test_a_line_without_noises_names_what_it_shows():
    line = Status("rounds", 2, 6, 0.125, 0.5, label="free-run error (scaled)").line()
    assert "free-run error (scaled) +0.1250" in line and "8 s left" in line
    assert "sd" not in line and "ELBO" not in line


class Terminal(io.StringIO):
    """A buffer that takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_file_gets_a_line_now_and_then():
    stream = io.StringIO()
    console = gpssm.Console(stream=stream, every=1e6)
    for step in (10, 20, 100):
        console.update(_report(step))
    console.say("done")
    lines = stream.getvalue().splitlines()
    assert [line.split()[2] for line in lines[:-1]] == ["10/100", "100/100"], "the first and the last"
    assert lines[-1].split() == ["0:00", "done"]


def test_a_terminal_rewrites_its_line_and_keeps_messages():
    stream = Terminal()
    console = gpssm.Console(stream=stream)
    console.update(_report(10))
    console.update(_report(20))
    console.say("something happened")
    console.say("and more")
    text = stream.getvalue()
    assert text.count("\r") == 2
    assert "100\n" not in text, "one line"
    assert [line.split(maxsplit=1) for line in text.splitlines()[-2:]] == [
        ["0:00", "something happened"],
        ["0:00", "and more"],
    ]


def test_silence():
    quiet = gpssm.Silent()
    quiet.update(_report())
    quiet.say("nothing")


def test_only_planned_ends_are_good():
    good = {result for result in gpssm.Result if result.good}
    assert good == {gpssm.Result.finished, gpssm.Result.plateau, gpssm.Result.converged}
