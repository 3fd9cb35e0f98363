"""The benchmarks run, agree with their peers, and write what the page is made of. Sizes are tiny: nothing is timed."""

import json
import socket
from pathlib import Path

import numpy as np
import pytest

from benchmarks import floor, growth, report
from benchmarks._results import write_results
from benchmarks.step import SETTINGS, Setting, _rbf, _sum, gradient_step, make
from gpssm.inference import Explicit

TINY = Setting("tiny", 3, 5, 2, 1, 1, 4, 3, _rbf, 0.0)


def test_exponent_of_a_power_law():
    sizes = [10.0, 100.0, 1000.0, 10_000.0]
    assert growth.exponent(sizes, [3.0 * size**1.5 for size in sizes]) == pytest.approx(1.5)
    # Only the largest sizes count: a constant part at the small ones is no growth.
    assert growth.exponent(sizes, [50.0, 100.0, 1000.0, 10_000.0]) == pytest.approx(1.0)


def test_operations_grow_as_the_method_says():
    small, large = (floor.operations(Setting("x", 1, steps, 1, 1, 0, 4, 3, _rbf, 0.0)) for steps in (11, 21))
    assert large["chain"] / small["chain"] == pytest.approx(21 / 11)
    points = [floor.operations(Setting("x", 1, 101, 1, 1, 0, size, 3, _rbf, 0.0))["gp"] for size in (4, 8)]
    assert 4.0 < points[1] / points[0] < 8.0


@pytest.mark.system
def test_a_step_is_measured():
    seconds, memory = growth.work(*gradient_step(*make(TINY, Explicit())), repeat=1)
    assert seconds > 0.0
    assert memory > 8 * TINY.inducing**2


def test_results_say_nothing_about_whose_machine_it_was(tmp_path: Path):
    path = write_results("growth", tmp_path, [], 0.0)
    text = path.read_text()
    assert str(tmp_path) not in text
    assert socket.gethostname() not in text
    assert json.loads(text)["machine"]["cores"] >= 1


def test_the_page_is_made_from_the_files(tmp_path: Path):
    key = {"case": "steps", "method": "explicit", "seed": 0}
    curve = [{**key, "size": n, "metric": m, "value": float(n)} for n in (10, 100) for m in ("step_ms", "bytes")]
    slopes = [{**key, "metric": f"{what}_exponent", "value": 1.04} for what in ("time", "memory")]
    write_results("growth", tmp_path, curve + slopes, 0.0)
    ratios = ("step_ms", "step_cpu_ms", "first_turn_s", "to_bound_s", "peak_mib")
    peer = {"case": "kink", "method": "PyTorch", "seed": 0}
    found = [{**peer, "metric": f"{name}_ratio", "value": 2.5} for name in ratios]
    found += [{**peer, "metric": "first_bound_difference", "value": 1e-9}]
    write_results("peers", tmp_path, found, 0.0, peers={"torch": "0"})
    starts = {"case": "eight", "method": "warm", "seed": 0, "size": 8}
    timed = [{**starts, "metric": name, "value": v} for name, v in (("seconds", 20.0), ("times one", 2.25))]
    write_results("restarts", tmp_path, timed, 0.0)
    page = report.build(tmp_path, tmp_path / "docs").read_text()
    assert "| eight starts in processes | warm | 20 | 2.25 |" in page
    assert "| samples in one record | 10 to 100 | 1.04 | 1.04 |" in page
    assert "| kink | PyTorch | 2.5 | 2.5 | 2.5 | 2.5 | 2.5 | 1e-09 |" in page
    assert (tmp_path / "docs" / "assets" / "speed_growth.png").stat().st_size > 0


def test_every_setting_has_a_goal_against_its_peers():
    from benchmarks.peers.__main__ import GOALS

    assert set(GOALS) == {setting.name for setting in SETTINGS}


def test_the_peer_computes_our_bound_and_takes_our_steps(tmp_path: Path):
    pytest.importorskip("torch", reason="PyTorch is absent: it comes with the extra `bench`")
    pytest.importorskip("gpytorch", reason="GPyTorch is absent: it comes with the extra `bench`")
    from benchmarks.peers._problem import Ours, write_problem
    from benchmarks.peers._pytorch import prepare

    setting = Setting("tiny", 3, 5, 2, 1, 1, 4, 3, _sum, 0.0)
    write_problem(setting, 1, tmp_path / "problem.npz")
    ours = Ours(setting).run(0)
    theirs = prepare(str(tmp_path / "problem.npz"), compiled=False)(0)
    np.testing.assert_allclose(theirs[0], ours[0], rtol=1e-6)
    # Equal gradients: the bounds stay together over the steps.
    np.testing.assert_allclose(theirs, ours, rtol=1e-5)
