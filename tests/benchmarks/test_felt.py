"""What a user feels is measured in processes of their own, with and without compiled programs, and shown first."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import felt, report
from benchmarks._felt_cases import PROGRAMS, oscillator, write_rig
from benchmarks._results import write_results


def test_records_of_the_rig_are_what_the_command_reads(tmp_path: Path):
    names = write_rig(tmp_path, (40, 30))
    first = np.genfromtxt(tmp_path / names[0], delimiter=",", names=True)
    assert first.dtype.names == ("u1", "u2", "u3", "y1", "y2") and len(first) == 40
    y, u = oscillator(400, 1, 1, seed=1)
    assert np.isfinite(y).all() and 0.1 < y.std() < 3.0
    # The input does something: with another one, from the same start, the output is another.
    assert np.abs(oscillator(400, 1, 1, seed=2)[0] - y).max() > 0.3
    assert u.shape == (400, 1)


def test_every_program_is_a_case_and_later_cases_find_their_model():
    cases = felt.cases(("a.csv", "b.csv"))
    started = {case.words[-1] for case in cases if "benchmarks._felt_cases" in case.words}
    assert started == set(PROGRAMS)
    assert len({case.name for case in cases}) == len(cases)
    words = [" ".join(case.words) for case in cases]
    fitted = next(i for i, line in enumerate(words) if " fit " in line)
    assert all("rig.gpssm" not in line for line in words[:fitted])
    metrics = {
        f"{metric} {when}" for metric in ("process", "to the linear answer", "update, ms") for when in felt.TIMES
    }
    assert all(set(case.goals) <= metrics for case in cases)


def test_a_failed_process_is_no_measurement(tmp_path: Path):
    with pytest.raises(RuntimeError, match="ended with 3"):
        felt.processor_seconds(("-c", "raise SystemExit(3)"), tmp_path, tmp_path)


def test_processor_time_and_what_was_told(tmp_path: Path):
    program = "import time\nwhile time.process_time() < 0.3: pass\nprint('FELT a metric 2.5')"
    seconds, told = felt.processor_seconds(("-c", program), tmp_path, tmp_path)
    assert 0.3 <= seconds < 3.0
    assert told == {"a metric": 2.5}


@pytest.mark.system
def test_a_case_is_measured_and_the_page_begins_with_it(tmp_path: Path):
    case = next(case for case in felt.cases(("a.csv",)) if case.name == "online filter, 2 states")
    rows = felt.measure(case, tmp_path)
    assert {(row["metric"], row["method"]) for row in rows} == {
        (metric, when) for metric in ("process", "online(), s", "update, ms") for when in ("cold", "warm")
    }
    assert all(row["value"] > 0.0 and row["commit"] for row in rows)
    opened = {row["method"]: row["value"] for row in rows if row["metric"] == "online(), s"}
    assert opened["warm"] < opened["cold"], "its programs were kept"
    write_results("felt", tmp_path, rows, 0.0, timing=felt.TIMING)
    page = report.build(tmp_path, tmp_path / "docs").read_text()
    assert page.index("## What a user feels") == page.index("## ")
    update = {row["method"]: report.number(row["value"], 3) for row in rows if row["metric"] == "update, ms"}
    assert f"| online filter, 2 states: update, ms | {update['cold']} | {update['warm']} | 0.1 cold, 0.1 warm |" in page
