"""Fits as tests want them: without a word on the console."""

from typing import Any

import gpssm
from gpssm.fitting import AbstractMethod
from gpssm.predict import AbstractPredictor


def learnt(episodes: gpssm.Episodes, method: AbstractMethod, **options: Any) -> AbstractPredictor:
    """The system that a method learns, from seed 0 unless told otherwise."""
    return gpssm.fit(episodes, method, progress=gpssm.Silent(), **options).system
