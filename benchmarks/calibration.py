"""Do bands hold what they say?

    python -m benchmarks.calibration [--quick]
    python -m benchmarks.calibration --sbc [--quick]

Systems drawn from the model's own prior, fitted by each method: `experiments.calibration`, which has a page.

With `--sbc`, simulation-based calibration instead: ranks of the truth among draws of particle Gibbs, and of marginal
inference with known hyper-parameters; and whether posteriors that are stretched by 0.8 and 1.25 are noticed.
"""

import argparse
import time
from pathlib import Path

from benchmarks._results import write_results
from benchmarks._sbc import BY, WIDTHS, verdict
from experiments import calibration
from experiments._results import provenance

TIMING = "processor seconds of all fits of a method, compiling included"


def main() -> None:
    """One or the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few systems, or few sets of records")
    parser.add_argument("--sbc", action="store_true", help="ranks of the truth among draws from the posterior")
    parser.add_argument("--out", type=Path, default=None, help="folder (default: results, with --sbc results/bench)")
    options = parser.parse_args()
    if options.sbc:
        simulation_based(40 if options.quick else 200, options.out or Path("results/bench"))
    else:
        calibration.run(options.out or Path("results"), quick=options.quick, fresh=False)


def simulation_based(count: int, out: Path) -> None:
    """Ranks over so many sets of records, by method and width."""
    rows, start = [], time.monotonic()
    for name, draw in BY.items():
        began = time.process_time()
        truth, draws = draw(count, 0)
        spent = time.process_time() - began
        for width in WIDTHS:
            found = {"method": name, "sets": count, "width": width, **verdict(truth, draws, width=width)}
            rows.append({**found, **provenance(), "cpu_seconds": round(spent, 1)})
            print({key: round(v, 3) if isinstance(v, float) else v for key, v in rows[-1].items()}, flush=True)
        write_results("calibration_sbc", out, rows, time.monotonic() - start, timing=TIMING)


if __name__ == "__main__":
    main()
