"""The page of the double pendulum."""

from experiments.pages._spec import Claim, Line, Page, Shown
from experiments.pages._swing_up import COLUMNS, figures

CASES = ("observed 8", "observed 14", "hidden 8", "hidden 14")

PAGE = Page(
    name="double_pendulum",
    title="Double pendulum",
    setting="""Two rods and two torques; PILCO trials of 30 steps of 0.1 s, sensor noise of 0.01; the first 2, 8 or 14
train. *Hidden*: angles only. Tests as for the [cart-pole](cart_pole.md): the last trial and four that are not balanced.
Free runs after 1 sample (hidden: 3), which are not scored; errors of the tip in lengths of one rod.""",
    columns=COLUMNS,
    shown=(
        Shown("last trial, observed 14", "last trial, mean", case="observed 14"),
        Shown("hidden 14", "last trial, mean", case="hidden 14"),
        *(Shown(("not balanced, " if i == 0 else "") + c, "not balanced, mean", case=c) for i, c in enumerate(CASES)),
    ),
    lines=(
        Line("Kalman", "opponent", "kalman"),
        Line("GP autoregression, RBF", "opponent", "argp"),
        Line("GP autoregression, our kernel", "opponent", "argp angles"),
        Line("GPSSM, settings of the paper", "ours", "gpssm paper"),
        Line("GPSSM, our settings", "ours", "gpssm best"),
        Line("true simulator", "floor", "true simulator, sampled"),
    ),
    claims=tuple(
        Claim(
            f"tip error, not balanced, {case}",
            "not balanced, mean",
            (case, "gpssm best"),
            tuple((case, method) for method in ("kalman", "argp", "argp angles")),
            summary=case.endswith("14"),
        )
        for case in ("observed 8", "observed 14", "hidden 8", "hidden 14")
    ),
    figures=figures("double_pendulum", ("observed", "hidden")),
    seen="""The motion is chaotic: the true simulator errs by [[observed 14 | true simulator, sampled | last trial,
mean]] on the last trial, so that models can be told apart on the other trials only. Where everything is observed the
GPSSM errs by [[observed 8 | gpssm best | not balanced, mean]] and [[observed 14 | gpssm best | not balanced, mean]]
there (8 and 14 trials); with hidden velocities a GP autoregression is closer, because the fit ends with [process
noise](process_noise.md) that the system does not have.""",
    blindness="yes",
    blind="""Settings are those of the cart-pole, not tuned; nothing is chosen by these scores. Two seeds only: PILCO
solved the task on seeds 1 and 2, first in the seventh and in the third controlled trial; seed 0 was not solved in its
first six controlled trials, and was stopped there.""",
)
