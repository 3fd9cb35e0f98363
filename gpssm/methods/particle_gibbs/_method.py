"""`ParticleGibbs`: draws from the exact posterior, for small data and for judging other methods."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._compile import compile_for_setup
from gpssm._core._history import History
from gpssm._core._params import cast, trainable_mask
from gpssm._core._result import Result
from gpssm.data import DataError
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.fitting._method import split_key
from gpssm.inference.gibbs import Chain, Gibbs, HyperPrior, Target, Unknowns
from gpssm.methods._guess import AbstractGuess, SubspaceStates
from gpssm.methods._model_spec import ModelSpec
from gpssm.methods._pairs import first_model
from gpssm.methods._with_gp import with_gp
from gpssm.methods.particle_gibbs._chains import Plan, Walked, walk
from gpssm.methods.particle_gibbs._diagnostics import diagnose
from gpssm.methods.particle_gibbs._summary import mixture
from gpssm.models import GPSSM, Batch, SparseGP
from gpssm.predict import System

LARGEST = 20_000
"""Steps of all records together: every sweep goes through them with all particles of all chains."""
WALKABLE = 60
"""Numbers trained in a kernel, over which a random walk still gets anywhere."""
APART = (0.1, 3.0)
"""Factors between which the noises of the chains start."""


class ParticleGibbs(AbstractMethod):
    """The exact posterior of states, function and hyper-parameters together, as draws: particle Gibbs with ancestor
    sampling.

    Nothing is taken for Gaussian and nothing is optimised: a Markov chain draws the states by conditional sequential
    Monte Carlo, the inducing values by regression on them, and noises and kernels by slice sampling and a random walk,
    in turn. Given enough sweeps this is right, so that it can judge all other methods; and for small data it is
    affordable. How often states change, split R-hat and effective numbers of draws are said with every fit, with a
    warning where they are not good. Predictions are a mixture of the draws, each with its own function, noises and
    kernel.

    Inducing inputs, the mean function, and weight and offset of the emission are held: with hidden states, chains would
    turn in their coordinates without end. After another fit (`then`, or `start=`) it goes on from its model; a fit by
    `Marginal` makes the warm-up short.
    """

    model: ModelSpec | GPSSM | None = None
    """Settings, or a model that you have put together; None goes on with the model of the earlier fit. Its
    hyper-parameters, before any data are seen, are the centre of their prior."""
    guess: AbstractGuess | None = None
    """How first states are read off the outputs, where there is no earlier fit. None: by subspace regression."""
    sweeps: int = 3000
    """Of each chain, after the warm-up. Twice as many make errors of all results smaller by a factor of 1.4."""
    warmup: int = 500
    """Sweeps of each chain before those that count."""
    chains: int = 4
    """Side by side, from noises that are far apart; R-hat compares them."""
    particles: int = 12
    """Of the conditional sequential Monte Carlo, for each record: more, where states change too seldom."""
    prior: HyperPrior = HyperPrior()
    """Of noises and kernels. `HyperPrior(0.0, 0.0, 0.0)` holds them all at what the model is given with."""
    fitc: bool = False
    """Whether variance that the inducing values leave unexplained counts as process noise (FITC, for rough kernels and
    few inducing points), or not (DTC)."""

    def __check_init__(self) -> None:
        for name, least in (("sweeps", 4), ("warmup", 0), ("chains", 1), ("particles", 2)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)}: need at least {least}")

    @property
    def deterministic(self) -> bool:
        return False

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Start chains that are far apart, walk, and tell how well that went."""
        self._check_size(data)
        start_key, walk_key, _ = split_key(key)
        centre, first, paths = self._first(data, run, key)
        self._check_model(centre)
        batch = data.batch()
        gibbs = Gibbs(Target(cast(centre, np.float64), self.prior, self.fitc), self.particles)
        factors = jnp.asarray(np.geomspace(*APART, self.chains) if self.chains > 1 else np.ones(1))
        chains = _started(gibbs, cast(first, np.float64), jnp.asarray(paths), batch, factors, start_key)
        history = History(float(np.sum(np.asarray(batch.valid))))
        stage = run.stage("sweeps", shown="particle Gibbs")
        walked = walk(gibbs, chains, batch, Plan(self.warmup, self.sweeps), stage, history, key=walk_key)
        return self._finished(gibbs, walked, batch, data, run)

    def _check_size(self, data: Prepared) -> None:
        steps = data.episodes.num_steps
        if steps > LARGEST:
            raise DataError(
                f"{steps} steps are too many for particle Gibbs, which goes through all of them thousands of times: "
                f"give it {LARGEST} at most, or use Marginal"
            )

    def _check_model(self, model: GPSSM) -> None:
        assert isinstance(model.transition, SparseGP)
        if not hasattr(model.emission, "noise"):
            raise DataError(
                f"particle Gibbs draws the noise of an emission, and {type(model.emission).__name__} has none"
            )
        trained = [
            sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(kernel, trainable_mask(kernel))))
            for kernel in model.transition.kernels
        ]
        if self.prior.kernel and max(trained) > WALKABLE:
            raise DataError(
                f"a kernel with {max(trained)} trained numbers is more than a random walk can explore: hold it with "
                "HyperPrior(kernel=0.0)"
            )

    def _first(self, data: Prepared, run: Run, key: PRNGKeyArray) -> tuple[GPSSM, GPSSM, Float[np.ndarray, "E T D"]]:
        """The model about which the prior is centred, the one near which chains start, and first states."""
        earlier = None if data.start is None else data.start.system
        if isinstance(earlier, System) and not isinstance(self.model, GPSSM):
            model = with_gp(earlier.model)
            return model, model, _padded([earlier.smooth(e).means for e in data.episodes], data.batch())
        if self.model is None:
            raise DataError("ParticleGibbs() has no model to start from: give ModelSpec(states=...), or an earlier fit")
        if isinstance(self.model, GPSSM):
            model = with_gp(self.model)
        else:
            model = replace(self.model, whitened=True).build(data, key=split_key(key)[0])
        states = (self.guess or SubspaceStates()).states(data, model.state_dim)
        first = first_model(model, data.batch(), states, run.stage("first"), move_inducing=False, key=key)
        return model, first, _padded(states, data.batch())

    def _finished(self, gibbs: Gibbs, walked: Walked, batch: Batch, data: Prepared, run: Run) -> Fit:
        plan, history = Plan(self.warmup, self.sweeps), walked.history
        kept = plan.kept if not walked.stopped else max(walked.done - plan.warmup, 0) // plan.thinning
        draws = walked.record.draws if kept else jax.tree.map(lambda part: part[:, None], walked.chains.unknowns)
        draws = jax.tree.map(lambda part: np.asarray(part)[:, : max(kept, 1)], draws)
        flat: Unknowns = jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:]), draws)
        if not all(np.isfinite(part).all() for part in jax.tree.leaves(flat)):
            return Fit.of(
                System(gibbs.target.model, data.scaler, data.channels), self, Result.diverged, history
            )  # fmt: skip
        model, joint = mixture(gibbs.target, flat)
        if not walked.stopped:
            outputs = batch.y.shape[-1]
            found = diagnose(walked.record, np.asarray(batch.valid), model.state_dim, outputs)
            for sentence in found.sentences(self.chains, self.sweeps):
                history.events.append(sentence)
                run.say(sentence)
        result = Result.interrupted if walked.stopped else Result.finished
        return Fit.of(System(model, data.scaler, data.channels, joint=joint), self, result, history)


@compile_for_setup
def _started(
    gibbs: Gibbs,
    first: GPSSM,
    paths: Float[Array, "E T D"],
    batch: Batch,
    factors: Float[Array, " C"],
    key: PRNGKeyArray,
) -> Chain:
    """Chains with noises that are `factors` times those of the first model. What is held is as the target has it."""
    target, prior = gibbs.target, gibbs.target.prior
    near, held = Target(first, prior, target.fitc).centre(), target.centre()

    def one(factor: Array, key: PRNGKeyArray) -> Chain:
        process = near.process + jnp.log(factor) if prior.process else held.process
        noise = near.noise + jnp.log(factor) if prior.noise else held.noise
        kernels = near.kernels if prior.kernel else held.kernels
        return gibbs.start(Unknowns(near.values, process, noise, kernels), paths, batch, key=key)

    return jax.vmap(one)(factors, jr.split(key, factors.shape[0]))


def _padded(states: list[np.ndarray], batch: Batch) -> Float[np.ndarray, "E T D"]:
    padded = np.zeros((*batch.valid.shape, states[0].shape[1]))
    for i, x in enumerate(states):
        padded[i, : len(x)] = x
    return padded
