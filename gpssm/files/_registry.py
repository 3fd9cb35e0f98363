"""The classes that a model file may name. Loading makes objects of these and of no others."""

import gpjax.kernels as gk
import gpjax.parameters as gp
import paramax
from gpjax.kernels.computations import (
    AbstractKernelComputation,
    ConstantDiagonalKernelComputation,
    DenseKernelComputation,
    DiagonalKernelComputation,
)

from gpssm._emission import LinearGaussian, Magnitude
from gpssm._model import GPSSM
from gpssm._params import LowerTriangular, Positive
from gpssm.kernels import Angles, ArcCosine0, Manifold
from gpssm.recognition import GRU, BiRNN, TanhRNN
from gpssm.recognition._birnn import Head
from gpssm.transition import KeepState, Linear, LinearMean, SparseGP

# A name in this table is part of the file format: it stays when a class moves or is renamed.
CLASSES: dict[str, type] = {
    "gpssm.GPSSM": GPSSM,
    "gpssm.SparseGP": SparseGP,
    "gpssm.Linear": Linear,
    "gpssm.KeepState": KeepState,
    "gpssm.LinearMean": LinearMean,
    "gpssm.LinearGaussian": LinearGaussian,
    "gpssm.Magnitude": Magnitude,
    "gpssm.BiRNN": BiRNN,
    "gpssm.BiRNN.Head": Head,
    "gpssm.GRU": GRU,
    "gpssm.TanhRNN": TanhRNN,
    "gpssm.Positive": Positive,
    "gpssm.LowerTriangular": LowerTriangular,
    "gpssm.kernels.Angles": Angles,
    "gpssm.kernels.ArcCosine0": ArcCosine0,
    "gpssm.kernels.Manifold": Manifold,
    "gpjax.kernels.RBF": gk.RBF,
    "gpjax.kernels.Matern12": gk.Matern12,
    "gpjax.kernels.Matern32": gk.Matern32,
    "gpjax.kernels.Matern52": gk.Matern52,
    "gpjax.kernels.Periodic": gk.Periodic,
    "gpjax.kernels.PoweredExponential": gk.PoweredExponential,
    "gpjax.kernels.RationalQuadratic": gk.RationalQuadratic,
    "gpjax.kernels.White": gk.White,
    "gpjax.kernels.ArcCosine": gk.ArcCosine,
    "gpjax.kernels.Linear": gk.Linear,
    "gpjax.kernels.Polynomial": gk.Polynomial,
    "gpjax.kernels.Constant": gk.Constant,
    "gpjax.kernels.SumKernel": gk.SumKernel,
    "gpjax.kernels.ProductKernel": gk.ProductKernel,
    "gpjax.parameters.PositiveReal": gp.PositiveReal,
    "gpjax.parameters.NonNegativeReal": gp.NonNegativeReal,
    "gpjax.parameters.Real": gp.Real,
    "gpjax.parameters.SigmoidBounded": gp.SigmoidBounded,
    "gpjax.parameters.LowerTriangular": gp.LowerTriangular,
    "paramax.NonTrainable": paramax.NonTrainable,
}

# Objects without state, of which one serves for all: equal objects let compiled functions be found again.
ENGINES: dict[str, AbstractKernelComputation] = {
    "dense": DenseKernelComputation(),
    "diagonal": DiagonalKernelComputation(),
    "constant diagonal": ConstantDiagonalKernelComputation(),
}

CLASS_NAMES = {cls: name for name, cls in CLASSES.items()}
ENGINE_NAMES = {type(engine): name for name, engine in ENGINES.items()}
