"""Rebuild docs/results.md and its figures from the JSON files: `python -m experiments.tables`."""

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS, DOCS = ROOT / "results", ROOT / "docs"

HEADER = """# Results

Made from the files in `results/` by `python -m experiments.tables`; do not edit by hand. Every number is a mean over
seeds, with its range in brackets where there is room. Protocol, seeds and versions are in the files.
"""

Row = dict[str, Any]
Keep = Callable[[Row], bool]


@dataclass(frozen=True)
class Column:
    """Which rows of a file go into a column of a table."""

    title: str
    metric: str
    keep: Keep = lambda row: True
    with_range: bool = True


@dataclass(frozen=True)
class Section:
    """One experiment on the page. The words come from the protocol of its file."""

    name: str
    title: str
    told: tuple[str, ...]
    columns: tuple[Column, ...]
    figures: dict[str, str] = field(default_factory=dict)
    """File and caption."""


def only(**key: Any) -> Keep:
    """Rows with these entries."""
    return lambda row: all(row.get(name) == value for name, value in key.items())


def unbalanced(row: Row) -> bool:
    """Rows of the tests that are not balanced."""
    return row.get("test") != "last"


SWING_UP = (
    Column("last trial, mean", "tip_error", only(test="last")),
    *(Column(f"at {h}", "tip_error_at", only(test="last", horizon=h), with_range=False) for h in (5, 10, 15, 20)),
    Column("not balanced, mean", "tip_error", unbalanced),
    *(
        Column(f"at {h}", "tip_error_at", lambda row, h=h: unbalanced(row) and row["horizon"] == h, with_range=False)
        for h in (5, 10, 15, 20)
    ),
    Column("coverage of 95 %", "coverage_95", with_range=False),
    Column("log density", "log_density", with_range=False),
)
FREE_RUN = (
    Column("RMSE of the free run", "rmse"),
    Column("of the run without noise", "rmse_mean_run"),
    Column("coverage of the 95 % band", "coverage_95"),
    Column("log density", "log_density"),
    Column("seconds", "seconds", with_range=False),
)


def swing_up(name: str, title: str) -> Section:
    """A section of one of the swing-up experiments."""
    figures = {f"{name}_futures": "Sampled futures of the last trial (thin) and the truth (dotted), first seed"}
    for case in ("observed", "hidden", "aligned", "lagged"):
        figures[f"{name}_{case}_states"] = f"Learnt states of the last training trials, {case}, first seed"
        figures[f"{name}_{case}_fits"] = f"Free runs of all training trials, {case}, first seed"
    return Section(name, title, ("system", "tests", "prediction", "unit", "selection"), SWING_UP, figures)


SECTIONS = (
    Section(
        "kink",
        "Kink",
        ("data", "system", "selection"),
        (
            Column("RMSE, visited range", "rmse_visited"),
            Column("RMSE within 0.5 of the kink", "rmse_kink"),
            Column("process variance (true 0.01)", "process_variance"),
            Column("noise variance (true 0.1)", "noise_variance"),
            Column("bound per step", "elbo_per_step"),
            Column("seconds", "seconds", with_range=False),
        ),
        {
            "kink_best": "Learnt transition functions, our recipe, seed 0",
            "kink_best_wide": "The same far from the data: RBF kernels return to the mean function, the others to a "
            "constant increment",
            "kink_paper": "Learnt transition functions by the paper's recipe, seed 0",
            "kink_paper_wide": "The same far from the data",
        },
    ),
    Section(
        "function_bands",
        "Noises and the band of the learnt function",
        ("kink", "smooth kink", "score", "marginal", "mean field", "repaired"),
        (
            Column("process variance (true 0.01; smooth kink 0.0025)", "process_variance"),
            Column("noise variance", "noise_variance"),
            Column("RMSE of the function", "rmse"),
            Column("near the kink", "rmse_kink"),
            Column("log density of the function", "log_density"),
            Column("coverage of its 95 % band", "coverage"),
            Column("CPU seconds", "cpu_seconds", with_range=False),
        ),
        {"function_bands": "Functions learnt with the states integrated out, one series at each noise level"},
    ),
    Section(
        "hidden_swing_ups",
        "Swing-ups with hidden velocities, states integrated out",
        ("trials", "tests", "prediction", "unit", "marginal", "argp", "noise_ratio", "seen"),
        (*SWING_UP, Column("measurement variance over the true one", "noise_ratio"), Column("CPU s", "cpu_seconds")),
    ),
    swing_up("cart_pole", "Cart-pole"),
    swing_up("lagged_actions", "Lagged actions"),
    swing_up("double_pendulum", "Double pendulum"),
    Section(
        "process_noise",
        "Double pendulum, hidden velocities: process noise from cycle to cycle",
        ("system", "model", "measure"),
        tuple(
            Column(f"{title}, cycle {cycle}", metric, only(cycle=cycle), with_range=False)
            for metric, title in (
                ("bound", "bound"),
                ("process", "process variance"),
                ("measurement_ratio", "measurement variance over the true one"),
            )
            for cycle in (1, 10, 25)
        ),
        {"process_noise": "Bound and noises as the fit goes on"},
    ),
    Section(
        "actuator",
        "Actuator",
        ("split", "prediction", "point prediction", "selection", "seen", "units"),
        FREE_RUN,
        {
            "actuator_best": "Free simulation of the test half with its band, our settings, seed 0",
            "actuator_paper": "The same with the paper's settings",
        },
    ),
    Section(
        "real_sets",
        "Real records",
        ("split", "prediction", "point prediction", "selection", "seen", "units"),
        FREE_RUN,
        {
            f"real_sets_{name}": f"Free simulation of the test half: {name.replace('_', ' ')}"
            for name in ("actuator", "ballbeam", "drive", "gas_furnace", "dryer", "cascaded_tanks")
        },
    ),
    Section(
        "smooth_kink",
        "Smooth kink, public draws",
        ("data", "model", "score", "selection"),
        (
            Column("MSE of the function", "mse"),
            Column("log density with process noise", "log_density_noisy"),
            Column("log density of the function", "log_density"),
            Column("process variance", "process_variance"),
            Column("seconds", "seconds", with_range=False),
        ),
        {"smooth_kink": "Learnt functions, one series at each noise level"},
    ),
    Section(
        "pendulum",
        "Pendulum with hidden velocity",
        ("data", "prediction", "selection"),
        (
            Column("NRMSE of the free run", "nrmse"),
            Column("coverage of the 95 % band", "coverage_95"),
            Column("log density", "log_density"),
            Column("R2 of the hidden velocity", "velocity_r2"),
            Column("seconds", "seconds", with_range=False),
        ),
        {"pendulum": "Free simulation of held-out episodes, and the hidden velocity read off the states, seed 0"},
    ),
    Section(
        "step",
        "Time per gradient step",
        ("timing",),
        (
            Column("compile, s", "compile_s"),
            Column("gradient step, ms", "step_ms"),
            Column("recognition", "recognition_ms"),
            Column("chain", "chain_ms"),
            Column("GP", "gp_ms"),
            Column("Cholesky within it", "cholesky_ms"),
        ),
    ),
)


def cell(rows: Iterable[Row], column: Column) -> str:
    """Mean and range of a column's numbers."""
    values = [row["value"] for row in rows if row["metric"] == column.metric and column.keep(row)]
    if not values:
        return ""
    middle = f"{mean(values):.3g}" if len(values) == 1 else f"{mean(values):.3f}"
    varied = column.with_range and len(values) > 1 and min(values) < max(values)
    return middle + (f" ({min(values):.3f} to {max(values):.3f})" if varied else "")


def table(rows: list[Row], columns: tuple[Column, ...]) -> str:
    """A table with a line for each case and method, in the order of cases; columns without numbers are left out."""
    keys = sorted(dict.fromkeys((row["case"], row["method"]) for row in rows), key=lambda key: _first(rows, key[0]))
    groups = {key: [row for row in rows if (row["case"], row["method"]) == key] for key in keys}
    lines = [[*key, *(cell(group, column) for column in columns)] for key, group in groups.items()]
    kept = [0, 1, *(i + 2 for i in range(len(columns)) if any(line[i + 2] for line in lines))]
    header = ["case", "method", *(column.title for column in columns)]
    shown = [[line[i] for i in kept] for line in (header, *lines)]
    return "\n".join(_line(line) for line in (shown[0], ["---"] * len(kept), *shown[1:]))


def _first(rows: list[Row], case: str) -> int:
    return next(i for i, row in enumerate(rows) if row["case"] == case)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def figure(name: str, caption: str) -> str:
    """Copy a figure to the documentation and show it."""
    source = RESULTS / f"{name}.png"
    if not source.exists():
        return ""
    (DOCS / "assets").mkdir(exist_ok=True)
    shutil.copyfile(source, DOCS / "assets" / source.name)
    return f"![{caption}](assets/{source.name})\n\n*{caption}*"


def written(section: Section) -> str:
    """A section, if its file is there."""
    path = RESULTS / f"{section.name}.json"
    if not path.exists():
        return ""
    stored = json.loads(path.read_text())
    protocol = stored["protocol"]
    told = [f"- {word}: {protocol[word]}" for word in section.told if word in protocol]
    chosen = [f"- chosen, {what}" for what in (f"{k}: {v}" for k, v in stored.get("choices", {}).items())]
    command = f"- made by `{stored['command']}` on {stored['machine']['cores']} cores"
    parts = [f"## {section.title}", "\n".join([*told, *chosen, command]), table(stored["rows"], section.columns)]
    parts += [figure(name, caption) for name, caption in section.figures.items()]
    return "\n\n".join(part for part in parts if part)


def main() -> None:
    """Write the page."""
    page = "\n\n".join(part for part in (HEADER.strip(), *(written(section) for section in SECTIONS)) if part)
    (DOCS / "results.md").write_text(page.rstrip() + "\n")
    print(f"wrote {(DOCS / 'results.md').relative_to(ROOT)}")


if __name__ == "__main__":
    main()
