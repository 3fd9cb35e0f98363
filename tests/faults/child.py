"""A small fit that may be killed at any moment: python -m tests.faults.child FOLDER OUT [SECONDS]

It tells its stages, and rests SECONDS at each sign of life so that a kill finds it at work.
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import gpssm
from gpssm.fitting import Progress, Status
from tests.reference.small_system import record, records

METHOD = gpssm.Polished(states=1, num_inducing=6, hidden=4, steps=250, iterations=10, network_steps=150, tries=1)
STAGES = ("Adam", "L-BFGS", "network")
"""In the order in which they come."""


@dataclass
class Slow:
    """Tells the parent which stage is on, and takes its time."""

    seconds: float

    def update(self, status: Status) -> None:
        print(status.stage, flush=True)
        time.sleep(self.seconds)

    def say(self, message: str) -> None:
        """Nothing."""


def learn(folder: Path | None, progress: Progress) -> gpssm.System:
    """The fit, with checkpoints if there is a folder for them."""
    checkpoints = None if folder is None else gpssm.Checkpoints(folder, every_steps=50)
    held_out = gpssm.Episodes([record(30, seed=8)])
    system = gpssm.fit(records(), METHOD, validation=held_out, checkpoints=checkpoints, progress=progress).system
    assert isinstance(system, gpssm.System)
    return system


if __name__ == "__main__":
    rest = Slow(float(sys.argv[3]) if len(sys.argv) > 3 else 0.0)
    gpssm.save(learn(Path(sys.argv[1]), rest), sys.argv[2])
