"""The page of the pendulum."""

from experiments.pages._rows import Column
from experiments.pages._spec import Claim, Line, Page, Shown

CASE = "hidden velocity"
OPPONENTS = tuple((CASE, method) for method in ("constant", "linear", "arx", "gp-narx"))

PAGE = Page(
    name="pendulum",
    title="Pendulum with hidden velocity",
    setting="""A driven, damped pendulum, its angle measured every 0.1 s with a standard deviation of 0.02 rad: the
smallest system with a hidden state. Not in the paper. 15 training and 5 held-out episodes of 40 steps. Scored are free
simulations of the held-out episodes from their first 10 samples, which are not scored. The autoregressions have two to
ten lags, in each data seed as many as run best over training episodes that are held out.""",
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
        Line("training mean", "floor", "constant", CASE),
        Line("linear, two lags", "opponent", "linear", CASE),
        Line("linear ARX, best lags", "opponent", "arx", CASE),
        Line("GP-NARX, best lags", "opponent", "gp-narx", CASE),
        Line("GPSSM", "ours", "gpssm", CASE),
    ),
    claims=(
        Claim("NRMSE of the free run", "NRMSE of the free run", (CASE, "gpssm"), OPPONENTS),
        Claim("log density (higher: better)", "log density", (CASE, "gpssm"), OPPONENTS, higher_is_better=True),
    ),
    figures={
        "results/pendulum.png": "Free simulation of held-out episodes, and the hidden velocity as read off the "
        "states, seed 0"
    },
    seen="""The free run errs by [[hidden velocity | gpssm | NRMSE of the free run]] standard deviations, and the
velocity that nobody measured is read off the states with an R2 of [[hidden velocity | gpssm | R2 of the hidden
velocity]]. A GP autoregression with six to ten lags does as well ([[hidden velocity | gp-narx | NRMSE of the free
run]]): with a sensor this good, as many samples of the angle tell the velocity, too. Its bands hold more than they say.
Linear models err by [[hidden velocity | arx | NRMSE of the free run]] and [[hidden velocity | linear | NRMSE of the
free run]].""",
    blindness="yes",
    blind="""Settings were fixed in advance and are the same for all seeds, and lags are chosen on training episodes;
nothing is chosen by these scores.""",
)
