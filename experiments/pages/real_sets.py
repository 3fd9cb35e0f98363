"""The page of the real records."""

from experiments.pages._free_run import COLUMNS
from experiments.pages._spec import Claim, Line, Page, Shown

SETS = {
    "actuator": "actuator",
    "ballbeam": "ball and beam",
    "drive": "drive",
    "gas_furnace": "gas furnace",
    "dryer": "dryer",
    "cascaded_tanks": "cascaded tanks",
}
FAMILIES = {"constant": "constant", "arx": "linear ARX", "kalman": "Kalman", "gp-narx": "GP-NARX", "gpssm": "GPSSM"}

PAGE = Page(
    name="real_sets",
    title="Real records",
    setting="""Five records of which the first half trains and the second is simulated freely after 16 samples, and the
cascaded tanks, which have a test record of their own (5 samples read). What is read is not scored. In each family the
best on held-out blocks of the training half; *mixture*: all candidates but GP-NARX, with shares and width from the same
blocks. The point prediction is the median of sampled trajectories. RMSE in the units of the record.""",
    columns=COLUMNS,
    shown=(
        *(Shown(words, "RMSE of the free run", method=method) for method, words in FAMILIES.items()),
        Shown("mixture", "RMSE of the free run", method="stacked"),
        Shown("its coverage of 95 %", "coverage of the 95 % band", method="stacked"),
    ),
    lines=tuple(Line(words, "", case=case) for case, words in SETS.items()),
    claims=tuple(
        Claim(
            f"RMSE, {words}",
            "RMSE of the free run",
            (case, "stacked"),
            tuple((case, method) for method in ("constant", "arx", "kalman", "gp-narx")),
            summary=case != "actuator",  # which has a page of its own
            blindness="yes" if case == "cascaded_tanks" else "",
            strip=case in ("drive", "cascaded_tanks", "dryer"),
        )
        for case, words in SETS.items()
    ),
    figures={
        f"results/real_sets_{case}.png": f"Free simulation of what was held out: {words}"
        for case, words in reversed(SETS.items())
    },
    seen="""Where a system is nonlinear (actuator, drive, tanks) the mixture errs half as much as the best opponent, or
less; where a linear model is enough (dryer, gas furnace, ball and beam) it is within a few per cent of it. Bands hold
what they should or a little more, but for the drive ([[drive | stacked | coverage of the 95 % band]]) and the gas
furnace, where those of all models hold about half of the samples.""",
    more="""- Drive: its sensor shows speed without its sign. Told so (`emission=Magnitude`), a linear system with a GP
  correction errs by [[drive | gpssm | RMSE of the free run]]. Only such fits competed there.
- Gas furnace: the second half has two excursions that no model explains by the input (near its steps 118 and 143).
- Ball and beam: an integrator that is pushed around. Free runs of the GPSSM are stable, but they drift; selection takes
  the linear autoregression. That took a linear model that does not explode: with coefficients drawn around a regression
  that is slightly unstable it lost on the held-out blocks, and the constant was chosen; recurrences are pulled back to
  the edge of stability since.
- Cascaded tanks: bands reach above the sensor's limit of 10 V, of which the models know nothing. GP-NARX has four lags;
  ten cannot be filled from five samples.""",
    blindness="in part",
    blind="""In part. Earlier versions had been run on the test halves of actuator, drive and ball-beam; that GPSSMs are
stable by construction, and the mixture, came of that. Mixtures without a width had been scored on all sets but the
tanks. The first form of the stable fits had a looser prior near the edge of stability and was scored on ball-beam,
dryer and gas furnace before the present one replaced it for reasons of principle; the one that did better there was not
kept. The test record of the tanks had not been seen before this run.""",
)
