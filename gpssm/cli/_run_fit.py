"""`gpssm fit` once everything is checked: learn, judge, save, and say what comes next."""

from typing import Any

from rich.console import Console

from gpssm._core._devices import Devices
from gpssm.cli._learn import Learnt, Task, learn
from gpssm.cli._methods import check_kernel
from gpssm.cli._outcome import Code, Outcome, screen, side, tell
from gpssm.cli._progress import shown
from gpssm.cli._states import candidates, counted, draw
from gpssm.cli._stop import answer
from gpssm.cli._targets import remove_folder
from gpssm.data import DataError
from gpssm.evaluate import Judged, judge
from gpssm.files import save
from gpssm.fitting import Fit, Result
from gpssm.fitting._interrupt import Interruption, Stopped
from gpssm.predict import AbstractPredictor, LinearPredictor, System

HORIZONS = (1, 5, 20)
"""Steps ahead that the page shows beside the free run."""
ADVICE = 2
"""Lines of the page's advice that the console shows as well, most urgent first."""


def run_fit(task: Task, interruption: Interruption, *, devices: Devices | None, json: bool) -> Outcome | None:
    """Learn, judge, save. Of several processes all take part in the fit, and only the first has an outcome."""
    check_kernel(task.flags.kernel)
    leads = devices is None or devices.is_first
    out, beside = screen(json=json or not leads), side(json=json or not leads)
    try:
        interruption.check()
        with shown(beside) as progress:
            learnt = learn(task, devices, progress)
    except Stopped:
        # Before there was a model, or by a second Ctrl-C.
        if not leads:
            raise SystemExit(int(Code.interrupted)) from None
        return _interrupted(None, task, beside)
    if not leads:
        if learnt.fit.result is Result.interrupted:
            raise SystemExit(int(Code.interrupted))
        return None
    if learnt.fit.result is Result.interrupted:
        return _interrupted(learnt.fit, task, beside)
    if learnt.fit.result is Result.diverged:
        return _diverged(learnt.fit, task, _facts(learnt, task), beside)
    # Safe before it is judged, which may be broken off as well; checkpoints stay until all of it is written.
    save(learnt.fit, task.output, settings=task.settings | _facts(learnt, task))
    try:
        with shown(beside), Interruption(answer, at_once=True):
            if interruption.requested:
                raise KeyboardInterrupt
            judged, facts = _shown(learnt, task, beside)
    except KeyboardInterrupt:
        return _not_judged(learnt, task, beside)
    interruption.too_late()  # before checkpoints are removed, from which one could go on
    remove_folder(task.folder)
    _summary(learnt, judged, facts, out)
    return Outcome({"method": task.method, **facts})


def _shown(learnt: Learnt, task: Task, screen: Console) -> tuple[Judged | None, dict[str, Any]]:
    """The model judged by what was held out, with figure and page, and everything there is to tell."""
    facts = _facts(learnt, task)
    judged = _judged(learnt.fit, task, screen)
    if judged is not None:
        facts["held_out"] = judged.free_run.facts()
        save(learnt.fit, task.output, settings=task.settings | facts)
    if learnt.choice is not None:
        facts["figure"] = str(task.beside("-states.png"))
        draw(learnt.choice, task.states, task.beside("-states.png"))
    if judged is not None and task.report:
        facts |= _report(learnt.fit, judged, task, facts, screen)
    return judged, facts


def _judged(made: Fit, task: Task, screen: Console) -> Judged | None:
    """Free runs and predictions of what was held out; console and page show the same ones."""
    if task.held_out is None:
        return None
    try:
        return judge(made.system, task.held_out, horizons=HORIZONS, seed=task.seed)
    except DataError as error:
        # The fit was dear, and is good as it is.
        tell(screen, f"The model is not judged by the held-out part: {error}")
        return None


def _report(made: Fit, judged: Judged, task: Task, facts: dict[str, Any], screen: Console) -> dict[str, Any]:
    """The page beside the model, its headline and what it advises first."""
    # Slow to import, and not always wanted.
    from gpssm.reporting import report

    path = task.beside("-report.html")
    settings = {"method": task.method, **task.settings, **facts}
    words = {name: str(value) for name, value in settings.items() if isinstance(value, str | int | float)}
    assert task.held_out is not None
    try:
        page = report(
            made, task.held_out, path, training=task.train, judged=judged, title=task.output.stem, settings=words
        )
    except DataError as error:
        tell(screen, f"No report was written: {error}")
        return {}
    return {"report": str(path), "verdict": page.verdict.headline, "advice": list(page.verdict.advice[:ADVICE])}


def _diverged(made: Fit, task: Task, facts: dict[str, Any], screen: Console) -> Outcome:
    kept = task.beside(f".diverged{task.output.suffix}")
    save(made, kept, settings=task.settings | facts)
    tell(
        screen,
        f"The last good state is in {kept}. Try fewer --states, another --seed or --method, or look at the records "
        "with gpssm check.",
        mark="Training diverged.",
        style="bold red",
    )
    return Outcome({"method": task.method, **facts, "model": str(kept)}, Code.diverged)


def _interrupted(made: Fit | None, task: Task, screen: Console) -> Outcome:
    """Save the model as it stands, if there is one, and say how to go on."""
    unfinished = task.unfinished
    if made is None and not unfinished.kept:
        raise KeyboardInterrupt
    facts = unfinished.facts()
    if made is None:
        tell(screen, f"Interrupted before there was a model; what was finished is kept in {task.folder}.")
    else:
        save(made, task.output, settings=task.settings | {"interrupted": True})
        tell(screen, f"Interrupted. The model as it stands is in {task.output}.")
        facts["model"] = str(task.output)
    begun = "To go on:" if unfinished.kept else "It had hardly begun. To begin anew:"
    tell(screen, f"{begun}\n  {unfinished.go_on}")
    return Outcome(facts, Code.interrupted)


def _not_judged(learnt: Learnt, task: Task, screen: Console) -> Outcome:
    """Interrupted when everything was learnt: the model is complete and saved."""
    facts = task.unfinished.facts() | {"method": task.method, **_facts(learnt, task)}
    tell(screen, f"Interrupted. The model is complete and in {task.output}; it has not been judged, nor reported on.")
    tell(screen, f"To have that done:\n  {task.unfinished.go_on}")
    return Outcome(facts, Code.interrupted)


def _facts(learnt: Learnt, task: Task) -> dict[str, Any]:
    history, states = learnt.fit.history, learnt.states
    facts: dict[str, Any] = {
        "model": str(task.output),
        "states": _states(learnt.fit.system, states),
        "seed": task.seed,
        "result": learnt.fit.result.name,
        "bound_per_step": float(history.bound[-1]) if len(history.bound) else None,
        "seconds": history.seconds,
    }
    if learnt.choice is not None:
        facts["candidates"] = candidates(learnt.choice, task.states)
    return facts


def _states(system: AbstractPredictor, asked: range) -> int | list[int]:
    """Those of the model, where it has any."""
    if isinstance(system, System):
        return system.model.state_dim
    if isinstance(system, LinearPredictor):
        return system.system.order
    return asked[0] if len(asked) == 1 else list(asked)


def _summary(learnt: Learnt, judged: Judged | None, facts: dict[str, Any], screen: Console) -> None:
    system, output = learnt.fit.system, facts["model"]
    about = counted(system.model.state_dim) if isinstance(system, System) else _first_words(system.describe())
    tell(screen, f"{output}: {about}.", mark="Saved", style="green")
    if "figure" in facts:
        tell(screen, f"Figure: {facts['figure']}")
    if judged is not None:
        tell(screen, f"On the held-out part, running freely: {judged.free_run.sentence()}")
        if judged.free_run.poor and "verdict" not in facts:
            tell(
                screen,
                "do not rely on this model yet. Try other numbers of states (--states 1:4), another --method or "
                "--seed, or more records.",
                mark="That is poor:",
                style="yellow",
            )
    if "report" in facts:
        # Where there is a page, its verdict is the only one.
        tell(screen, "\n".join([facts["verdict"], *facts["advice"], f"Report: {facts['report']}"]))
    inputs = " --inputs future.csv" if system.input_names else " --steps 100"
    tell(screen, f"Next: gpssm forecast {output} --data RECORD.csv{inputs} -o forecast.csv")


def _first_words(described: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in list(described.items())[:2])
