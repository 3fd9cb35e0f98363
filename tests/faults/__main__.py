"""Tries faults of every kind and prints how many were survived: python -m tests.faults [--many] [--seed N]"""

import argparse
import logging
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")
# What is compiled runs for a moment only: compiling quickly saves most of the time. Children inherit this, so that
# their bits can be compared.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false")

import numpy as np

from tests.faults import broken_numbers, checkpoint_faults, damage, disk, forged, kills, places, records
from tests.faults.hostile import CHANGES

STRANGE = len(places.THINGS) * len(places.READS | places.WRITES)

# Kind of fault, how to provoke it, how often by default and with --many.
KINDS = (
    ("bit flips in a model file", damage.bit_flips, 400, 20_000),
    ("overwritten blocks", damage.overwritten_blocks, 100, 2_000),
    ("truncated or extended files", damage.truncations, 100, 2_000),
    ("files spliced from two", damage.splices, 50, 1_000),
    ("unknown format versions", damage.unknown_versions, 12, 100),
    ("absurd sizes", damage.absurd_sizes, 30, 300),
    ("hostile headers, right digests", damage.hostile_headers, len(CHANGES), len(CHANGES)),
    ("forged values, right digests", damage.forged_values, 200, 2_000),
    ("files beyond all memory", forged.files_beyond_memory, 24, 120),
    ("damaged records", records.damaged_records, 800, 10_000),
    ("pipes, sockets, devices, folders", places.strange_things, STRANGE, 4 * STRANGE),
    ("links among checkpoints", places.links_among_checkpoints, 20, 200),
    ("modes of replaced files", places.kept_modes, 30, 300),
    ("disk errors while writing", disk.disk_faults, 80, 800),
    ("SIGKILL while writing", disk.killed_writes, 16, 400),
    ("damaged checkpoints", checkpoint_faults.damaged_checkpoints, 20, 400),
    ("disk errors while training", checkpoint_faults.full_disk_while_training, 2, 20),
    ("second writer in a folder", checkpoint_faults.second_writers, 5, 50),
    ("second process in a folder", checkpoint_faults.other_processes, 10, 100),
    ("Ctrl-C during training", checkpoint_faults.interruptions, 3, 50),
    ("NaN or infinity in the loss", broken_numbers.nan_in_the_loss, 6, 200),
    ("NaN in gradients", broken_numbers.nan_in_gradients, 6, 200),
    ("NaN in line searches", broken_numbers.nan_in_line_searches, 6, 200),
    ("SIGKILL during training", kills.killed_fits, 4, 200),
)


def main() -> int:
    """Print the table; the exit code says whether all that was planned was provoked and survived."""
    parser = argparse.ArgumentParser(description="Provoke faults and count how many are survived.")
    parser.add_argument("--many", action="store_true", help="hundreds of each kind (about an hour)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # The faults are meant to be reported; here the count is the report.
    logging.getLogger("gpssm").setLevel(logging.CRITICAL)
    print(f"{'kind of fault':<34}{'planned':>8}{'tried':>8}{'survived':>10}{'seconds':>9}")
    all_planned, all_tried, all_survived = 0, 0, 0
    for name, provoke, few, many in KINDS:
        began, planned = time.monotonic(), many if options.many else few
        with tempfile.TemporaryDirectory() as folder:
            outcomes = list(provoke(np.random.default_rng(options.seed), planned, Path(folder)))
        tried, survived = len(outcomes), sum(outcomes)
        all_planned, all_tried, all_survived = all_planned + planned, all_tried + tried, all_survived + survived
        print(f"{name:<34}{planned:>8}{tried:>8}{survived:>10}{time.monotonic() - began:>9.0f}", flush=True)
    print(f"{'all':<34}{all_planned:>8}{all_tried:>8}{all_survived:>10}")
    # A fault that could not be provoked says nothing about surviving it.
    return 0 if all_planned == all_tried == all_survived else 1


if __name__ == "__main__":
    sys.exit(main())
