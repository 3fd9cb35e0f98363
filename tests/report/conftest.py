"""Reports that several tests look at, built once: an exact system, one with narrow bands, and models without states."""

import numpy as np
import pytest

import gpssm
from gpssm import reporting
from gpssm.predict import ConstantPredictor, MixturePredictor
from tests.report.linear_case import CONTEXT, KEY, Names, records, system

HOSTILE = Names(output="<script>alert(1)</script>", input="<b>valve</b> & %{x} `", record='run "</script><img src=x>')
HORIZONS = (1, 5)
NARROW = 0.6
"""So far off that the draw of the records does not matter."""


def history(steps: int = 200) -> gpssm.History:
    """The record of a training that has levelled off."""
    curve = 1.0 - np.exp(-np.arange(steps) / 15.0)
    names = ("likelihood", "transition", "entropy", "initial", "inducing")
    return gpssm.History(
        num_steps=100.0,
        bound=curve,
        terms={name: curve / 5.0 for name in names},
        process_noise=np.outer(1.1 - curve, [0.02, 0.03]),
        measurement_noise=np.outer(1.1 - curve, [0.05]),
        gradient_norm=np.ones(steps),
        held_out=[(100, 0.8), (200, 0.9)],
        events=["Adam: the bound stopped rising"],
        seconds=3.0,
    )


@pytest.fixture(scope="session")
def exact() -> reporting.Report:
    """The fit of the true system on its own data, under names that would break a careless page."""
    told = history()
    return reporting.build(
        gpssm.Fit(system(names=HOSTILE, history=told), gpssm.Linear(2), gpssm.Result.converged, told),
        records(names=HOSTILE),
        training=records((120, 120), seed=2, names=HOSTILE),
        n_init=CONTEXT,
        horizons=HORIZONS,
        seed=KEY,
    )


@pytest.fixture(scope="session")
def compared() -> reporting.Comparison:
    """The true system beside one with narrow bands and beside a constant."""
    models = [("narrow", system(sigma=NARROW)), ("<i>right</i>", system()), ("constant", constant())]
    return reporting.compare(models, records(), n_init=CONTEXT, horizons=HORIZONS, seed=KEY)


@pytest.fixture(scope="session")
def narrow(compared: reporting.Comparison) -> reporting.Report:
    """Its bands are those of the true system, times `NARROW`; reported from the runs of the comparison."""
    runs = next(entry.judged for entry in compared.entries if entry.name == "narrow")
    return reporting.build(system(sigma=NARROW), records(), horizons=HORIZONS, judged=runs)


@pytest.fixture(scope="session")
def lagged_fit() -> gpssm.Fit:
    """A linear autoregression, which has no states."""
    return gpssm.fit(records((120, 120), seed=2), gpssm.ARX(3), progress=gpssm.Silent())


@pytest.fixture(scope="session")
def lagged(lagged_fit: gpssm.Fit) -> reporting.Report:
    """The report on it, with the first samples chosen by the one rule for all."""
    return reporting.build(lagged_fit, records(), horizons=(), seed=KEY)


def constant() -> ConstantPredictor:
    """Costs nothing to run."""
    return ConstantPredictor(np.array([10.0]), np.array([2.0]), system().channels)


@pytest.fixture(scope="session")
def mixed() -> reporting.Report:
    """A mixture of two constants, one of them in doubt."""
    wide = ConstantPredictor(np.array([11.0]), np.array([4.0]), system().channels)
    mixture = MixturePredictor((constant(), wide), weights=(0.7, 0.3))
    return reporting.build(mixture, records(), training=records((120, 120), seed=2), horizons=HORIZONS, seed=KEY)


@pytest.fixture(scope="session")
def trivial() -> reporting.Report:
    """A constant."""
    return reporting.build(constant(), records(), horizons=HORIZONS, seed=KEY)
