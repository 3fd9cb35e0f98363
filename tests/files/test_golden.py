"""A file written by an earlier version loads in this one and predicts what it predicted then."""

import json

import numpy as np
import pytest

import gpssm
from tests.files.golden.make import HERE, predictions
from tests.reference.stored_systems import history


@pytest.mark.parametrize("path", sorted(HERE.glob("*.gpssm")), ids=lambda path: path.stem)
def test_golden_files_load_and_predict_the_same(path):
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    found = predictions(gpssm.load(path))
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-9, atol=1e-9, err_msg=name)


def test_the_golden_file_says_what_it_is():
    about = gpssm.describe(HERE / "v1.gpssm")
    assert (about["states"], about["inducing_points"], about["dt"]) == (2, 6, 0.5)
    assert about["kernels"] == ["(RBF + Linear) * Matern52", "(Manifold(Matern32) + ArcCosine0)"]
    assert about["units"] == {"level": "m", "valve": "%"}
    assert about["settings"] == {"seed": 2}
    assert about["events"] == history().events
    assert about["versions"]["gpssm"] == "0.1.0"
    assert about["history"]["steps"] == 7
    assert about["format_version"] == 1
