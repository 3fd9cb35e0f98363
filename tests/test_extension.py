"""A kernel, an emission, a network and an inference of somebody else's: they train, polish, save and load.

Nothing in the package knows them. The page "Adding a method" shows the parts of this file between the marks.
"""

from pathlib import Path
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import AbstractKernel
from jaxtyping import Array, Bool, Float, PRNGKeyArray

import gpssm
from gpssm._core._params import Positive, val
from gpssm.files import register
from gpssm.inference import AbstractInference, AbstractRecognition, AbstractShare, Bound, Needs, Unsharded
from gpssm.inference.recognition import mask_padding
from gpssm.kernels import cross_covariance, diagonal, random_directions, random_features
from gpssm.models import GPSSM, AbstractEmission, Batch, GaussMarkov, Transitions
from gpssm.optimisers import LBFGS, Adam

# [kernel]


@register("example.Cauchy")
class Cauchy(AbstractKernel):
    """k(x, y) = variance / (1 + |x - y|^2 / 2): smooth, with tails that an RBF does not have."""

    variance: Positive = eqx.field(kw_only=True)
    name: ClassVar[str] = "Cauchy"

    def __init__(self, variance: float = 0.5):
        self.variance = Positive.of(variance)
        AbstractKernel.__init__(self)

    def __call__(self, x: Float[Array, " Q"], y: Float[Array, " Q"]) -> Float[Array, ""]:
        return val(self.variance) / (1.0 + 0.5 * jnp.sum((x - y) ** 2))


@cross_covariance.register
def _(kernel: Cauchy, x: Float[Array, "N Q"], y: Float[Array, "M Q"]) -> Float[Array, "N M"]:
    squares = jnp.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1)
    return val(kernel.variance) / (1.0 + 0.5 * squares)


@diagonal.register
def _(kernel: Cauchy, x: Float[Array, "N Q"]) -> Float[Array, " N"]:
    return jnp.broadcast_to(val(kernel.variance), x.shape[:1])


# 1 / (1 + d^2 / 2) is the average of exp(-s d^2 / 2) over s ~ Exp(1): frequencies are Gaussian with a random width.
@random_directions.register
def _(kernel: Cauchy, inputs: int, *, num_features: int, dtype, key: PRNGKeyArray) -> Float[Array, "F Q"]:
    normal_key, width_key = jr.split(key)
    widths = jnp.sqrt(jr.exponential(width_key, (num_features, 1), dtype))
    return widths * jr.normal(normal_key, (num_features, inputs), dtype)


@random_features.register
def _(kernel: Cauchy, x: Float[Array, " Q"], directions: Float[Array, "F Q"]) -> Float[Array, " G"]:
    phases = directions @ x
    scale = jnp.sqrt(val(kernel.variance) / directions.shape[0])
    return scale * jnp.concatenate([jnp.cos(phases), jnp.sin(phases)])


# [emission]


@register("example.StudentT")
class StudentT(AbstractEmission):
    """Outputs are the first states, measured by sensors that are wildly wrong now and then."""

    scale: Positive
    freedom: float = eqx.field(static=True, default=4.0)

    def mean(self, x: Float[Array, "*B D"]) -> Float[Array, "*B O"]:
        return x[..., : val(self.scale).shape[0]]

    def noise_variance(self) -> Float[Array, " O"]:
        return val(self.scale) ** 2 * self.freedom / (self.freedom - 2.0)

    def log_prob(self, y: Float[Array, " O"], x: Float[Array, " D"]) -> Float[Array, " O"]:
        return self._density(y - self.mean(x), val(self.scale))

    def sample(self, signals: Float[Array, "*B O"], *, key: PRNGKeyArray) -> Float[Array, "*B O"]:
        scale = jnp.reshape(val(self.scale), (1,) * (signals.ndim - 1) + (-1,))
        return signals + scale * jr.t(key, self.freedom, signals.shape, signals.dtype)

    def expected_log_prob(
        self,
        y: Float[Array, "T O"],
        means: Float[Array, "T D"],
        covariances: Float[Array, "T D D"],
        *,
        where: Bool[Array, "T O"],
    ) -> Float[Array, ""]:
        nodes, weights = np.polynomial.hermite_e.hermegauss(12)
        outputs = self.mean(means)
        spread = jnp.sqrt(jnp.diagonal(covariances, axis1=-2, axis2=-1)[:, : outputs.shape[1]])
        at = outputs[None] + jnp.asarray(nodes)[:, None, None] * spread[None]
        densities = self._density(y[None] - at, val(self.scale)[None, None, :])
        expected = jnp.tensordot(jnp.asarray(weights / weights.sum()), densities, axes=1)
        return jnp.sum(jnp.where(where, expected, 0.0))

    def _density(self, miss: Float[Array, "*B O"], scale: Float[Array, "*B O"]) -> Float[Array, "*B O"]:
        return jax.scipy.stats.t.logpdf(miss / scale, self.freedom) - jnp.log(scale)


# [network]


@register("example.Neighbours")
class Neighbours(AbstractRecognition):
    """Reads a state off the outputs before, at and after a step: no memory, three weights for each state and output."""

    weights: Float[Array, "3O D"]
    log_widths: Float[Array, " D"]

    def posterior(self, episode: Batch) -> GaussMarkov:
        y = jnp.where(episode.observed, episode.y, 0.0)
        before, after = jnp.concatenate([y[:1], y[:-1]]), jnp.concatenate([y[1:], y[-1:]])
        means = jnp.concatenate([before, y, after], axis=1) @ self.weights
        steps, dims = means.shape
        factors = jnp.broadcast_to(jnp.diag(jnp.exp(self.log_widths)), (steps, dims, dims))
        return mask_padding(means, jnp.zeros_like(factors), factors, episode.valid)

    def reads_new_episodes(self) -> bool:
        return True

    def needs_whole_episodes(self) -> bool:
        return False


# [inference]


class FixedWidth(AbstractInference):
    """Every state is a parameter, known up to one width: the simplest q(X) there is."""

    means: Float[Array, "B T D"]
    width: float = eqx.field(static=True, default=0.1)

    def bound(self, model: GPSSM, batch: Batch, *, share: AbstractShare = Unsharded(), key: PRNGKeyArray):
        x = self.means[batch.index]
        eye = jnp.broadcast_to(self.width**2 * jnp.eye(x.shape[-1]), (*x.shape, x.shape[-1]))
        measured = jax.vmap(lambda y, m, c, w: model.emission.expected_log_prob(y, m, c, where=w))
        first = jax.vmap(model.initial_expected_log_prob)(x[:, 0], eye[:, 0])
        rows = (batch.valid[:, 1:] * batch.weight[:, None]).ravel()
        dynamics = model.transition.condition()
        moved = dynamics.expected_log_prob(
            Transitions(
                states=x[:, :-1].reshape(rows.size, -1),
                controls=batch.u[:, :-1].reshape(rows.size, -1),
                next_means=x[:, 1:].reshape(rows.size, -1),
                next_variances=jnp.full((rows.size, x.shape[-1]), self.width**2),
                weights=rows,
            )
        )
        steps = jnp.sum(batch.valid * batch.weight[:, None])
        terms = {
            "measured": jnp.sum(batch.weight * measured(batch.y, x, eye, batch.observed)),
            "first": jnp.sum(batch.weight * first),
            "moved": moved,
            "width": steps * x.shape[-1] * (0.5 + 0.5 * jnp.log(2.0 * jnp.pi) + jnp.log(self.width)),
            "function": -share.fraction() * dynamics.kl(),
        }
        return Bound.of(terms, jitter=dynamics.jitter(), once=("function",)), None

    def after_step(self, model: GPSSM, told: None, *, share: AbstractShare = Unsharded()) -> GPSSM:
        return model

    def finish(self, model: GPSSM, batch: Batch, *, key: PRNGKeyArray) -> GPSSM:
        return model

    def held(self, model: GPSSM) -> tuple[()]:
        return ()

    def needs(self) -> Needs:
        return Needs(whole_episodes=True)

    def reader(self) -> None:
        return None

    def for_new_records(self) -> None:
        return None


# [end]


def records() -> gpssm.Episodes:
    rng = np.random.default_rng(0)
    made = []
    for steps in (30, 24):
        u, x, y = rng.standard_normal(steps), 0.0, []
        for control in u:
            y.append(x + 0.05 * rng.standard_t(4.0))
            x = 0.8 * np.sin(x) + 0.5 * control
        made.append(gpssm.Episode(y=np.asarray(y), u=u, dt=0.1))
    return gpssm.Episodes(made)


def spec() -> gpssm.ModelSpec:
    return gpssm.ModelSpec(1, kernel=Cauchy(), num_inducing=6, emission=StudentT(Positive.of(jnp.full(1, 0.1))))


def network() -> Neighbours:
    return Neighbours(jnp.asarray([[0.0], [1.0], [0.0]]), jnp.full(1, -2.0))


def inference() -> FixedWidth:
    scaled = gpssm.Scaler.from_episodes(records()).apply(records())
    return FixedWidth(jnp.asarray(Batch.of(scaled).y))


METHODS = {
    "network, then states": lambda: gpssm.Variational(spec(), q_x=network(), optimiser=Adam(150)).then(
        gpssm.Variational(q_x=gpssm.PerStep(), optimiser=LBFGS(8), distil=50)
    ),
    "inference by Adam": lambda: gpssm.Variational(spec(), inference=inference(), optimiser=Adam(150)),
    "inference by L-BFGS": lambda: gpssm.Variational(spec(), inference=inference(), optimiser=LBFGS(10)),
}


LONG = ("network, then states", "inference by Adam")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.system) if name in LONG else name for name in METHODS]
)
def test_parts_from_outside_train_save_and_load(name: str, tmp_path: Path):
    fit = gpssm.fit(records(), METHODS[name](), progress=gpssm.Silent(), seed=0)
    assert fit.result.good
    assert fit.history.bound[-1] > fit.history.bound[0] + 0.1
    assert not any("no known group" in event for event in fit.history.events)
    run = fit.system.simulate(records()[0], n_init=5, num_samples=10, seed=1)
    gpssm.save(fit, tmp_path / "model.gpssm")
    again = gpssm.load(tmp_path / "model.gpssm").simulate(records()[0], n_init=5, num_samples=10, seed=1)
    np.testing.assert_array_equal(again.samples, run.samples)


@pytest.mark.system
def test_a_network_from_outside_is_kept_after_the_polish():
    fit = gpssm.fit(records(), METHODS["network, then states"](), progress=gpssm.Silent(), seed=0)
    assert isinstance(fit.system, gpssm.System) and isinstance(fit.system.recognition, Neighbours)
    states = fit.system.smooth(records()[0], reader=fit.system.recognition)
    assert np.isfinite(states.means).all()


@pytest.mark.system
def test_terms_of_an_inference_from_outside_are_shown_by_name():
    fit = gpssm.fit(records(), METHODS["inference by Adam"](), progress=gpssm.Silent(), seed=0)
    assert set(fit.history.terms) == {"measured", "first", "moved", "width", "function"}
    total = sum(values for values in fit.history.terms.values())
    np.testing.assert_allclose(total, fit.history.bound, rtol=1e-12)


def test_what_an_inference_needs_is_asked_for():
    windows = gpssm.optimisers.Windows(length=8, size=2)
    method = gpssm.Variational(spec(), inference=inference(), optimiser=Adam(50, batches=windows))
    with pytest.raises(ValueError, match="whole episodes"):
        gpssm.fit(records(), method, progress=gpssm.Silent())


class Unregistered(AbstractKernel):
    """A kernel that files cannot hold."""

    def __call__(self, x: Float[Array, " Q"], y: Float[Array, " Q"]) -> Float[Array, ""]:
        return jnp.exp(-0.5 * jnp.sum((x - y) ** 2))


@pytest.mark.system
def test_a_kernel_that_cannot_be_saved_is_told_of_before_the_training():
    said: list[str] = []

    class Listener(gpssm.Silent):
        def say(self, message: str) -> None:
            said.append(message)

        def update(self, status) -> None:
            assert said, "training began before it was said that the model cannot be saved"

    method = gpssm.Variational(gpssm.ModelSpec(1, kernel=Unregistered(), num_inducing=6), optimiser=Adam(50))
    gpssm.fit(records(), method, progress=Listener())
    assert "register" in said[0]
