"""Changes the mathematics at random places and counts what the tests notice:
python -m tests.mutants [--count N] [--seed N] [--minutes N] [--only PART] [--again] [--out FILE]

What is on record is not judged again unless its file has changed; for all of it anew, name another file with --out.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from tests.mutants.judge import Copy, Verdict
from tests.mutants.places import ROOT, concerned_with
from tests.mutants.record import Judged, Mutant, Record, all_mutants, digest, explained

WANTED = 0.95
"""Share of the mutants that must be killed, those that are explained not counted."""


def main() -> int:
    """Print a line for each mutant; the exit code says whether enough were killed."""
    options = _options()
    mutants = [m for m in all_mutants() if options.only in m.name]
    place = ROOT / "build" / "mutants"
    place.mkdir(parents=True, exist_ok=True)
    command = f"python -m tests.mutants --count {options.count} --seed {options.seed}"
    if options.only:
        command += f" --only {options.only}"
    usual = place / "only.json" if options.only else Path(__file__).parent / "results.json"
    record = Record(options.out or usual, command=command, commit=_commit(), seed=options.seed, possible=len(mutants))
    drawn = record.draw(mutants, options.count, options.seed)
    open_ = [m for m in drawn if _is_open(record, m, options.again)]
    print(f"{len(mutants)} possible changes, {len(drawn)} drawn, {len(open_)} to be judged", flush=True)
    _judge(open_, record, drawn, Copy(place, seconds=options.seconds), options.minutes)
    counts = record.write(drawn)
    share = counts["killed"] / max(counts["killed"] + counts["survived"], 1)
    told = ", ".join(f"{number} {name}" for name, number in counts.items())
    print(f"{told}, of {len(drawn)} drawn: {100.0 * share:.1f} % of those that can be told apart were killed")
    return 0 if share >= WANTED and counts["judged"] == len(drawn) else 1


def _judge(open_: list[Mutant], record: Record, drawn: list[Mutant], copy: Copy, minutes: float) -> None:
    ends, healthy = time.monotonic() + 60.0 * minutes, set[tuple[str, ...]]()
    # Those of one file after each other: its tests are first seen to pass on the text as it is.
    for mutant in sorted(open_, key=lambda m: m.name):
        if time.monotonic() > ends:
            print("the time is up; the same command goes on from here")
            return
        tests, source = concerned_with(mutant.file), (ROOT / mutant.file).read_text()
        if tests not in healthy:
            if copy.judge(tests) is not Verdict.survived:
                raise SystemExit(f"{copy.failing()} fails on the unchanged tree; see {copy.log}")
            healthy.add(tests)
        began = time.monotonic()
        copy.write(mutant.file, mutant.change.apply(source))
        try:
            verdict = copy.judge(tests)
        finally:
            copy.write(mutant.file, source)
        seconds, by = time.monotonic() - began, copy.failing() if verdict is Verdict.killed else ""
        record.add(
            Judged(
                mutant.name, mutant.change.line, verdict.value, by, round(seconds, 1), _commit(), digest(mutant.file)
            )
        )
        record.write(drawn)
        print(f"{verdict.value:<15}{seconds:6.0f} s  {mutant.name}", flush=True)


def _is_open(record: Record, mutant: Mutant, again: bool) -> bool:
    known = record.known(mutant)
    if known is None:
        return True
    return again and known.verdict == Verdict.survived.value and mutant.name not in explained()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Count which changes to the mathematics the tests notice.")
    parser.add_argument("--count", type=int, default=150, help="changes drawn from all that are possible")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=600.0, help="no new one is begun after so many")
    parser.add_argument("--seconds", type=float, default=900.0, help="for tests on one mutant; then it is killed")
    parser.add_argument("--only", default="", help="changes whose name holds this text, such as a file")
    parser.add_argument("--again", action="store_true", help="judge survivors once more, after tests were added")
    parser.add_argument("--out", type=Path, help="the record; with --only, one in build/ unless you name another")
    return parser.parse_args()


def _commit() -> str:
    told = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return told.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
