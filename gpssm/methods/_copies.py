"""The sign that a model copies its measurements instead of smoothing them."""

import numpy as np

from gpssm._core._params import val
from gpssm.models import GPSSM, LinearGaussian


def copies_measurements(model: GPSSM) -> bool:
    """Whether each output is moved by more process noise in a step than its sensor adds.

    Such sensors exist; but it is also where training ends that takes all noise for the system's.
    """
    process, noise = np.asarray(model.transition.noise_variance()), np.asarray(model.emission.noise_variance())
    if isinstance(model.emission, LinearGaussian):
        moved = np.asarray(val(model.emission.weight)) ** 2 @ process
    else:
        # Other emissions show the first states, too.
        moved = process[: len(noise)]
    return bool((moved > noise[: len(moved)]).all())
