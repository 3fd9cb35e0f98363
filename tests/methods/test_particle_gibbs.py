"""Particle Gibbs as a method: what it says of its chains, what it refuses, and what it leaves behind."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF

import gpssm
from gpssm.inference.gibbs import HyperPrior, Target, Unknowns
from gpssm.kernels import Manifold
from gpssm.methods import ModelSpec, ParticleGibbs
from gpssm.methods.particle_gibbs import _method
from gpssm.methods.particle_gibbs._chains import KEPT, Plan, Record
from gpssm.methods.particle_gibbs._diagnostics import ENOUGH, diagnose
from gpssm.methods.particle_gibbs._summary import mixture
from gpssm.models import GPSSM, LinearGaussian, SparseGP
from tests.methods.cases import CASES, records
from tests.reference.compiling import jit

VALID = np.arange(5)[None, :] < np.array([5, 3])[:, None]
CHAINS, SWEEPS = 4, 500


def record(watched: np.ndarray, updated: np.ndarray | None = None) -> Record:
    changed = np.where(VALID, 0.8 * CHAINS * SWEEPS, 0.0) if updated is None else updated
    return Record(watched, Unknowns(*(np.zeros(0),) * 3, ()), changed)  # pyright: ignore[reportArgumentType]


def independent() -> np.ndarray:
    """One noise of each kind, the function at two points, the joint density."""
    return np.random.default_rng(0).standard_normal((CHAINS, SWEEPS, 5))


def test_chains_that_agree_are_told_so():
    found = diagnose(record(independent()), VALID, 1, 1)
    assert found.converged and found.r_hat.max() < 1.01 and found.effective.min() > 0.5 * CHAINS * SWEEPS
    assert found.names[0] == "process noise of state 1" and found.names[-1] == "log joint density"
    np.testing.assert_allclose(found.update_rates, 0.8)
    told = found.sentences(CHAINS, SWEEPS)
    assert len(told) == 2 and "split R-hat at most 1.0" in told[0] and "80%" in told[1]


def test_chains_that_disagree_or_crawl_or_stand_still_are_a_warning():
    apart = independent()
    apart[0, :, 1] += 1.0
    found = diagnose(record(apart), VALID, 1, 1)
    assert not found.converged and found.names[int(np.argmax(found.r_hat))] == "measurement noise of output 1"
    assert any("have not converged" in sentence for sentence in found.sentences(CHAINS, SWEEPS))
    crawling = independent()
    crawling[..., 2] = np.cumsum(crawling[..., 2], axis=1)
    assert diagnose(record(crawling), VALID, 1, 1).effective.min() < ENOUGH
    still = np.where(VALID, 0.8 * CHAINS * SWEEPS, 0.0)
    still[:, 4] = 0.05 * CHAINS * SWEEPS
    # The last step belongs to one of the two records only.
    found = diagnose(record(independent(), still), VALID, 1, 1)
    np.testing.assert_allclose(found.update_rates[4], 0.05)
    assert any("more particles" in sentence for sentence in found.sentences(CHAINS, SWEEPS))


def test_what_is_held_does_not_count_as_stuck():
    watched = independent()
    watched[..., 0] = -3.0
    found = diagnose(record(watched), VALID, 1, 1)
    assert found.converged and found.r_hat[0] == 1.0


@pytest.mark.parametrize("sweeps", [4, KEPT - 1, KEPT, KEPT + 1, 3000])
def test_draws_are_kept_evenly(sweeps: int):
    plan = Plan(10, sweeps)
    assert 1 <= plan.kept <= KEPT and plan.kept * plan.thinning <= sweeps < (plan.kept + 1) * plan.thinning


def test_data_and_models_that_it_cannot_take_are_refused(monkeypatch: pytest.MonkeyPatch):
    quiet = {"progress": gpssm.Silent(), "seed": 0}
    with pytest.raises(gpssm.DataError, match="no model to start from"):
        gpssm.fit(records(), ParticleGibbs(), **quiet)
    monkeypatch.setattr(_method, "LARGEST", 50)
    with pytest.raises(gpssm.DataError, match=r"54 steps are too many for particle Gibbs.*use Marginal"):
        gpssm.fit(records(), CASES["particle gibbs"], **quiet)
    with pytest.raises(ValueError, match="particles=1"):
        ParticleGibbs(particles=1)
    with pytest.raises(ValueError, match="not negative"):
        HyperPrior(noise=-1.0)


def test_a_kernel_with_a_network_must_be_held():
    kernel = Manifold(RBF(), inputs=1, widths=(6, 6, 2), key=jr.key(0))
    gp = SparseGP.create(kernel, jnp.zeros((2, 1)), state_dim=1)
    model = GPSSM(gp, LinearGaussian.first_states(1, 1), 1)
    with pytest.raises(gpssm.DataError, match="HyperPrior"):
        ParticleGibbs()._check_model(model)
    ParticleGibbs(prior=HyperPrior(kernel=0.0))._check_model(model)


@pytest.mark.system
def test_the_middle_of_the_draws_has_the_moments_of_their_functions():
    kernels = [RBF(lengthscale=jnp.array([0.8 + 0.2 * d]), variance=0.5) for d in range(2)]  # pyright: ignore[reportArgumentType]
    inducing = jnp.linspace(-1.0, 1.0, 3)[:, None] * jnp.ones((1, 2))
    kernels = [replace(kernel) for kernel in kernels]
    gp = SparseGP.create(kernels, inducing, state_dim=2)
    target = Target(GPSSM(gp, LinearGaussian.first_states(1, 2), 2), HyperPrior(), False)
    rng, centre, count = np.random.default_rng(0), target.centre(), 40
    draws = jax.tree.map(lambda part: np.asarray(part) + 0.2 * rng.standard_normal((count, *part.shape)), centre)
    model, joint = mixture(target, draws)
    assert joint.fits(model) and len(joint.values) == count
    np.testing.assert_allclose(joint.process, np.exp(draws.process))
    np.testing.assert_allclose(joint.noise, np.exp(draws.noise))
    np.testing.assert_allclose(model.emission.noise_variance(), np.exp(draws.noise).mean(axis=0))
    zero = jnp.zeros((3, 0))

    @jit
    def functions():
        dynamics = model.transition.condition()

        def one(index):
            return joint.model_at(index, model, dynamics).transition.condition().function_moments(inducing, zero)[0]

        return jax.vmap(one)(jnp.arange(count)), dynamics.function_moments(inducing, zero)

    each, (mean, variance) = functions()
    np.testing.assert_allclose(mean, np.mean(each, axis=0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(variance, np.var(each, axis=0), rtol=1e-3)


@pytest.mark.system
def test_known_noises_and_kernels_stay_and_predictions_take_each_draw_s_own():
    case = CASES["particle gibbs"]
    assert isinstance(case, ParticleGibbs)
    spec = ModelSpec(1, num_inducing=5, process_variance=0.02, noise_variance=0.03)
    method = replace(case, model=spec, prior=HyperPrior(0.0, 0.0, 0.0))
    system = gpssm.fit(records(), method, progress=gpssm.Silent(), seed=3).system
    assert isinstance(system, gpssm.System) and system.joint is not None
    np.testing.assert_allclose(np.asarray(system.joint.process), 0.02)  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_allclose(np.asarray(system.joint.noise), 0.03)  # pyright: ignore[reportAttributeAccessIssue]
    lengthscales = np.asarray(system.joint.kernels[0])  # pyright: ignore[reportAttributeAccessIssue]
    assert np.ptp(lengthscales, axis=0).max() == 0.0
    values = np.asarray(system.joint.values)  # pyright: ignore[reportAttributeAccessIssue]
    assert len(np.unique(values[:, 0, 0])) == len(values)
