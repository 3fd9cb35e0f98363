"""Episodes shared among devices and processes: the same numbers, and as few exchanges as promised."""

import json
import os
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.inference import Explicit
from tests.scaling.problems import episodes, method, numbers

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@cache
def eight_devices() -> dict[str, dict]:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    done = subprocess.run(
        [sys.executable, "-m", "tests.scaling.eight_devices"],
        cwd=ROOT,
        env={**os.environ, "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(("treatment", "promised"), [("explicit", 1), ("collapsed", 2), ("natural", 2)])
def test_exchanges_in_a_step_and_none_in_its_inner_loops(treatment, promised):
    assert eight_devices()[treatment]["all-reduces"] == {"all": promised, "in the loop over steps": promised}


@pytest.mark.parametrize("treatment", ["explicit", "collapsed", "natural"])
def test_steps_do_not_depend_on_the_number_of_devices(treatment):
    found = eight_devices()[treatment]
    assert found["moved"] > 1e-3
    assert found["difference"] < 1e-12 and found["difference of bounds"] < 1e-12


def test_the_polish_does_not_depend_on_the_number_of_devices():
    assert eight_devices()["polish"]["difference"] < 1e-7  # a line search magnifies rounding


def test_gradients_of_two_processes_are_those_of_one(tmp_path):
    port = str(free_port())
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.scaling.two_processes", port, str(process), str(tmp_path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for process in range(2)
    ]
    try:
        told = [process.communicate(timeout=250) for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0, 0], told
    first, second = (np.load(tmp_path / f"{process}.npz") for process in range(2))
    alone = gpssm.fit(episodes(), method(Explicit()), progress=gpssm.Silent(), key=jr.key(3))
    assert isinstance(alone.system, gpssm.System)
    expected = np.concatenate([numbers((alone.system.model, alone.inference)), alone.history.bound])
    np.testing.assert_allclose(first["first"], expected, rtol=1e-15, atol=1e-14)  # 1e-12 in the gradient
    for same in (first["again"], second["first"], second["again"]):
        np.testing.assert_array_equal(same, first["first"])
    # Only the first shows progress and writes.
    assert [out for out, _ in told] == ["", ""]
    assert "ELBO" in told[0][1] and "ELBO" not in told[1][1]
    assert (tmp_path / "of 0" / "train.ckpt").exists() and not (tmp_path / "of 1").exists()


def test_devices_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="xla_force_host_platform_device_count=999"):
        gpssm.Devices.first(999)
    with pytest.raises(ValueError, match="no devices"):
        gpssm.Devices(())
