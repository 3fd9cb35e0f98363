"""Mixtures that `Auto` chooses: their members as they were judged, and nothing lost when they are broken off."""

from dataclasses import replace

import jax.random as jr
import pytest

import gpssm
from gpssm._core._result import Result
from gpssm.fitting import AbstractMethod, Prepared
from gpssm.methods import _auto
from gpssm.predict import Autoregression, MixturePredictor
from tests.methods.test_auto import driven, linear
from tests.methods.test_auto_processes import tried_of
from tests.optimisers.small_task import Listening

SHARES = {"arx 1": 0.4, "other": 0.6}


class Stopped(AbstractMethod):
    """Ctrl-C comes while it is fitted to all records."""

    @property
    def deterministic(self) -> bool:
        return True

    def fit(self, data, run, *, key):
        made = gpssm.ARX(2).fit(data, run, key=key).by(self)
        return made.ended(Result.interrupted) if run.name.startswith("final") else made


def tried_both(monkeypatch, other: AbstractMethod, best: str):
    data = driven(linear, 100)
    tried = tried_of(data, Listening())
    tried.attempt("arx 1", gpssm.ARX(1))
    tried.attempt("other", other)
    monkeypatch.setattr(_auto, "mixture", lambda *args, **kwargs: (SHARES, 1.5))
    monkeypatch.setattr(_auto, "chosen", lambda *args: best)
    return tried, Prepared.of(data)


def test_members_keep_the_width_that_they_were_judged_with(monkeypatch):
    tried, data = tried_both(monkeypatch, gpssm.ARX(2), "other")
    wide = tried.fits["other"].system.widened(2.5)
    tried.fits["other"] = replace(tried.fits["other"], system=wide)
    made = gpssm.Auto(effort="thorough")._final(tried, data, tried.run, jr.key(0))
    assert isinstance(made.system, MixturePredictor)
    assert [member.free_run_width for member in made.system.members] == [1.0, 2.5]


@pytest.mark.parametrize("best", list(SHARES))
def test_a_mixture_that_is_broken_off_leaves_what_was_chosen(monkeypatch, best):
    """Not the member that was under way, and what is told of it is true of it."""
    tried, data = tried_both(monkeypatch, Stopped(), best)
    made = gpssm.Auto(effort="thorough")._final(tried, data, tried.run, jr.key(0))
    assert made.result is Result.interrupted
    assert isinstance(made.system, Autoregression)
    assert made.system.lags.outputs == {"arx 1": 1, "other": 2}[best]
