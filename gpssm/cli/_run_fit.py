"""`gpssm fit` once everything is checked: train, judge, save, and say what comes next."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.random as jr
from rich.console import Console

from gpssm import report as reports
from gpssm._core._devices import Devices
from gpssm._core._distributed import broadcast_from_first
from gpssm._core._result import Result
from gpssm.cli._folder import remove_folder
from gpssm.cli._outcome import Code, Outcome, screen, side
from gpssm.cli._score import Scores, free_run_scores
from gpssm.cli._states import Candidate, best, draw, show, try_each
from gpssm.cli._train import (
    Recipe,
    check_kernel,
    ending,
    learn,
    shown,
)
from gpssm.data import Episodes
from gpssm.files import save
from gpssm.fitting._progress import Silent

ENOUGH = b"enough"
"""What the first process says when no other seed need be tried."""
POOR_FIT, POOR_COVERAGE = 50.0, 0.8
"""Below these, a user is warned not to rely on the model."""


def run_fit(
    train: Episodes,
    held_out: Episodes | None,
    choices: range,
    recipe: Recipe,
    output: Path,
    *,
    settings: dict[str, Any],
    tries: int,
    report: bool,
    folder: Path,
    devices: Devices | None,
    again: str,
    json: bool,
) -> Outcome | None:
    """Train, judge, save. Of several processes only the first has an outcome."""
    check_kernel(recipe.kernel)
    if devices is not None and not devices.is_first:
        return follow(train, held_out, choices, recipe, folder, tries, devices)
    screens = screen(json=json), side(json=json)
    tried = _tried(train, held_out, choices, recipe, folder, screens[1], tries, devices)
    return _conclude(tried, train, held_out, output, folder, settings, report, again, screens)


def _conclude(
    tried: list[Candidate],
    train: Episodes,
    held_out: Episodes | None,
    output: Path,
    folder: Path,
    settings: dict[str, Any],
    report: bool,
    again: str,
    screens: tuple[Console, Console],
) -> Outcome:
    """Judge and save what was tried."""
    if tried[-1].result is Result.interrupted:
        return _interrupted(tried, output, folder, settings, again, screens[1])
    chosen = best(tried) if len(tried) > 1 else tried[0]
    facts = _facts(chosen, tried, output)
    if chosen.result is Result.diverged:
        kept = output.with_name(f"{output.stem}.diverged{output.suffix}")
        save(chosen.system, kept, settings=settings | facts)
        screens[1].print(
            f"[bold red]Training diverged.[/] The last good state is in {kept}. Try fewer --states, another --seed, or "
            "look at the records with gpssm check."
        )
        return Outcome(facts | {"model": str(kept)}, Code.diverged)
    save(chosen.system, output, settings=settings | facts)
    remove_folder(folder)
    if len(tried) > 1:
        show(tried, screens[0])
        picture = output.with_name(f"{output.stem}-states.png")
        draw(tried, picture)
        screens[0].print(f"Figure: {picture}")
        facts["figure"] = str(picture)
    if report and held_out is not None:
        facts["report"], facts["verdict"] = _report(chosen, train, held_out, output, settings | facts)
    _summary(chosen, facts, screens[0])
    return Outcome(facts)


def _report(
    chosen: Candidate, train: Episodes, held_out: Episodes, output: Path, settings: dict[str, Any]
) -> tuple[str, str]:
    """The page beside the model, and its headline."""
    path = output.with_name(f"{output.stem}-report.html")
    shown = {name: str(value) for name, value in settings.items() if isinstance(value, str | int | float)}
    made = reports.build(
        chosen.system, held_out, training=train, title=output.stem, settings=shown, key=jr.key(chosen.seed)
    )
    reports.write(made, path)
    return str(path), made.verdict.headline


def _tried(
    train: Episodes,
    held_out: Episodes | None,
    choices: range,
    recipe: Recipe,
    folder: Path,
    screen: Console,
    tries: int,
    devices: Devices | None,
) -> list[Candidate]:
    if len(choices) > 1 and held_out is not None:
        return try_each(choices, train, held_out, recipe, folder, screen, devices)
    made: list[Candidate] = []
    for attempt in range(tries):
        seeded = replace(recipe, seed=recipe.seed + attempt)
        title = f"The last model is poor on the held-out part; trying again with seed {seeded.seed}" if attempt else ""
        with shown(screen, title=title) as progress:
            place = folder / f"seed-{seeded.seed}" if attempt else folder
            system = learn(train, held_out, choices[0], seeded, place, progress, devices)
        result = ending(system)
        judged = held_out is not None and result is not Result.interrupted
        scores = free_run_scores(system, held_out, seed=seeded.seed) if judged and held_out is not None else None
        made.append(Candidate(choices[0], seeded.seed, system, scores, result))
        enough = scores is None or not _poor(scores)
        if result is not Result.interrupted:
            broadcast_from_first(ENOUGH if enough else b"again")
        if enough:
            break
    # An interrupted attempt has no scores, so that a finished one before it is kept.
    return [replace(best(made), result=made[-1].result if made[-1].scores is None else best(made).result)]


def follow(
    train: Episodes,
    held_out: Episodes | None,
    choices: range,
    recipe: Recipe,
    folder: Path,
    tries: int,
    devices: Devices,
) -> None:
    """What all processes but the first do: take part in every fit, in silence."""
    for turn in range(len(choices) if len(choices) > 1 else tries):
        several = len(choices) > 1
        states = choices[turn] if several else choices[0]
        seeded = recipe if several else replace(recipe, seed=recipe.seed + turn)
        system = learn(train, held_out, states, seeded, folder, Silent(), devices)
        if ending(system) is Result.interrupted:
            raise SystemExit(int(Code.interrupted))
        if not several and broadcast_from_first(b"") == ENOUGH:
            return


def _poor(scores: Scores) -> bool:
    return not (scores.fit_percent >= POOR_FIT and scores.coverage95 >= POOR_COVERAGE)


def _interrupted(
    tried: list[Candidate], output: Path, folder: Path, settings: dict[str, Any], again: str, screen: Console
) -> Outcome:
    """Save the model as it stands, and say how to go on. In the first moments there is no checkpoint yet."""
    kept = folder.is_dir() and any(folder.rglob("*.ckpt"))
    go_on = again if again.endswith("--resume") or not kept else f"{again} --resume"
    facts: dict[str, Any] = {"interrupted": True, "go_on": go_on, "checkpoint": kept}
    if len(tried) == 1:
        save(tried[0].system, output, settings=settings | {"interrupted": True})
        facts["model"] = str(output)
        screen.print(f"Interrupted. The model as it stands is in {output}.")
    else:
        screen.print("Interrupted. All candidates so far are kept in checkpoints.")
    screen.print(f"To go on:\n  {go_on}" if kept else f"It had hardly begun. To begin anew:\n  {go_on}", markup=False)
    return Outcome(facts, Code.interrupted)


def _facts(chosen: Candidate, tried: list[Candidate], output: Path) -> dict[str, Any]:
    history = chosen.system.history
    facts: dict[str, Any] = {
        "model": str(output),
        "states": chosen.states,
        "seed": chosen.seed,
        "bound_per_step": None if history is None or not len(history.bound) else float(history.bound[-1]),
        "seconds": None if history is None else history.seconds,
    }
    if chosen.scores is not None:
        facts["held_out"] = chosen.scores.facts()
    if len(tried) > 1:
        facts["candidates"] = [{"states": c.states, **(c.scores.facts() if c.scores else {})} for c in tried]
    return facts


def _summary(chosen: Candidate, facts: dict[str, Any], screen: Console) -> None:
    output = facts["model"]
    screen.print(f"[green]Saved[/] {output}: {chosen.states} states.")
    if chosen.scores is not None:
        screen.print(f"On the held-out part, running freely: {_sentence(chosen.scores)}")
        if _poor(chosen.scores):
            screen.print(
                "[yellow]That is poor:[/] do not rely on this model yet. Try other numbers of states (--states 1:4), "
                "another --seed, --kernel rbf+linear, or more records."
            )
    if "report" in facts:
        screen.print(f"{facts['verdict']}\nReport: {facts['report']}", markup=False)
    inputs = " --inputs future.csv" if chosen.system.input_names else " --steps 100"
    screen.print(f"Next: gpssm forecast {output} --data RECORD.csv{inputs} -o forecast.csv", markup=False)


def _sentence(scores: Scores) -> str:
    return (
        f"RMSE {scores.rmse:.4g}, fit {scores.fit_percent:.1f} %, {100 * scores.coverage95:.0f} % of the samples "
        "inside "
        f"the 95 % band, log density {scores.log_density:.3f}."
    )
