"""Kernels by name are the kernels of that name."""

import gpjax as gpx
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.kernels import _words, cross_covariance, kernel_from_words, kernel_words, register_kernel_word

X = jnp.asarray(np.random.default_rng(0).standard_normal((5, 3)))
TWO = jnp.full(3, 2.0)


@pytest.mark.parametrize(
    ("words", "kernel"),
    [
        ("rbf", gpx.kernels.RBF(lengthscale=TWO, variance=0.5)),
        ("ard", gpx.kernels.RBF(lengthscale=TWO, variance=0.5)),
        ("iso-Matern32", gpx.kernels.Matern32(lengthscale=2.0, variance=0.5)),
        (
            "rbf + matern12",
            gpx.kernels.RBF(lengthscale=TWO, variance=0.25) + gpx.kernels.Matern12(lengthscale=TWO, variance=0.25),
        ),
        (
            "rbf+linear*matern52",
            gpx.kernels.RBF(lengthscale=TWO, variance=0.25)
            + gpx.kernels.Linear(variance=0.25) * gpx.kernels.Matern52(lengthscale=TWO, variance=1.0),
        ),
    ],
)
def test_same_covariances(words: str, kernel: gpx.kernels.AbstractKernel):
    made = kernel_from_words(words, dims=3)
    np.testing.assert_allclose(cross_covariance(made, X, X), cross_covariance(kernel, X, X), rtol=1e-12)


@pytest.mark.parametrize("word", kernel_words())
def test_every_word_makes_a_kernel_with_a_length_scale_per_channel(word: str):
    covariance = cross_covariance(kernel_from_words(word, dims=3), X, X)
    assert np.linalg.eigvalsh(covariance).min() > -1e-9


@pytest.mark.parametrize("words", ["", "rbf+", "+", "*", "cubic", "rbf-matern12", "iso-", "rbf rbf"])
def test_others_are_refused(words: str):
    with pytest.raises(ValueError, match=r"kernel: .* the words are rbf, "):
        kernel_from_words(words, dims=3)


@pytest.fixture
def words_of_my_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that are registered in a test are forgotten after it."""
    monkeypatch.setattr(_words, "_WITH_LENGTHS", dict(_words._WITH_LENGTHS))


@pytest.mark.usefixtures("words_of_my_own")
def test_a_word_of_ones_own():
    register_kernel_word("wavy", lambda lengthscale, variance: gpx.kernels.RBF(variance=9.0))
    register_kernel_word(
        "wavy", lambda lengthscale, variance: gpx.kernels.Periodic(lengthscale=lengthscale, variance=variance)
    )
    assert "wavy" in kernel_words()
    expected = gpx.kernels.Periodic(lengthscale=TWO, variance=0.25) + gpx.kernels.RBF(lengthscale=2.0, variance=0.25)
    made = kernel_from_words("Wavy + iso-rbf", dims=3)
    np.testing.assert_allclose(cross_covariance(made, X, X), cross_covariance(expected, X, X), rtol=1e-12)
    with pytest.raises(ValueError, match=r"did you mean 'wavy'.* the words are rbf, .*wavy"):
        kernel_from_words("wawy", dims=3)


@pytest.mark.parametrize("word", ["", "Wavy", "wavy kernel", "a+b", "iso-wavy", "rbf", "ard", "linear"])
@pytest.mark.usefixtures("words_of_my_own")
def test_words_that_cannot_be_taken(word: str):
    with pytest.raises(ValueError, match=r"cannot be a word|is a word of gpssm"):
        register_kernel_word(word, gpx.kernels.RBF)
    assert kernel_words() == ("rbf", "matern12", "matern32", "matern52", "rq", "linear", "arccosine")
