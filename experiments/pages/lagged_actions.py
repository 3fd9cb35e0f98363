"""The page of lagged actions."""

from experiments.pages._spec import Claim, Line, Page, Shown
from experiments.pages._swing_up import COLUMNS, figures

PAGE = Page(
    name="lagged_actions",
    title="Lagged actions",
    setting="""The [cart-pole](cart_pole.md) with position and angle measured, 15 training trials. *Aligned*: as there.
*Lagged*: the action recorded at a step acts two steps later, which a model has to remember; the GPSSM has six states
instead of four then, and the autoregression four lags instead of two. Free runs after 4 samples, which are not scored;
errors in rod lengths.""",
    columns=COLUMNS,
    shown=(
        Shown("last trial, aligned", "last trial, mean", case="aligned 15"),
        Shown("lagged", "last trial, mean", case="lagged 15"),
        Shown("not balanced, aligned", "not balanced, mean", case="aligned 15"),
        Shown("lagged", "not balanced, mean", case="lagged 15"),
        Shown("coverage of 95 %, aligned", "coverage of 95 %", case="aligned 15"),
        Shown("lagged", "coverage of 95 %", case="lagged 15"),
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
            f"tip error, {words}, lagged",
            column,
            ("lagged 15", "gpssm best"),
            tuple(("lagged 15", method) for method in ("kalman", "argp", "argp angles")),
        )
        for words, column in (("last trial", "last trial, mean"), ("not balanced", "not balanced, mean"))
    ),
    figures=figures("lagged_actions", ("aligned", "lagged")),
    seen="""On the last trial the GPSSM remembers lagged actions ([[lagged 15 | gpssm best | last trial, mean]], aligned
[[aligned 15 | gpssm best | last trial, mean]]); on trials that are not balanced it errs by [[lagged 15 | gpssm best |
not balanced, mean]] instead of [[aligned 15 | gpssm best | not balanced, mean]], with bands that are too narrow. An
action that is recorded two steps before it acts is the controller's answer to a state that is still to come: where most
training trials are balanced, the model learns that what follows such actions is balance, and says so for early trials
as well.""",
    more="""Data recorded under one feedback controller cannot tell a system from what the controller makes of it. The
GP autoregression with four lags is stronger than with two on the aligned records ([[lagged 15 | argp | last trial,
mean]] against [[aligned 15 | argp | last trial, mean]] on the last trial).""",
    blindness="yes",
    blind="""Settings are taken over from the cart-pole and are the same for all seeds; nothing is chosen by these
scores.""",
)
