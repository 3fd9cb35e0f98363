"""The training loop: it climbs, repeats itself exactly, compiles once, and ends as it says."""

import io
import logging

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import paramax
import pytest

import gpssm
from gpssm.fitting import Run, Status
from gpssm.optimisers import Adam, Plateau, Training, _step
from tests.optimisers.small_task import EVERY, Listening, Task, equal, indefinite_task, leaves, padded


@pytest.fixture(scope="module")
def counted(task):
    """Two trainings of the same shapes and the number of times that the step was traced in each."""
    traces = 0
    # An optimiser of its own: no earlier test can have compiled its step.
    fresh = Task(task.model, task.inference, task.data, optax.adam(1e-2))
    one_step = _step._one_step

    def counting(*args):
        nonlocal traces
        traces += 1
        return one_step(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_step, "_one_step", counting)
        chunks = []
        for _ in fresh.adam(3 * EVERY).iterate(fresh.tree, Training(fresh.data), key=jr.key(0)):
            chunks.append(traces)
        other = Task(task.model, task.inference, padded((7, 12, 8), seed=5), fresh.transformation)
        again = other.train(other.adam(2 * EVERY), key=jr.key(1))
        return chunks, traces, again


@pytest.fixture(scope="module")
def trained(task, counted):
    return task.train(task.adam(2 * EVERY), key=jr.key(0))


def test_the_step_is_traced_once_for_each_shape(counted):
    chunks, total, _ = counted
    assert chunks[0] >= 1, "the counter is not in place"
    assert chunks[1] == chunks[2] == chunks[0], "a later run of steps was traced again"
    assert total == chunks[0], "a second training with data of the same shape was traced again"


def test_training_raises_the_bound(trained):
    assert trained.result is gpssm.Result.finished
    assert len(trained.history.bound) == 2 * EVERY
    assert np.isfinite(trained.history.bound).all()
    assert trained.history.bound[-20:].mean() > trained.history.bound[:20].mean() + 0.3


def test_the_terms_sum_to_the_bound(trained):
    total = sum(trained.history.terms.values())
    np.testing.assert_allclose(total, trained.history.bound, rtol=1e-10)
    assert set(trained.history.terms) == {"likelihood", "transition", "entropy", "initial", "inducing"}
    assert trained.history.process_noise.shape == trained.history.measurement_noise.shape == (2 * EVERY, 1)


def test_the_history_ends_with_the_noise_of_the_model(trained):
    np.testing.assert_allclose(trained.history.process_noise[-1], trained.model.transition.noise_variance())
    np.testing.assert_allclose(trained.history.measurement_noise[-1], trained.model.emission.noise_variance())


def test_same_key_same_parameters(task, trained):
    again = task.train(task.adam(2 * EVERY), key=jr.key(0))
    assert equal(again.tree, trained.tree)
    assert np.array_equal(again.history.bound, trained.history.bound)


def test_other_key_other_parameters(task, trained):
    other = task.train(task.adam(2 * EVERY), key=jr.key(1))
    assert not equal(other.model, trained.model)


def test_what_is_not_trainable_stays(task, trained):
    assert isinstance(task.model.emission.weight, paramax.NonTrainable)
    assert equal(trained.model.emission.weight, task.model.emission.weight)
    assert not equal(trained.model.emission.noise, task.model.emission.noise)


def test_frozen_parts_stay_bit_equal_even_under_weight_decay(task):
    """Weight decay would move a leaf whose gradient is merely zero."""
    decaying = Task(task.model, task.inference, task.data, optax.adamw(1e-2, weight_decay=0.1))
    result = decaying.train(
        decaying.adam(EVERY),
        freeze=lambda model, inference: (model.transition.kernels, model.emission.noise, inference.recognition.gains),
        key=jr.key(0),
    )
    model, inference = result.model, result.inference
    assert equal(model.transition.kernels, task.model.transition.kernels)
    assert equal(model.emission, task.model.emission)
    assert equal(inference.recognition.gains, task.inference.recognition.gains)
    for moved, start in (
        (model.transition.inducing, task.model.transition.inducing),
        (model.transition.q_mean, task.model.transition.q_mean),
        (model.transition.noise, task.model.transition.noise),
        (inference.recognition.means, task.inference.recognition.means),
    ):
        assert not equal(moved, start)


def test_nothing_to_train_is_refused(task):
    with pytest.raises(ValueError, match="nothing to train"):
        task.train(task.adam(EVERY), freeze=lambda model, inference: (model, inference), key=jr.key(0))


class Interrupting:
    """Presses Ctrl-C when it hears of a given step."""

    def __init__(self, step: int):
        self.step = step

    def update(self, status: Status) -> None:
        if status.step >= self.step:
            raise KeyboardInterrupt

    def say(self, message: str) -> None:
        """Nothing."""


def test_interruption_returns_the_last_good_state(task):
    run = Run(progress=Interrupting(2 * EVERY))
    stopped = task.train(task.adam(4 * EVERY), run=run, key=jr.key(0))
    *_, last = task.adam(2 * EVERY).iterate(task.tree, Training(task.data), key=jr.split(jr.key(0), 3)[0])
    assert stopped.result is gpssm.Result.interrupted
    assert not stopped.result.good
    assert len(stopped.history.bound) == 2 * EVERY
    assert equal(stopped.tree, last.tree)
    assert "interrupted" in stopped.history.events[-1]
    assert run.interrupted


def test_training_stops_on_a_plateau(task):
    stop = Plateau(patience=20, gain=1e6, after=60)
    stopped = task.train(task.adam(10 * EVERY, stop=stop), key=jr.key(0))
    assert stopped.result is gpssm.Result.plateau
    assert stopped.result.good
    assert len(stopped.history.bound) == 2 * EVERY, "the first look after step 60 is at 100"


def test_no_steps_are_refused():
    with pytest.raises(ValueError, match="steps=0: need at least one"):
        Adam(0)


def test_console_tells_how_training_goes(task):
    stream = io.StringIO()
    run = Run(progress=gpssm.Console(stream=stream, every=0.0))
    done = task.train(task.adam(2 * EVERY), run=run, key=jr.key(0))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert "\r" not in stream.getvalue(), "a file is not a terminal"
    assert f"{2 * EVERY}/{2 * EVERY}" in lines[-1]
    assert f"ELBO/step {done.history.bound[-50:].mean():+.4f}" in lines[-1]
    assert f"process sd {np.sqrt(done.history.process_noise[-1, 0]):.3g}" in lines[-1]
    assert f"output sd {np.sqrt(done.history.measurement_noise[-1, 0]):.3g}" in lines[-1]
    assert "0 s left" in lines[-1]


def test_states_at_each_step_cannot_judge_other_records(task):
    with pytest.raises(ValueError, match="known for training episodes only: use a Network"):
        task.train(task.adam(EVERY), held_out=padded((12, 12), seed=9), key=jr.key(0))


def test_a_matrix_that_needs_more_jitter_is_reported(caplog):
    """A `kernel` that is not positive definite: off the diagonal it is larger than on it."""
    made = indefinite_task()
    told = Listening()
    with caplog.at_level(logging.WARNING, logger="gpssm"):
        done = made.train(made.adam(1), run=Run(progress=told), key=jr.key(0))
    events = [event for event in done.history.events if "jitter" in event]
    assert events == told.messages
    assert len(events) == 1
    assert "1e-03" in events[0]
    assert events[0] in caplog.text
    assert jnp.isfinite(done.history.bound).all()


def test_many_planned_steps_are_made_by_the_fast_program(task: Task, monkeypatch):
    """Which program it is depends on the plan alone, not on how far training has come; both make the same steps."""
    made = []
    for name in ("compiled_steps", "soon_compiled_steps"):
        program = getattr(_step, name)
        monkeypatch.setattr(_step, name, lambda *args, name=name, program=program: made.append(name) or program(*args))
    monkeypatch.setattr(_step, "MUCH_TRAINING", 3 * EVERY * task.data.valid.size)
    few = list(task.adam(2 * EVERY).iterate(task.tree, Training(task.data), key=jr.key(0)))
    many = list(task.adam(3 * EVERY).iterate(task.tree, Training(task.data), key=jr.key(0)))
    assert made == ["soon_compiled_steps"] * 2 + ["compiled_steps"] * 3
    for a, b in zip(leaves(few[1].tree), leaves(many[1].tree), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
