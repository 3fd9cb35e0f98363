"""All rules of the verdict, applied to the evidence on one model."""

import numpy as np

from gpssm.evaluate import Judged, Score
from gpssm.evaluate._judge import predictor_of
from gpssm.fitting import Fit
from gpssm.predict import AbstractPredictor, System
from gpssm.reporting import _accuracy, _explained
from gpssm.reporting._data_summary import DataSummary
from gpssm.reporting._finding import Finding, Grade
from gpssm.reporting._kind import kind_as_learnt
from gpssm.reporting._residuals import ResidualTests
from gpssm.reporting._simpler import linear_is_enough
from gpssm.reporting._trust_bands import bands
from gpssm.reporting._verdict import Verdict, conclude


def verdict_on(
    model: Fit | AbstractPredictor,
    judged: Judged,
    own: Score | None,
    tests: ResidualTests,
    data: DataSummary,
    training_data: DataSummary | None,
) -> Verdict:
    """What to trust; `own` is the score of a free run on training data."""
    system, free = predictor_of(model), judged.free_run
    kind = kind_as_learnt(system)
    believed = bands(judged.scores, kind)
    explained = _explained.residuals(tests, system.output_names, system.input_names, kind)
    nothing_left = believed.grade is Grade.good and explained.grade is Grade.good
    return conclude(
        simulation=_accuracy.free_simulation(free, system.output_names, kind, nothing_left=nothing_left),
        prediction=_accuracy.prediction(judged.scores, kind),
        bands=believed,
        useful=_accuracy.useful_horizon(judged.simulations, free.spread, system.dt, kind),
        explained=explained,
        carries_over=_explained.generalisation(free, own, data),
        trained=_explained.training_went_well(system.history, model.result if isinstance(model, Fit) else None),
        noise=_noise_levels(system),
        better=linear_is_enough(model, judged),
        data=training_data or data,
        judged_by=data,
    )


def _noise_levels(system: AbstractPredictor) -> Finding | None:
    if not isinstance(system, System):
        return None
    process = np.sqrt(np.asarray(system.model.transition.noise_variance()))
    measurement = np.sqrt(np.asarray(system.model.emission.noise_variance()))
    return _explained.noise_levels(process, measurement, system.output_names)
