"""All that needs GPJax: rules for its kernels, and the kernels that it lacks with theirs. Importing this imports it."""

from gpjax.kernels import RBF as RBF

from gpssm.kernels import _gpjax as _gpjax  # registers the pieces of GPJax's kernels
from gpssm.kernels._angles import Angles as Angles
from gpssm.kernels._arccosine import ArcCosine0 as ArcCosine0
from gpssm.kernels._manifold import Manifold as Manifold
from gpssm.kernels._words import kernel_from_words as kernel_from_words
from gpssm.kernels._words import kernel_words as kernel_words
from gpssm.kernels._words import register_kernel_word as register_kernel_word
