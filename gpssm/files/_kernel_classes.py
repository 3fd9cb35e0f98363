"""What model files may name of GPJax, and the kernels that inherit from it. Importing this imports GPJax."""

import gpjax.kernels as gk
import gpjax.parameters as gp
from gpjax.kernels.computations import (
    AbstractKernelComputation,
    ConstantDiagonalKernelComputation,
    DenseKernelComputation,
    DiagonalKernelComputation,
)

from gpssm.kernels import Angles, ArcCosine0, Manifold

# A name in this table is part of the file format: it stays when a class moves or is renamed.
CLASSES: dict[str, type] = {
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
}

# Objects without state, of which one serves for all: equal objects let compiled functions be found again.
ENGINES: dict[str, AbstractKernelComputation] = {
    "dense": DenseKernelComputation(),
    "diagonal": DiagonalKernelComputation(),
    "constant diagonal": ConstantDiagonalKernelComputation(),
}

NAMES: dict[type, str] = {cls: name for name, cls in CLASSES.items()}
ENGINE_NAMES: dict[type, str] = {type(engine): name for name, engine in ENGINES.items()}
