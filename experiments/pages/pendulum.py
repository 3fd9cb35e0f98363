"""The page of the pendulum."""

from experiments.pages._rows import Column
from experiments.pages._spec import Claim, Line, Page, Shown

PAGE = Page(
    name="pendulum",
    title="Pendulum with hidden velocity",
    setting="""A driven, damped pendulum, its angle measured every 0.1 s with a standard deviation of 0.02 rad: the
smallest system with a hidden state. Not in the paper. 15 training and 5 held-out episodes of 40 steps. Scored are free
simulations of the held-out episodes from their first 10 samples, which are not scored.""",
    columns={
        "NRMSE of the free run": Column("nrmse"),
        "coverage of the 95 % band": Column("coverage_95"),
        "log density": Column("log_density"),
        "R2 of the hidden velocity": Column("velocity_r2"),
        "seconds": Column("seconds", with_range=False),
    },
    shown=(
        Shown("NRMSE of the free run", "NRMSE of the free run"),
        Shown("coverage of the 95 % band", "coverage of the 95 % band"),
        Shown("log density", "log density"),
        Shown("R2 of the hidden velocity", "R2 of the hidden velocity"),
    ),
    lines=(
        Line("training mean", "floor", "constant", "hidden velocity"),
        Line("linear, two lags", "opponent", "linear", "hidden velocity"),
        Line("GPSSM", "ours", "gpssm", "hidden velocity"),
    ),
    claims=(
        Claim(
            "NRMSE of the free run",
            "NRMSE of the free run",
            ("hidden velocity", "gpssm"),
            (("hidden velocity", "linear"), ("hidden velocity", "constant")),
        ),
    ),
    figures={
        "results/pendulum.png": "Free simulation of held-out episodes, and the hidden velocity as read off the "
        "states, seed 0"
    },
    seen="""The free run errs by [[hidden velocity | gpssm | NRMSE of the free run]] standard deviations, a linear model
by [[hidden velocity | linear | NRMSE of the free run]], and the velocity that nobody measured is read off the states
with an R2 of [[hidden velocity | gpssm | R2 of the hidden velocity]]. There is no autoregressive opponent in this table
yet.""",
    blindness="yes",
    blind="""Settings were fixed in advance and are the same for all seeds; nothing is chosen by these scores.""",
)
