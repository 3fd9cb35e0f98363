"""Competitors take turns on the same cores, so that whatever else the machine does disturbs all of them alike."""

import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BENCH_THREADS", "TF_NUM_INTRAOP_THREADS")


@dataclass
class Competitor:
    """A worker process and what it has answered."""

    name: str
    process: subprocess.Popen
    facts: dict[str, str]
    import_mib: float
    answers: list[dict[str, Any]] = field(default_factory=list)

    def take_turn(self, chunk: int) -> dict[str, Any]:
        """Let it run its next steps."""
        assert self.process.stdin is not None and self.process.stdout is not None
        began = time.perf_counter()
        print(chunk, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with exit code {self.process.wait()}")
        answer = {**json.loads(line), "waited": time.perf_counter() - began}
        self.answers.append(answer)
        return answer

    def end(self) -> None:
        """Close its input, which ends it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


def enter(name: str, command: list[str], threads: int) -> Competitor:
    """Start a worker and wait until it has imported its framework; raises if it cannot."""
    environment = {**os.environ, **dict.fromkeys(THREADS, str(threads)), "OPENBLAS_NUM_THREADS": "1"}
    # Whoever compiles does so here: a result from an earlier run would hide the cost.
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - lives as long as the process
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env=environment,
    )
    if "sched_setaffinity" in dir(os):
        # Before it has imported anything: threads that start later stay on these cores.
        os.sched_setaffinity(process.pid, sorted(os.sched_getaffinity(0))[:threads])
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        errors.seek(0)
        raise RuntimeError(" ".join(errors.read().strip().splitlines()[-1:]) or "it ended without a word")
    said = json.loads(line)
    return Competitor(name, process, said["facts"], said["import_mib"])


def race(competitors: list[Competitor], turns: int) -> None:
    """All competitors take the same steps, in turns; the first turn holds whatever has to be compiled."""
    for chunk in range(turns):
        for competitor in competitors:
            competitor.take_turn(chunk)
            print(".", end="", flush=True)


def summary(competitor: Competitor, ours: Competitor, steps: int) -> dict[str, float]:
    """Times, memory and agreement of one competitor. A step's time is that of the fastest turn after the first."""
    seconds = [answer["seconds"] for answer in competitor.answers]
    cpu = [answer["cpu_seconds"] for answer in competitor.answers]
    bounds = np.concatenate([answer["bounds"] for answer in competitor.answers])
    reference = np.concatenate([answer["bounds"] for answer in ours.answers])
    # The bound is noisy: its highest value within the first turns is a target that all can reach.
    goal = float(np.max(reference[: len(reference) * 3 // 4]))
    reached = int(np.argmax(bounds >= goal - 1e-3 * abs(goal)))
    return {
        "step_ms": 1e3 * min(seconds[1:]) / steps,
        "step_cpu_ms": 1e3 * min(cpu[1:]) / steps,
        "first_turn_s": competitor.answers[0]["waited"],
        "to_bound_s": float(sum(answer["waited"] for answer in competitor.answers[: reached // steps + 1])),
        "peak_mib": competitor.answers[-1]["peak_mib"],
        "above_import_mib": competitor.answers[-1]["peak_mib"] - competitor.import_mib,
        "first_bound_difference": float(abs(bounds[0] - reference[0]) / abs(reference[0])),
        "largest_bound_difference": float(np.max(np.abs(bounds - reference) / np.abs(reference))),
    }
