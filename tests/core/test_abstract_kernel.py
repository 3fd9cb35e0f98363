"""What stands for GPJax's abstract kernel says of everything what that says, and nothing inherits from it."""

import gpjax.kernels as gk
import pytest

from gpssm.kernels import Angles, ArcCosine0
from gpssm.kernels._abstract import AbstractKernel


class Own(gk.AbstractKernel):
    """A kernel of somebody's."""

    def __call__(self, x, y):
        return x @ y


@pytest.mark.parametrize(
    "value", [gk.RBF(), Own(), gk.RBF() + Own(), ArcCosine0(), Angles(gk.RBF(), inputs=(0,), radians=(1.0,))]
)
def test_kernels_are_kernels(value):
    assert isinstance(value, AbstractKernel) and isinstance(value, str | AbstractKernel)
    assert issubclass(type(value), AbstractKernel)


@pytest.mark.parametrize("value", [None, "rbf", (gk.RBF(),), gk.RBF, gk.AbstractKernel])
def test_nothing_else_is(value):
    assert not isinstance(value, AbstractKernel)
    assert not issubclass(type(value), AbstractKernel)


def test_nobody_inherits_from_it_by_mistake():
    with pytest.raises(TypeError, match=r"Mine: kernels inherit from gpjax\.kernels\.AbstractKernel"):
        type("Mine", (AbstractKernel,), {})
