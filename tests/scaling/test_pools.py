"""Pools: the same results wherever they are computed, and nothing lost with what dies."""

import os
import subprocess
import sys
import time
from pathlib import Path

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.evaluate import Against, Blocks, Selection
from gpssm.pools import AbstractPool, DaskPool, Lost, ProcessPool, Serial
from tests.scaling.candidates import Raises, interrupts_the_others, square, square_or_die, threads

pytestmark = pytest.mark.system


def records(count: int = 3, steps: int = 60) -> gpssm.Episodes:
    rng = np.random.default_rng(0)
    ys, us = [], []
    for _ in range(count):
        u, y = rng.standard_normal((steps, 1)), np.zeros((steps, 1))
        for t in range(1, steps):
            y[t] = 0.8 * y[t - 1] + 0.5 * u[t - 1] + 0.05 * rng.standard_normal()
        ys.append(y)
        us.append(u)
    return gpssm.Episodes.from_arrays(y=ys, u=us)


CANDIDATES = {
    "constant": gpssm.Constant(),
    "unlucky": Raises(ArithmeticError("it exploded")),
    "arx": gpssm.ARX(1),
    "mistaken": Raises(TypeError("no such thing")),
}


@pytest.fixture
def dask_pool():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        yield DaskPool(client)


def swept(pool: AbstractPool) -> Selection:
    train, test = records().split(test=1)
    return gpssm.select(
        CANDIDATES,
        train,
        folds=Against(test),
        n_init=5,
        seeds=2,
        num_samples=10,
        pool=pool,
        forgive_mistakes=True,
        key=jr.key(0),
    )


def check(sweep: Selection):
    """As it is in this process, in the same order, and failures are rows."""
    here = swept(Serial())
    assert [(r.candidate, r.seed, r.failed) for r in sweep.trials] == [
        (r.candidate, r.seed, r.failed) for r in here.trials
    ]
    for row, other in zip(sweep.trials, here.trials, strict=True):
        assert row.log_density == pytest.approx(other.log_density, rel=1e-9)
        assert row.error == pytest.approx(other.error, rel=1e-9)


def test_a_sweep_is_one_table_with_a_row_for_each_run():
    sweep = swept(Serial())
    runs = [(row.candidate, row.seed) for row in sweep.trials]
    assert runs == [("constant", 0), ("unlucky", 0), ("unlucky", 1), ("arx", 0), ("mistaken", 0), ("mistaken", 1)]
    assert sweep.trials[1].failed == "ArithmeticError: it exploded"
    assert sweep.trials[4].failed == "TypeError: no such thing"
    assert sweep.best == "arx"
    lines = sweep.table().splitlines()
    assert len(lines) == 5 and lines[3].startswith(">*arx") and "failed: TypeError" in lines[4]
    assert sweep.records()[3]["error"] == sweep.trials[3].error


def test_processes_give_the_same_table():
    check(swept(ProcessPool(2)))


def test_a_cluster_gives_the_same_table(dask_pool):
    check(swept(dask_pool))


def test_a_cluster_hands_on_what_a_task_raises(dask_pool):
    with pytest.raises(TypeError):
        list(dask_pool.run(square, ["two"]))


def test_selection_does_not_depend_on_the_pool(dask_pool):
    candidates = {"constant": gpssm.Constant(), "linear": gpssm.Linear(1, iterations=3)}
    tables = [
        gpssm.select(candidates, records(1), n_init=4, folds=Blocks(2), pool=pool, key=jr.key(0)).table()
        for pool in (Serial(), dask_pool)
    ]
    assert tables[0] == tables[1]


def test_a_process_that_dies_loses_its_own_task_only():
    found = dict(ProcessPool(2).run(square_or_die, range(6)))
    assert isinstance(found.pop(3), Lost)
    assert found == {i: i**2 for i in (0, 1, 2, 4, 5)}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes where Linux lists them")
def test_a_process_that_waits_for_work_does_not_die_of_ctrl_c(tmp_path: Path):
    """All processes of a terminal hear it, and what is in the others' hands would be begun again."""
    log = tmp_path / "log"
    found = dict(ProcessPool(2).run(interrupts_the_others, [(i, log) for i in range(2)]))
    assert found == {0: 0, 1: 1}
    assert sorted(log.read_text().split()) == ["0", "1"], "nothing was done twice"


SCRIPT = """
from gpssm.pools import ProcessPool
from tests.scaling.candidates import sleeps

if __name__ == "__main__":
    list(ProcessPool(2).run(sleeps, [60.0, 60.0]))
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes where Linux lists them")
def test_no_process_outlives_the_one_that_it_works_for(tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT)
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": root, "PYTHONUNBUFFERED": "1"}
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py")], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    children = [int(parent.stdout.readline()) for _ in range(2)]
    parent.kill()
    parent.wait()
    until = time.monotonic() + 20.0
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < until:
        time.sleep(0.1)
    assert not [child for child in children if Path(f"/proc/{child}").exists()]


def test_results_come_with_the_number_of_their_task():
    assert sorted(ProcessPool(2).run(square, [5, 6, 7])) == [(0, 25), (1, 36), (2, 49)]


def test_processes_have_few_threads_and_the_environment_is_left_alone():
    before = dict(os.environ)
    ((_, limits),) = ProcessPool(1).run(threads, [0])
    assert limits[:4] == ("1", "1", "1", "1") and "--xla_cpu_multi_thread_eigen=false" in limits[4]
    ((_, limits),) = ProcessPool(1, threads=2).run(threads, [0])
    assert limits[:4] == ("2", "2", "2", "2")
    assert dict(os.environ) == before


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"workers": 1, "threads": 0}])
def test_empty_pools_are_refused(wrong):
    with pytest.raises(ValueError, match="at least one"):
        ProcessPool(**wrong)
