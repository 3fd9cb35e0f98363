"""A competitor in its own process: it is told on standard input to run its next steps, and answers with the time.

Nothing but the standard library and NumPy is imported here, so that memory and times belong to the framework alone.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, TextIO

Run = Callable[[int], Iterable[float]]
"""Given the number of the run of steps, take these steps; the bound before each."""


def peak_mib() -> float:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def serve(prepare: Callable[[], Run], facts: dict[str, str]) -> None:
    """Answer until the input ends. The first answer comes before anything is built."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a framework prints must not be taken for an answer
    _say(answers, {"facts": facts, "import_mib": peak_mib()})
    run = prepare()
    for line in sys.stdin:
        chunk = int(line)
        began, cpu_began = time.perf_counter(), time.process_time()
        bounds = [float(bound) for bound in run(chunk)]
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        _say(answers, {"seconds": seconds, "cpu_seconds": cpu_seconds, "bounds": bounds, "peak_mib": peak_mib()})


def _say(answers: TextIO, content: dict[str, Any]) -> None:
    answers.write(json.dumps(content) + "\n")
    answers.flush()
