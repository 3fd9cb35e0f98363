"""All benchmarks one after another, then the page that shows them: `python -m benchmarks [--quick]`.

Each runs in a process of its own, so that none measures what another has left in memory.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.report import DOCS, RESULTS

NAMES = ("felt", "restarts", "step", "floor", "growth", "devices", "long_record", "service", "peers")


def main() -> None:
    """Run them all; a benchmark that fails does not stop the others, but is counted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes and few repetitions")
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="folder for the JSON files; another one has its own page"
    )
    parser.add_argument("--gpflow-python", default=None, help="interpreter of an environment with GPflow")
    options = parser.parse_args()
    failed, began = [], time.monotonic()
    for name in NAMES:
        print(f"\n== {name}", flush=True)
        part_began = time.monotonic()
        command = [sys.executable, "-m", f"benchmarks.{name}", *(["--quick"] if options.quick else [])]
        if name == "peers" and options.gpflow_python is not None:
            command += ["--gpflow-python", options.gpflow_python]
        if subprocess.run([*command, "--out", str(options.out)], check=False).returncode:
            failed.append(name)
        print(f"{name} took {time.monotonic() - part_began:.0f} s", flush=True)
    docs = DOCS if options.out.resolve() == RESULTS else options.out
    command = [sys.executable, "-m", "benchmarks.report", "--results", str(options.out), "--docs", str(docs)]
    subprocess.run(command, check=True)
    print(f"all of it took {time.monotonic() - began:.0f} s")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
