"""The gradient of the whole compiled bound against finite differences, for each kind of kernel.

Compiled code rounds differently from single operations: on the diagonal of a kernel matrix a distance of zero may come
out as 1e-15, and a rough kernel divides by it. Only a test of the compiled whole sees that.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF, Matern12, Matern32, Matern52
from jax.flatten_util import ravel_pytree

import gpssm
from gpssm.fitting._problem import Problem, prepare
from gpssm.inference import AbstractInducing, Collapsed, Explicit, GaussHermite, MeanField, PerStepStates
from gpssm.models import GPSSM
from gpssm.models._batch import Batch
from tests.reference.compiling import as_users_do, jit

KERNELS = {
    "rbf": lambda: RBF(lengthscale=1.0),
    "rbf+matern12": lambda: RBF(lengthscale=10.0) + Matern12(lengthscale=0.1),
    "matern32": lambda: Matern32(lengthscale=jnp.array([0.3, 0.7])),
    "matern52*rbf": lambda: Matern52(lengthscale=0.5) * RBF(lengthscale=2.0),
    "arccos0": lambda: gpssm.kernels.ArcCosine0(),
    "manifold": lambda: gpssm.kernels.Manifold(Matern12(), inputs=2, key=jr.key(3)),
}


ROUGH = ("rbf+matern12", "matern32")


def _case(name: str, inducing: AbstractInducing, compiled: Callable):
    """Optimised code takes several times longer to compile, and the two bounds share everything that has to do with
    kernels: by default only the rough ones, of one bound, are optimised."""
    quick = compiled is jit or (isinstance(inducing, Collapsed) and name in ROUGH)
    label = f"{type(inducing).__name__}, {name}{'' if compiled is jit else ', optimised'}"
    return pytest.param(name, inducing, compiled, id=label, marks=() if quick else pytest.mark.slow)


HOW = ((Explicit(), jit), (Collapsed(), as_users_do), (Explicit(), as_users_do))


@pytest.mark.system
@pytest.mark.parametrize(("name", "inducing", "compiled"), [_case(name, *how) for how in HOW for name in KERNELS])
def test_compiled_gradient_agrees_with_finite_differences(name, inducing, compiled):
    rng = np.random.default_rng(0)
    records = [rng.standard_normal((6, 1)).cumsum(axis=0) for _ in range(3)]
    episodes = gpssm.Episodes.from_arrays(y=records, u=[rng.standard_normal((6, 1)) for _ in range(3)])
    model = GPSSM.from_data(episodes, state_dim=1, kernel=KERNELS[name](), num_inducing=8, key=jr.key(0))
    states = PerStepStates.from_data(episodes, state_dim=1)
    tree = prepare((model, MeanField(states, inducing, GaussHermite(3))), np.float64)
    data = Batch.of(gpssm.Scaler.from_episodes(episodes).apply(episodes))
    problem = Problem.of(tree, data, None)
    trained, held = problem.split(tree)
    start, unravel = ravel_pytree(trained)
    # Away from exact coincidences of inducing inputs and states, where a rough kernel has no derivative.
    start = np.asarray(start) + 0.02 * rng.standard_normal(start.size)

    # Value and gradient from one function, as in training; and one compilation instead of two.
    @compiled
    def loss_and_gradient(flat: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.value_and_grad(lambda flat: problem.loss(unravel(flat), held, data, jr.key(0))[0])(flat)

    gradient = np.asarray(loss_and_gradient(start)[1])
    for direction in rng.standard_normal((4, start.size)):
        direction = direction / np.linalg.norm(direction)
        step = 1e-6
        ahead, behind = (float(loss_and_gradient(start + sign * step * direction)[0]) for sign in (1, -1))
        numeric = (ahead - behind) / (2 * step)
        np.testing.assert_allclose(gradient @ direction, numeric, rtol=1e-4, atol=1e-6)
