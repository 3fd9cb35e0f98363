"""Tries faults of every kind and prints how many were survived: python -m tests.faults [--many] [--seed N]"""

import argparse
import logging
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")

import numpy as np

from tests.faults import broken_numbers, checkpoint_faults, damage, disk, kills

# Kind of fault, how to provoke it, how often by default and with --many.
KINDS = (
    ("bit flips in a model file", damage.bit_flips, 400, 20_000),
    ("overwritten blocks", damage.overwritten_blocks, 100, 2_000),
    ("truncated or extended files", damage.truncations, 100, 2_000),
    ("files spliced from two", damage.splices, 50, 1_000),
    ("unknown format versions", damage.unknown_versions, 12, 100),
    ("absurd sizes", damage.absurd_sizes, 30, 300),
    ("hostile headers, right digests", damage.hostile_headers, 39, 39),
    ("disk errors while writing", disk.disk_faults, 80, 800),
    ("SIGKILL while writing", disk.killed_writes, 16, 400),
    ("damaged checkpoints", checkpoint_faults.damaged_checkpoints, 20, 400),
    ("disk errors while training", checkpoint_faults.full_disk_while_training, 2, 20),
    ("second writer in a folder", checkpoint_faults.second_writers, 5, 50),
    ("Ctrl-C during training", checkpoint_faults.interruptions, 3, 50),
    ("NaN or infinity in the loss", broken_numbers.nan_in_the_loss, 6, 200),
    ("NaN in gradients", broken_numbers.nan_in_gradients, 6, 200),
    ("SIGKILL during training", kills.killed_fits, 4, 200),
)


def main() -> int:
    """Print the table; the exit code says whether everything was survived."""
    parser = argparse.ArgumentParser(description="Provoke faults and count how many are survived.")
    parser.add_argument("--many", action="store_true", help="hundreds of each kind (about an hour)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # The faults are meant to be reported; here the count is the report.
    logging.getLogger("gpssm").setLevel(logging.CRITICAL)
    print(f"{'kind of fault':<34}{'tried':>8}{'survived':>10}{'seconds':>9}")
    all_tried, all_survived = 0, 0
    for name, provoke, few, many in KINDS:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            outcomes = list(provoke(np.random.default_rng(options.seed), many if options.many else few, Path(folder)))
        all_tried, all_survived = all_tried + len(outcomes), all_survived + sum(outcomes)
        print(f"{name:<34}{len(outcomes):>8}{sum(outcomes):>10}{time.monotonic() - began:>9.0f}", flush=True)
    print(f"{'all':<34}{all_tried:>8}{all_survived:>10}")
    return 0 if all_tried == all_survived else 1


if __name__ == "__main__":
    sys.exit(main())
