"""Lagged actions: the cart-pole with hidden velocities, where an action acts two steps after it was recorded.

The state must remember actions that have not acted yet. Errors are compared with the time-aligned records of the same
motion.
"""

from experiments._lags import EVIDENCE
from experiments._results import Results, arguments
from experiments._swing_up import BEST, RECIPE, UNIT
from experiments._swing_up_run import Case, run
from experiments._trials import delayed, load_study
from experiments.methods import CART_POLE, SWING_UP_QUICK

SEEDS = (0, 1, 2)
COUNTS = (15,)
LAG = 2
CASES = {
    "aligned": Case(observed=(0, 3), n_init=4, states=4),
    "lagged": Case(observed=(0, 3), n_init=4, states=6),
}
LAGS = {"aligned": 0, "lagged": LAG}
PROTOCOL = {
    "system": "cart-pole, PILCO trials, position and angle measured; lagged: the action recorded at t acts at t + 2",
    "training": "the first 15 trials of 16",
    "tests": "as in the cart-pole experiment",
    "prediction": "free run under the recorded controls after 4 samples, which are not scored",
    "unit": UNIT,
    "best settings": BEST,
    "network": RECIPE,
    "argp": f"RBF; argp angles: the same with our kernel; {EVIDENCE}",
    "selection": "settings taken over from the cart-pole, the same for all seeds; nothing is chosen by these scores. "
    "Two more states for the lagged case, to hold the actions under way",
}


def main() -> None:
    """Run everything; continue where an earlier run stopped."""
    options = arguments(__doc__ or "", "lagged_actions")
    results = Results("lagged_actions", {**PROTOCOL, "quick": options.quick}, options.out, fresh=options.fresh)
    seeds, counts = ((SEEDS[0],), (2,)) if options.quick else (SEEDS, COUNTS)
    studies = {
        (s, name): delayed(load_study("cart_pole", s, case.observed), LAGS[name])
        for s in seeds
        for name, case in CASES.items()
    }
    run(results, studies, CASES, counts, SWING_UP_QUICK if options.quick else CART_POLE, network=True)
    print(f"results: {results.path}")


if __name__ == "__main__":
    main()
