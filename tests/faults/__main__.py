"""Tries faults of every kind and prints how many were survived: python -m tests.faults [--few | --many]"""

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

from tests.faults.kinds import KINDS


def main() -> int:
    """Print the table; the exit code says whether all that was planned was provoked and survived."""
    parser = argparse.ArgumentParser(description="Provoke faults and count how many are survived.")
    often = parser.add_mutually_exclusive_group()
    often.add_argument("--few", action="store_true", help="as many as every change is tested by (a few minutes)")
    often.add_argument("--many", action="store_true", help="tens of thousands in all (an hour or two)")
    parser.add_argument("--only", default="", help="only kinds whose names hold these words")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # The faults are meant to be reported; here the count is the report.
    logging.getLogger("gpssm").setLevel(logging.CRITICAL)
    print(f"{'kind of fault':<34}{'planned':>8}{'tried':>8}{'survived':>10}{'seconds':>9}")
    all_planned, all_tried, all_survived = 0, 0, 0
    for name, provoke, few, some, many in KINDS:
        if options.only not in name:
            continue
        began, planned = time.monotonic(), few if options.few else many if options.many else some
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
