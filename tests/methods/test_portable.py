"""Methods that were pickled keep their precision, whatever that of whoever reads them."""

import pickle
from collections.abc import Callable

import jax
import numpy as np
import pytest
from gpjax.kernels import RBF

import gpssm
from gpssm._core._params import val


@pytest.mark.parametrize(
    ("make", "kernel_of"),
    [
        (lambda kernel: gpssm.ModelSpec(1, kernel), lambda spec: spec.kernel),
        (lambda kernel: gpssm.Variational(gpssm.ModelSpec(1, kernel)), lambda method: method.model.kernel),
        (lambda kernel: gpssm.GPNARX(kernel=kernel), lambda method: method.kernel),
        (lambda kernel: gpssm.Restarts(gpssm.GPNARX(kernel=kernel), 2), lambda method: method.method.kernel),
    ],
    ids=["ModelSpec", "Variational", "GPNARX", "a method in a method"],
)
def test_a_method_keeps_the_precision_of_its_kernel(make: Callable, kernel_of: Callable):
    with jax.enable_x64(True):
        stored = pickle.dumps(make(RBF(lengthscale=jax.device_put(np.full(2, 1.0 / 3.0)))))
    with jax.enable_x64(False):
        kernel = kernel_of(pickle.loads(stored))
    with jax.enable_x64(True):
        found = np.asarray(val(kernel.lengthscale))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, 1.0 / 3.0, rtol=1e-14)
