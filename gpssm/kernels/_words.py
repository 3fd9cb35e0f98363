"""Kernels by name, for the command line: `rbf+matern12` becomes a GPJax kernel."""

import difflib
from collections.abc import Callable
from functools import reduce
from operator import add, mul

import jax.numpy as jnp
from gpjax.kernels import (
    RBF,
    AbstractKernel,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    RationalQuadratic,
)

from gpssm._core._precision import double_precision
from gpssm.kernels._arccosine import ArcCosine0

LENGTH = 2.0
"""First length-scale, in standard deviations of a channel."""

# Every one of these has a length-scale for each state and input unless its word begins with "iso-".
_WITH_LENGTHS: dict[str, Callable[..., AbstractKernel]] = {
    "rbf": RBF,
    "matern12": Matern12,
    "matern32": Matern32,
    "matern52": Matern52,
    "rq": RationalQuadratic,
}
_WITHOUT: dict[str, Callable[..., AbstractKernel]] = {"linear": Linear, "arccosine": ArcCosine0}
_SAME = {
    "ard": "rbf",
    "se": "rbf",
    "gaussian": "rbf",
    "exponential": "matern12",
    "lin": "linear",
    "arccos": "arccosine",
}


_OWN = frozenset((*_WITH_LENGTHS, *_WITHOUT, *_SAME))


def kernel_words() -> tuple[str, ...]:
    """The words there are."""
    return (*_WITH_LENGTHS, *_WITHOUT)


def register_kernel_word(word: str, factory: Callable[..., AbstractKernel]) -> None:
    """Add a word for a kernel of your own; a second registration of the word replaces the first.

    The kernel is made by `factory(lengthscale=..., variance=...)`: a vector with a length-scale per channel, or a
    scalar after `iso-`, and a number. The words of the package cannot be replaced.
    """
    if not word.isidentifier() or word != word.casefold():
        raise ValueError(f"kernel: '{word}' cannot be a word: use small letters, digits and _, a letter first")
    if word in _OWN:
        raise ValueError(f"kernel: '{word}' is a word of gpssm: choose another")
    _WITH_LENGTHS[word] = factory


@double_precision
def kernel_from_words(words: str, *, dims: int) -> AbstractKernel:
    """The kernel that `words` describe over `dims` channels: names joined by + and *, where * binds more tightly.

    Each kernel has a length-scale per channel (`rbf`, or `ard`, its old name), with `iso-` in front of the name a
    single one. The variances of a sum add up to one half.
    """
    terms = words.casefold().replace(" ", "").split("+")
    variance = 0.5 / len(terms)
    return reduce(add, (_product(term.split("*"), words, dims, variance) for term in terms))


def _product(names: list[str], words: str, dims: int, variance: float) -> AbstractKernel:
    # Only the first factor carries the variance of the product.
    factors = [_one(name, words, dims, variance if i == 0 else 1.0) for i, name in enumerate(names)]
    return reduce(mul, factors)


def _one(name: str, words: str, dims: int, variance: float) -> AbstractKernel:
    single = name.startswith("iso-")
    plain = name.removeprefix("iso-").removeprefix("ard-")
    plain = _SAME.get(plain, plain)
    if plain not in kernel_words():
        near = difflib.get_close_matches(plain, [*kernel_words(), *_SAME], n=1)
        meant = f"did you mean '{near[0]}'? " if near else ""
        said = f"'{name}' in '{words}'" if name else f"an empty word in '{words}'"
        raise ValueError(
            f"kernel: {said} is not known; {meant}the words are {', '.join(kernel_words())}, joined by + and *, as in "
            "rbf+matern12"
        )
    if plain in _WITHOUT:
        return _WITHOUT[plain](variance=variance)
    lengths = jnp.asarray(LENGTH) if single else jnp.full(dims, LENGTH)
    return _WITH_LENGTHS[plain](lengthscale=lengths, variance=variance)
