"""`gpssm.fit` as experiments use it."""

from typing import Any

import gpssm
from gpssm.methods import AbstractMethod


def learn(episodes: gpssm.Episodes, method: AbstractMethod, **options: Any) -> gpssm.Fit:
    """A fit, without a word on the console unless `progress` says so. Ctrl-C ends the experiment: a model that is half
    fitted makes no row."""
    fitted = gpssm.fit(episodes, method, **{"progress": gpssm.Silent(), **options})
    if fitted.result is gpssm.Result.interrupted:
        raise KeyboardInterrupt
    return fitted


def learnt_system(episodes: gpssm.Episodes, method: AbstractMethod, **options: Any) -> gpssm.System:
    """The same of a method that is known to give a state-space model."""
    system = learn(episodes, method, **options).system
    assert isinstance(system, gpssm.System)
    return system
