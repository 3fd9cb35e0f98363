"""Several chains side by side, in rounds of sweeps, as a stage of a fit."""

import time
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from gpssm._core._compile import compile_by_work, compile_for_setup
from gpssm._core._history import History
from gpssm.fitting import Stage, Status
from gpssm.fitting._interrupt import Stopped
from gpssm.inference.gibbs import Chain, Gibbs, Told, Unknowns, pooled
from gpssm.models import Batch

KEPT = 250
"""Draws of each chain that are kept for predictions; of every sweep only what tells of convergence is."""
POINTS = 12
"""Inducing inputs at which the function is watched."""
WORK = 800_000
"""Steps of particles in a round: a few tenths of a second."""
MOST = 50
"""Sweeps in a round."""
LABEL = "log joint/step"


class Record(NamedTuple):
    """What the chains have told since their warm-up; S sweeps are planned, K of them kept. Filled as they are made."""

    watched: Float[np.ndarray, "C S W"]
    """Logarithms of the noises, the function at some points, the log joint density."""
    draws: Unknowns
    """Of each chain those that are kept."""
    updated: Float[np.ndarray, "E T"]
    """How often particles have changed each state, in all chains together."""


class Plan(NamedTuple):
    """How many sweeps are made, and which of them are kept."""

    warmup: int
    sweeps: int

    @property
    def thinning(self) -> int:
        """From one draw that is kept to the next."""
        return -(-self.sweeps // KEPT)

    @property
    def kept(self) -> int:
        """Of each chain."""
        return self.sweeps // self.thinning


class Walked(NamedTuple):
    """Where the chains stand."""

    chains: Chain
    record: Record
    done: int
    """Sweeps, those of the warm-up included."""
    stopped: bool
    history: History


def walk(
    gibbs: Gibbs, chains: Chain, batch: Batch, plan: Plan, stage: Stage, history: History, *, key: PRNGKeyArray
) -> Walked:
    """All sweeps, or as many as the user waits for. Every sweep has a key of its own: a walk that was broken off goes
    on with the same bits."""
    total, done, stopped = plan.warmup + plan.sweeps, 0, False
    record = _blank(chains, batch, plan)
    resumed = stage.resume((chains, jax.tree.map(jnp.asarray, record)))
    if resumed is not None:
        (chains, record), done, history = resumed.state, resumed.step, resumed.history
        record = jax.tree.map(np.array, record)
    began = time.monotonic() - history.seconds
    size = _per_round(gibbs, chains, batch)
    try:
        while done < total:
            stage.check()
            numbers = np.arange(done, done + size)
            chains, told, drawn = _round(gibbs, chains, batch, jnp.asarray(numbers), jnp.asarray(plan.warmup), key)
            if done + size < plan.warmup:
                chains = _pooled(chains)
            made = min(size, total - done)
            _fill(record, told, drawn, plan, done, made)
            done += made
            _append(history, told, made)
            history.seconds = time.monotonic() - began
            stage.update(
                Status(
                    stage.shown,
                    done,
                    total,
                    history.bound[-1],
                    done / history.seconds,
                    process_noise=_last(history.process_noise),
                    measurement_noise=_last(history.measurement_noise),
                    label=LABEL,
                )
            )
            stage.keep((chains, jax.tree.map(jnp.asarray, record)), done, history)
    except Stopped as heard:
        stage.interruption.heard(heard)
        stopped = done < total
    return Walked(chains, record, done, stopped, history)


@compile_for_setup
def _pooled(chains: Chain) -> Chain:
    return pooled(chains)


@compile_by_work(lambda gibbs, chains, batch, numbers, warmup, key: numbers.size * chains.paths.size)
def _round(
    gibbs: Gibbs,
    chains: Chain,
    batch: Batch,
    numbers: Int[Array, " S"],
    warmup: Int[Array, ""],
    key: PRNGKeyArray,
) -> tuple[Chain, Told, Unknowns]:
    """The sweeps of these numbers, of all chains: where they stand, and what each sweep tells and has drawn."""

    def sweep(chain: Chain, now: tuple[Array, PRNGKeyArray]) -> tuple[Chain, tuple[Told, Unknowns]]:
        number, key = now
        after, told = gibbs.sweep(chain, batch, warm=number >= warmup, key=key)
        return after, (told, after.unknowns)

    def one(chain: Chain, key: PRNGKeyArray) -> tuple[Chain, tuple[Told, Unknowns]]:
        keys = jax.vmap(lambda number: jr.fold_in(key, number))(numbers)
        return lax.scan(sweep, chain, (numbers, keys))

    after, (told, drawn) = jax.vmap(one)(chains, jr.split(key, chains.paths.shape[0]))
    # How often, not when: the states are many.
    counted = told.updated & (numbers >= warmup)[None, :, None, None]
    return after, told._replace(updated=counted), drawn


def _per_round(gibbs: Gibbs, chains: Chain, batch: Batch) -> int:
    work = chains.paths.shape[0] * gibbs.particles * batch.valid.size * batch.y.shape[-1]
    return int(np.clip(WORK // work, 1, MOST))


def _blank(chains: Chain, batch: Batch, plan: Plan) -> Record:
    count, unknowns = chains.paths.shape[0], chains.unknowns
    size, dims = unknowns.values.shape[-1], unknowns.values.shape[-2]
    watched = dims + unknowns.noise.shape[-1] + dims * len(_watched_points(size)) + 1
    return Record(
        np.zeros((count, plan.sweeps, watched)),
        jax.tree.map(lambda part: np.zeros((count, plan.kept, *part.shape[1:])), unknowns),
        np.zeros(batch.valid.shape),
    )


def _watched_points(size: int) -> np.ndarray:
    return np.unique(np.linspace(0, size - 1, min(size, POINTS)).astype(int))


def _fill(record: Record, told: Told, drawn: Unknowns, plan: Plan, done: int, made: int) -> None:
    """Add a round, the first of whose sweeps is number `done`."""
    function = np.asarray(told.function)[..., _watched_points(told.function.shape[-1])]
    parts = [np.log(told.process), np.log(told.noise), function.reshape(*function.shape[:2], -1)]
    watched = np.concatenate([*parts, np.asarray(told.log_joint)[..., None]], axis=-1)
    record.updated[...] += np.asarray(told.updated)[:, :made].sum(axis=(0, 1))
    for i in range(made):
        sweep = done + i - plan.warmup
        if sweep < 0:
            continue
        record.watched[:, sweep] = watched[:, i]
        place, rest = divmod(sweep + 1, plan.thinning)
        if rest == 0 and place <= plan.kept:
            for held, part in zip(jax.tree.leaves(record.draws), jax.tree.leaves(drawn), strict=True):
                held[:, place - 1] = np.asarray(part)[:, i]


def _append(history: History, told: Told, made: int) -> None:
    """The mean over the chains of each sweep."""

    def joined(before: np.ndarray | None, now: Array) -> np.ndarray:
        new = np.asarray(now)[:, :made].mean(axis=0)
        return new if before is None or not len(before) else np.concatenate([before, new])

    history.bound = joined(history.bound, told.log_joint / history.num_steps)
    history.process_noise = joined(history.process_noise, told.process)
    history.measurement_noise = joined(history.measurement_noise, told.noise)
    history.averaged = min(MOST, len(history.bound))


def _last(levels: np.ndarray | None) -> np.ndarray | None:
    return None if levels is None else levels[-1]
