"""Every experiment, one after another, and the pages that show them: `python -m experiments.reproduce`.

Takes hours. Each experiment remembers what it has finished, so that a run that was cut goes on where it stopped; one
that fails (third-party records that are not there, say) does not keep the others from running.
"""

import argparse
import os
import subprocess
import sys
import time

EXPERIMENTS = (
    "experiments.kink",
    "experiments.pendulum",
    "experiments.smooth_kink",
    "experiments.actuator",
    "experiments.real_sets",
    "experiments.marginal_real_sets",
    "experiments.default_call",
    "experiments.noisy_cart_pole",
    "experiments.generate_pilco",
    "experiments.cart_pole",
    "experiments.network_starts",
    "experiments.lagged_actions",
    "experiments.double_pendulum",
    "experiments.process_noise",
    "experiments.function_bands",
    "experiments.calibration",
    "experiments.referee",
    "experiments.hidden_swing_ups",
)


def main() -> None:
    """Run them all."""
    parser = argparse.ArgumentParser(prog="python -m experiments.reproduce", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[name.partition(".")[2] for name in EXPERIMENTS])
    chosen = parser.parse_args().only
    modules = [name for name in EXPERIMENTS if chosen is None or name.partition(".")[2] in chosen]
    failed, began = [], time.monotonic()
    for number, module in enumerate(modules, 1):
        minutes = (time.monotonic() - began) / 60
        print(f"\n[{number}/{len(modules)}] {module} (after {minutes:.0f} min)", flush=True)
        if subprocess.run([sys.executable, "-m", module], env=os.environ, check=False).returncode:
            failed.append(module)
    subprocess.run([sys.executable, "-m", "experiments.pages"], check=True)
    if failed:
        sys.exit("did not finish: " + ", ".join(failed) + "; the messages are above")


if __name__ == "__main__":
    main()
