"""A small fit that may be killed at any moment: python -m tests.faults.child FOLDER OUT [SECONDS]

It says "training" after its first steps, and rests SECONDS between runs of steps so that a kill finds it at work.
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import gpssm
from gpssm.fitting._progress import Progress, Status
from tests.reference.small_system import record, records

SETTINGS = {"states": 1, "num_inducing": 6, "hidden": 4, "steps": 250, "iterations": 10, "network_steps": 150}


@dataclass
class Slow:
    """Tells the parent that training has begun, and takes its time."""

    seconds: float

    def update(self, status: Status) -> None:
        if status.step <= 50 and status.stage == "Adam":
            print("training", flush=True)
        time.sleep(self.seconds)

    def say(self, message: str) -> None:
        print(message, flush=True)


def learn(folder: Path | None, progress: Progress) -> gpssm.System:
    """The fit, with checkpoints if there is a folder for them."""
    checkpoints = None if folder is None else gpssm.Checkpoints(folder, every_steps=50)
    held_out = gpssm.Episodes([record(30, seed=8)])
    return gpssm.identify(records(), held_out=held_out, checkpoints=checkpoints, progress=progress, **SETTINGS)


if __name__ == "__main__":
    rest = Slow(float(sys.argv[3]) if len(sys.argv) > 3 else 0.0)
    gpssm.save(learn(Path(sys.argv[1]), rest), sys.argv[2])
