"""The page of marginal inference on real records."""

from experiments.pages._free_run import COLUMNS
from experiments.pages._spec import Claim, Line, Page, Shown
from experiments.pages.real_sets import SETS

PAGE = Page(
    name="marginal_real_sets",
    title="Marginal inference on real records",
    setting="""The records of [real records](real_sets.md), split and scored as there. *Marginal*: states integrated
out, training begins at a stable linear system and maximises the evidence with a share of free runs
(`Marginal(AroundLinear((2, 3)), rounds=10)`). How many states there are, and after how many rounds training ends, is
said by free runs over stretches held out of the training half. *Linear*: `Subspace()`. RMSE of the median in the units
of the record.""",
    columns=COLUMNS,
    shown=(
        Shown("linear", "RMSE of the free run", method="linear"),
        Shown("marginal", "RMSE of the free run", method="marginal"),
        Shown("its coverage of 95 %", "coverage of the 95 % band", method="marginal"),
        Shown("its log density", "log density", method="marginal"),
        Shown("log density, linear", "log density", method="linear"),
    ),
    lines=tuple(Line(words, "", case=case) for case, words in SETS.items()),
    claims=tuple(
        Claim(f"RMSE, {words}", "RMSE of the free run", (case, "marginal"), ((case, "linear"),), summary=False)
        for case, words in SETS.items()
    ),
    figures={
        f"results/marginal_real_sets_{case}.png": f"Free simulation of what was held out: {words}"
        for case, words in SETS.items()
    },
    seen="""Told that the sensor of the drive shows magnitudes, the model errs there about a quarter as much as a linear
one, and on the actuator by [[actuator | marginal | RMSE of the free run]] against [[actuator | linear | RMSE of the
free run]]; on both its bands hold what they say. On dryer, gas furnace, and ball and beam its errors are within a tenth
of the linear model's. On the tanks, whose sensor saturates, it errs by [[cascaded_tanks | marginal | RMSE of the free
run]] and the linear model by [[cascaded_tanks | linear | RMSE of the free run]], far behind the network's model of
[real records](real_sets.md): it begins at the wrong place. On ball and beam its bands are too narrow
([[ballbeam | marginal | coverage of the 95 % band]]): held-out stretches of a few dozen steps do not show how far an
integrator drifts. The mixtures of [real records](real_sets.md) err less on the actuator: selection, not this method by
itself, is what to use there.""",
    more="""Free runs over held-out stretches end most trainings at once, after a round or after two, and the evidence
goes on rising for many. On the actuator a prototype that trained several times as long did better on this very test
half, where it was looked at; the held-out stretches of the training half do not ask for that.""",
    blindness="in part",
    blind="""In part. A prototype of the method had been scored on the test halves of actuator, ball and beam, dryer and
tanks; that it begins at a stable linear system, and that free runs over held-out stretches say when training ends, came
of that. That there is a share of free runs, and that it is 0.3, was decided by held-out stretches of the training
halves of actuator, ball and beam, dryer and gas furnace with two seeds each; no test half was run over meanwhile. That
bands are as wide as those stretches ask for came after the coverage of three seeds on ball and beam had been seen. All
sets were then run once in a form that took the errors of a free run for news at each step, and began at a function
drawn at random; a review of the code found both, and these rows are the second run. They differ less from seed to
seed on the dryer, are better on gas furnace and tanks, and worse on actuator, drive, and ball and beam.""",
)
