"""Rebuild docs/speed.md and its figures from the JSON files: `python -m benchmarks.report`."""

import argparse
import json
import textwrap
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import NullFormatter

ROOT = Path(__file__).resolve().parents[1]
RESULTS, DOCS = ROOT / "results" / "bench", ROOT / "docs"
AXES = {
    "steps": "samples in one record",
    "episodes": "episodes of 20 samples",
    "states": "state dimensions",
    "inducing": "inducing points",
    "paths": "sampled paths",
    "windows": "samples in a record read through windows",
    "simulation": "inducing points, simulation",
}

HEADER = """# Speed

Made from the files in `results/bench/` by `python -m benchmarks.report`; do not edit by hand. `make bench` measures
again (a short run; `make bench BENCH_ARGS=` the long one). Ratios and exponents are what is claimed: times belong to
the machine they were taken on.
"""


def load(name: str, folder: Path) -> dict[str, Any] | None:
    """A results file, if it is there."""
    path = folder / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def value(rows: list[dict], **key: Any) -> float | None:
    """The one value with this key."""
    found = [row["value"] for row in rows if all(row.get(name) == want for name, want in key.items())]
    return found[0] if found else None


def table(header: list[str], lines: list[list[str]]) -> str:
    """A Markdown table."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def number(x: float | None, digits: int = 4) -> str:
    """A rounded number, or nothing."""
    return "" if x is None else f"{x:.{digits}g}"


def about(stored: dict[str, Any]) -> str:
    """How and where it was measured."""
    machine = stored["machine"]
    quick = stored.get("quick", "--quick" in stored["command"])
    mode = "**a short run, with few sizes and repetitions: its numbers are rough**" if quick else "a full run"
    return f"{machine['processor']}, {machine['cores']} cores; {stored['protocol']['timing']}; {mode}."


def felt(stored: dict[str, Any]) -> str:
    """What a user waits for."""
    rows, lines = stored["rows"], []
    for case, metric in dict.fromkeys((row["case"], row["metric"]) for row in rows):
        found = [
            next((r for r in rows if (r["case"], r["metric"], r["method"]) == (case, metric, when)), None)
            for when in ("cold", "warm")
        ]
        goals = [f"{row['goal']:g} {row['method']}" for row in found if row is not None and "goal" in row]
        what = case if metric == "process" else f"{case}: {metric}"
        lines.append([what, *("" if row is None else number(row["value"], 3) for row in found), ", ".join(goals)])
    commits = ", ".join(dict.fromkeys(row["commit"] for row in rows))
    parts = [
        "## What a user feels",
        "Processor seconds, unless it says otherwise, of a process of its own from its start to its end, or to what is "
        "named after a colon: the first time (`cold`, nothing compiled before) and the second (`warm`). The "
        "goal is the most that it may take. On two idle cores the clock on the wall shows less than this, because XLA "
        "uses both.",
        f"{about(stored)} Commit {commits}.",
        table(["what", "cold", "warm", "goal"], lines),
    ]
    return "\n\n".join(parts)


def peers(stored: dict[str, Any], assets: Path) -> str:
    """Ratios to peers."""
    rows = stored["rows"]
    pairs = list(dict.fromkeys((row["case"], row["method"]) for row in rows if row["method"] != "gpssm"))
    metrics = {
        "step_ms_ratio": "step",
        "step_cpu_ms_ratio": "step, processor time",
        "first_turn_s_ratio": "first ten steps",
        "to_bound_s_ratio": "to the same bound",
        "peak_mib_ratio": "peak memory",
    }
    lines = [
        [
            case,
            peer,
            *(number(value(rows, case=case, method=peer, metric=metric)) for metric in metrics),
            number(value(rows, case=case, method=peer, metric="first_bound_difference"), 1),
        ]
        for case, peer in pairs
    ]
    versions = ", ".join(f"{name} {version}" for name, version in stored["peers"].items())
    parts = [
        "## The same bound in other frameworks",
        "Same parameters, data, noise and Adam; the peer's value over ours, so that numbers above one are in our "
        "favour and numbers below one are not. The first ten steps hold our compilation, which is slow. One competitor "
        "is ours: the same step with `Network(single_precision=True)`.",
        f"{about(stored)} {versions}.",
        table(["setting", "peer", *metrics.values(), "difference of the bound"], lines),
    ]
    pairs = [(case, peer) for case, peer in pairs if not peer.startswith("gpssm")]
    if pairs:
        figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
        shown = list(metrics)[:1] + list(metrics)[2:]
        for i, metric in enumerate(shown):
            heights = [value(rows, case=case, method=peer, metric=metric) or 0.0 for case, peer in pairs]
            axes.bar([x + 0.2 * i for x in range(len(pairs))], heights, 0.2, label=metrics[metric])
        axes.axhline(1.0, color="black", linewidth=0.8)
        axes.set_yscale("log")
        axes.set_xticks([x + 0.3 for x in range(len(pairs))], [f"{case}\n{peer}" for case, peer in pairs])
        axes.set_ylabel("peer / gpssm")
        axes.legend(fontsize=8)
        figure.savefig(assets / "speed_peers.png", dpi=150)
        plt.close(figure)
        parts.append("![Ratios to peers](assets/speed_peers.png)")
    return "\n\n".join(parts)


def floor(stored: dict[str, Any]) -> str:
    """Distance to the floor."""
    rows = stored["rows"]
    metrics = {
        "times_floor": "step over the higher floor",
        "step_ms": "step, ms",
        "arithmetic_floor_ms": "arithmetic floor, ms",
        "memory_floor_ms": "memory floor, ms",
        "recognition_ms": "recognition, ms",
        "chain_ms": "chain, ms",
        "gp_ms": "GP, ms",
        "cholesky_ms": "Cholesky within it, ms",
    }
    cases = dict.fromkeys(row["case"] for row in rows)
    lines = [[case, *(number(value(rows, case=case, metric=metric)) for metric in metrics)] for case in cases]
    rates = stored["rates"]
    parts = [
        "## Distance to the floor",
        f"Matrix products ran at {rates['product_gflops']:.0f} GFLOP/s and copies at {rates['copy_gbytes']:.0f} GB/s. "
        "The arithmetic floor counts matrix products only. Parts are timed alone, with their gradients.",
        about(stored),
        table(["setting", *metrics.values()], lines),
    ]
    return "\n\n".join(parts)


def growth(stored: dict[str, Any], assets: Path) -> str:
    """Growth curves and exponents."""
    rows = stored["rows"]
    cases = list(dict.fromkeys(row["case"] for row in rows))
    lines = []
    for case in cases:
        sizes = [row["size"] for row in rows if row["case"] == case and "size" in row]
        exponents = [value(rows, case=case, metric=metric) for metric in ("time_exponent", "memory_exponent")]
        lines.append([AXES[case], f"{min(sizes):,} to {max(sizes):,}", *(f"{x:.2f}" for x in exponents)])
    figure, panels = plt.subplots(2, len(cases), figsize=(2.2 * len(cases), 4.4), layout="constrained", squeeze=False)
    for column, case in zip(panels.T, cases, strict=True):
        for panel, metric, label in zip(column, ("step_ms", "bytes"), ("ms", "bytes"), strict=True):
            points = [(row["size"], row["value"]) for row in rows if row["case"] == case and row["metric"] == metric]
            panel.loglog(*zip(*points, strict=True), "o-", markersize=3)
            panel.set_ylabel(label, fontsize=7)
            panel.tick_params(labelsize=6)
            for axis in (panel.xaxis, panel.yaxis):
                axis.set_minor_formatter(NullFormatter())
            # At least a factor of ten, so that a flat curve looks flat.
            low, high = (extreme(y for _, y in points) for extreme in (min, max))
            widen = max(1.2, (10.0 * low / high) ** 0.5)
            panel.set_ylim(low / widen, high * widen)
        column[0].set_title(textwrap.fill(AXES[case], 20), fontsize=7)
    figure.savefig(assets / "speed_growth.png", dpi=150)
    plt.close(figure)
    parts = [
        "## Growth",
        "Cost of a gradient step against one size, the others held: the slope of the logarithms over the three largest "
        "sizes (the two of a short run). One is linear. A step through windows does not depend on the length of the "
        "record; simulation is 1 000 trajectories of 1 000 steps (100 of 100 in a short run).",
        about(stored),
        table(["against", "sizes", "exponent of time", "exponent of memory"], lines),
        "![Growth of time and memory](assets/speed_growth.png)",
    ]
    return "\n\n".join(parts)


def devices(stored: dict[str, Any]) -> str:
    """What two devices save."""
    words = ", ".join(f"{row['case']} {row['value']:.2f}" for row in stored["rows"])
    parts = [
        "## Two devices",
        f"Episodes shared between two virtual devices (`gpssm.Devices`), times as fast as on one: {words}.",
        about(stored),
    ]
    return "\n\n".join(parts)


def restarts(stored: dict[str, Any]) -> str:
    """What several starts cost."""
    rows = stored["rows"]
    names = {"one": "one start", "eight": "eight starts in processes", "in turn": "eight starts in turn"}
    lines = []
    for case, name in names.items():
        for when in ("cold", "warm"):
            seconds, times = (value(rows, case=case, method=when, metric=m) for m in ("seconds", "times one"))
            if seconds is not None:
                lines.append([name, when, number(seconds, 3), number(times, 3)])
    parts = [
        "## Several starts",
        "Wall time of a fit of the demo's pendulum from one start, and from eight of which each makes a tenth of the "
        "steps and the best two all of them (`Restarts(method, 8, look=0.1)`). The goal is 2.5 times the time of one.",
        about(stored),
        table(["what", "", "seconds", "times one"], lines),
    ]
    return "\n\n".join(parts)


def long_record(stored: dict[str, Any]) -> str:
    """Training on a long record."""
    rows = stored["rows"]
    metrics = {
        "peak_mib": "peak memory, MiB",
        "seconds": "seconds",
        "first_bound": "bound at first",
        "last_bound": "bound at last",
        "free_run_rmse": "RMSE of a free run",
        "share_of_std": "over the standard deviation",
    }
    sizes = sorted({row["size"] for row in rows})
    lines = [[f"{size:,}", *(number(value(rows, size=size, metric=metric)) for metric in metrics)] for size in sizes]
    parts = [
        "## A long record in bounded memory",
        f"{rows[0]['case']}; {stored['steps']} steps of natural-gradient training, two states. This shows that memory "
        "does not grow with the record, not how good a model can be made.",
        about(stored),
        table(["samples", *metrics.values()], lines),
    ]
    return "\n\n".join(parts)


def build(folder: Path, docs: Path) -> Path:
    """Write the page and its figures; parts without results are left out."""
    assets = docs / "assets"
    assets.mkdir(parents=True, exist_ok=True)
    # What people wait for comes first, a step of training second.
    sections = {
        "felt": felt,
        "restarts": restarts,
        "peers": lambda stored: peers(stored, assets),
        "floor": floor,
        "growth": lambda stored: growth(stored, assets),
        "devices": devices,
        "long_record": long_record,
    }
    parts = [HEADER.strip()]
    for name, section in sections.items():
        if (stored := load(name, folder)) is not None:
            parts.append(section(stored))
    page = docs / "speed.md"
    page.write_text("\n\n".join(parts).rstrip() + "\n")
    return page


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder with the JSON files")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder for the page")
    options = parser.parse_args()
    print(f"wrote {build(options.results, options.docs)}")


if __name__ == "__main__":
    main()
