"""The double pendulum of the paper: learn it from 2, 8 and 14 trials, with velocities observed or hidden.

The trials come from `python -m experiments.generate_pilco`. Motion is chaotic: even the true simulator, started at a
measured state, loses the way.
"""

from experiments._lags import EVIDENCE
from experiments._results import Results, arguments
from experiments._swing_up import BEST, RECIPE, UNIT
from experiments._swing_up_run import Case, run
from experiments._trials import NUM_EACH, load_study
from experiments.methods import DOUBLE_PENDULUM, SWING_UP_QUICK

SEEDS = (1, 2, 3)
"""Those of the four that were tried on which the swing-up was learnt."""
COUNTS = (2, 8, 14)
CASES = {
    "observed": Case(observed=(0, 1, 2, 3), n_init=1, states=4),
    "hidden": Case(observed=(2, 3), n_init=3, states=4),
}
PROTOCOL = {
    "system": "double pendulum with two torques, PILCO trials of 30 steps of 0.1 s, outputs with noise of sd 0.01; "
    "hidden: angles only",
    "training": "the first 2, 8 or 14 trials of 15",
    "tests": f"the last trial, as in the paper, and {2 * NUM_EACH} that are not balanced: {NUM_EACH} with the "
    f"policy of the first and {NUM_EACH} with that of the second controlled trial, from new starts; and as "
    f"many under the actions that these two trials recorded, which answer nothing from other starts",
    "prediction": "free run under the recorded controls after n_init samples (observed 1, hidden 3), which are not "
    "scored; horizons count from the last sample that was read",
    "unit": UNIT + " (of one of the two rods)",
    "selection": "settings taken over from the cart-pole, the same for all seeds and training sizes; nothing is "
    "chosen by these scores",
    "paper settings": "200 inducing points, Matern-1/2, 80 units, Adam 1e-3, one path",
    "best settings": BEST,
    "network": RECIPE,
    "argp": f"RBF; argp angles: the same with our kernel; {EVIDENCE}",
    "trivial": "constant: training mean; previous episode: copy of the one before the last; true simulator: started at "
    "the last measurement that was read, hidden states included; sampled: spread around it by the noise of the sensor",
}


def main() -> None:
    """Run everything; continue where an earlier run stopped."""
    options = arguments(__doc__ or "", "double_pendulum")
    results = Results("double_pendulum", {**PROTOCOL, "quick": options.quick}, options.out, fresh=options.fresh)
    seeds, counts = ((SEEDS[0],), (2,)) if options.quick else (SEEDS, COUNTS)
    studies = {
        (s, name): load_study("double_pendulum", s, case.observed) for s in seeds for name, case in CASES.items()
    }
    run(results, studies, CASES, counts, SWING_UP_QUICK if options.quick else DOUBLE_PENDULUM, network=True)
    print(f"results: {results.path}")


if __name__ == "__main__":
    main()
