"""Reports that several tests look at, built once."""

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm import report
from tests.report.linear_case import Names, records, system

HOSTILE = Names(output="<script>alert(1)</script>", input="<b>valve</b> & %{x} `", record='run "</script><img src=x>')


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
def exact() -> report.Report:
    """The true system on its own data, under names that would break a careless page."""
    return report.build(
        system(names=HOSTILE, history=history()),
        records((120, 120, 90), seed=1, names=HOSTILE),
        training=records((120, 120), seed=2, names=HOSTILE),
        n_init=20,
        horizons=(1, 5),
        key=jr.key(3),
    )
