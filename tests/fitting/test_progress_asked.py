"""What `progress=` takes."""

import numpy as np
import pytest

import gpssm


@pytest.mark.parametrize(("progress", "shown"), [(False, False), (True, True), (gpssm.Silent(), False), (None, True)])
def test_progress_may_be_switched_off_and_on(capfd, progress, shown: bool):
    gpssm.fit(gpssm.Episodes.from_arrays(y=[np.arange(9.0)]), gpssm.Constant(), progress=progress)
    assert bool("".join(capfd.readouterr())) is shown


def test_what_cannot_be_told_anything_is_refused():
    data = gpssm.Episodes.from_arrays(y=[np.arange(9.0)])
    # Where types are checked at run time, the checker says so first.
    with pytest.raises(TypeError, match="progress"):
        gpssm.fit(data, gpssm.Constant(), progress="no")  # pyright: ignore[reportArgumentType]
