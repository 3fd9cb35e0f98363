"""Training on a long record in bounded memory: the 65 000 samples of the Silverbox, or a synthetic record of that
length where `GPSSM_DATA` is not set, through windows.

Peak memory of the whole process is compared with that of the same training on a tenth of the record, and the model is
run free over held-out samples.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import jax.random as jr
import numpy as np

import gpssm
from benchmarks._results import write_results
from gpssm.inference import MonteCarlo, NaturalGradient
from gpssm.methods import ModelSpec, Network, Variational
from gpssm.optimisers import Adam, Windows

TRAIN, TEST_SIZE, N_INIT = slice(40_650, 105_712), 4_000, 50
TIMING = "peak resident memory of a process that trains on windows of 200 samples, eight at a time"


def record() -> tuple[gpssm.Episode, gpssm.Episode, str]:
    """Training and test record, and where they come from."""
    folder = os.environ.get("GPSSM_DATA")
    path = Path(folder or "") / "silverbox" / "SNLS80mV.csv"
    if folder and path.exists():
        table = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=(0, 1))
        table = table[np.isfinite(table).all(axis=1)]
        u, y, name = table[:, 0], 1e3 * table[:, 1], "silverbox, mV"
    else:
        rng = np.random.default_rng(0)
        u, y, name = rng.standard_normal(131_072), np.zeros(131_072), "synthetic Duffing record"
        for t in range(2, len(u)):
            y[t] = 1.5 * y[t - 1] - 0.8 * y[t - 2] - 0.02 * y[t - 1] ** 3 + 0.1 * u[t - 1]
    train, test = (gpssm.Episode(y=y[part], u=u[part]) for part in (TRAIN, slice(105_712, 105_712 + TEST_SIZE)))
    return train, test, name


def trained(length: int, steps: int) -> dict[str, float]:
    """Fit the first samples of the record; what it took, and how the model runs free."""
    train, test, _ = record()
    episodes = gpssm.Episodes([train[:length]])
    method = Variational(
        ModelSpec(2, num_inducing=50),
        q_x=Network(32),
        q_u=NaturalGradient(0.1),
        expectation=MonteCarlo(1),
        optimiser=Adam(steps, batches=Windows(length=200, size=8)),
    )
    began = time.monotonic()
    fitted = gpssm.fit(episodes, method, progress=gpssm.Silent(), key=jr.key(0))
    seconds = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    free = fitted.system.simulate(test, n_init=N_INIT, num_samples=20, key=jr.key(1))
    error = float(np.sqrt(np.mean((free.mean - test.y[N_INIT:]) ** 2)))
    return {
        "peak_mib": peak,
        "seconds": seconds,
        "free_run_rmse": error,
        "share_of_std": error / float(test.y.std()),
        "first_bound": float(fitted.history.bound[:20].mean()),
        "last_bound": float(fitted.history.bound[-20:].mean()),
    }


def main() -> None:
    """Train on a tenth and on all, each in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_record", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few steps")
    parser.add_argument("--out", type=Path, default=None, help="folder for long_record.json (default: print only)")
    parser.add_argument("--worker", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        print(json.dumps(trained(*options.worker)))
        return
    began, rows, name = time.monotonic(), [], record()[2]
    whole, steps = TRAIN.stop - TRAIN.start, 60 if options.quick else 1500
    for length in (whole // 10, whole):
        command = [sys.executable, "-m", "benchmarks.long_record", "--worker", str(length), str(steps)]
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(answer.stdout.splitlines()[-1])
        key = {"case": name, "method": "windows", "seed": 0, "size": length}
        rows += [{**key, "metric": metric, "value": value} for metric, value in found.items()]
        print(
            f"{name}, {length} samples, {steps} steps: peak {found['peak_mib']:.0f} MiB, {found['seconds']:.0f} s, "
            f"bound {found['first_bound']:.3f} to {found['last_bound']:.3f}, free run {found['free_run_rmse']:.3g} "
            f"({found['share_of_std']:.2f} of the standard deviation)",
            flush=True,
        )
    if options.out is not None:
        print(write_results("long_record", options.out, rows, time.monotonic() - began, timing=TIMING, steps=steps))


if __name__ == "__main__":
    main()
