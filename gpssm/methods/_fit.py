"""`gpssm.fit`: the one verb that learns."""

import logging
from typing import Any

import jax

from gpssm._core._activity import doing
from gpssm._core._devices import Devices
from gpssm._core._errors import FileError
from gpssm._core._random import AnyKey
from gpssm._core._ticker import alive
from gpssm.data import DataError, Episode, Episodes, Recipe, Scaler
from gpssm.data._enough import check_enough
from gpssm.files import check_savable
from gpssm.fitting import AbstractMethod, Console, Fit, Progress, Silent, learn
from gpssm.fitting._store import Keeper
from gpssm.inference import AbstractRecognition
from gpssm.kernels._abstract import AbstractKernel
from gpssm.methods._asked import asked_states
from gpssm.methods._auto import Auto
from gpssm.methods._direct import Direct
from gpssm.models import GPSSM, AbstractEmission, AbstractMean
from gpssm.readers import read
from gpssm.readers._examine import suspicious

log = logging.getLogger("gpssm")

SAVED_PARTS = (AbstractKernel, AbstractEmission, AbstractMean, AbstractRecognition, GPSSM)
"""Parts of a method that become parts of its model."""


def fit(
    data: Any,
    method: AbstractMethod = Auto(),
    *,
    outputs: Any = None,
    inputs: Any = (),
    episode: str | None = None,
    time: str | None = None,
    dt: float | int | None = None,
    validation: Any = None,
    scaler: Scaler | None = None,
    start: Fit | None = None,
    direct: bool | None = False,
    progress: Progress | bool | None = None,
    checkpoints: Keeper | None = None,
    devices: Devices | None = None,
    throw: bool = False,
    key: AnyKey = None,
    seed: int | None = None,
) -> Fit:
    """Learn a system from records.

    - `data`: `Episodes`, or anything that `gpssm.read` takes (files, a data frame, ...) with its `outputs`, `inputs`,
      `episode`, `time` and `dt`.
    - `method`: how to learn; `Auto()` chooses sensible everything. Others are `Variational`, `OutputError`, `Linear`,
      `ARX`, `GPNARX`, `Constant`, and methods made of methods: `first.then(second)`, `BestOf`, `Restarts`, `Mixture`.
    - `validation`: records that are watched and judged by, never trained on. Read as `data` are.
    - `scaler`: by default that of the training data (or of `start`).
    - `start`: an earlier fit to go on from.
    - `direct`: True if inputs also act on outputs of their own step (a direct term D u[t], see
      `gpssm.methods.Direct`); None lets the ends of the records decide.
    - `progress`: by default a line on the console; `False` or `Silent()` shows nothing.
    - `checkpoints`: with `Checkpoints(folder)` a fit that was broken off, in whatever way, goes on when the same call
      is made again, and ends with the same bits.
    - `devices`: share the episodes among them, also over several processes (see `gpssm.distributed`).
    - `throw`: raise a `FitError` for a fit that diverged or was interrupted, instead of returning the best so far.
    - `key` or `seed`: a random key or a whole number; the same one gives the same model. By default seed 0.

    Channels that are constant or copies of each other, and values far from all others, are told and kept among
    `history.events`: a model can be learnt from them, but rarely is meant to be.

    More states than the measurements could tell apart are refused with a `DataError`, whatever the method.

    Ctrl-C ends the fit at the next safe point and returns the best so far, `result` being `Result.interrupted`.
    """
    if not isinstance(method, AbstractMethod):
        raise TypeError(
            f"method={method!r} is no method: write Auto(), Variational(...), OutputError(...), Linear(...)"
        )
    if isinstance(progress, bool):
        progress = None if progress else Silent()
    if progress is not None and not isinstance(progress, Progress):
        raise TypeError(f"progress={progress!r} cannot be told anything: write False, True, or an object like Silent()")
    if direct is not False:
        method = Direct(method, always=direct is True)
    options = {"outputs": outputs, "inputs": inputs, "episode": episode, "time": time, "dt": dt}
    speaks = devices is None or devices.is_first
    shown = progress if progress is not None else Console() if speaks else Silent()
    with doing("reading"), alive(shown):
        episodes = as_episodes(data, options)
        judged = None if validation is None else as_episodes(validation, options, episodes.recipe)
    for states in asked_states(method):
        check_enough(episodes, states)
    _warn_if_unsavable(method, progress)
    remarks = suspicious(episodes)
    if speaks:
        for remark in remarks:
            _tell(remark, progress)
    made = learn(
        episodes,
        method,
        validation=judged,
        scaler=scaler,
        start=start,
        progress=shown,
        checkpoints=checkpoints,
        devices=devices,
        throw=throw,
        key=key,
        seed=seed,
    )
    for remark in remarks:
        made = made.with_event(f"data: {remark}")
    return made


def as_episodes(data: Any, options: dict[str, Any], recipe: Recipe | None = None) -> Episodes:
    """Episodes as they are, one episode as a set of one, and anything else read: as it is said, or by a recipe."""
    if isinstance(data, Episodes):
        return data
    if isinstance(data, Episode):
        return Episodes([data])
    if options["outputs"] is None and recipe is not None:
        return read(data, recipe=recipe)
    if options["outputs"] is None:
        raise DataError(
            f"say which columns of the {type(data).__name__} were measured and which applied: "
            "gpssm.fit(data, outputs=[...], inputs=[...])"
        )
    return read(data, **options)


def _warn_if_unsavable(method: AbstractMethod, progress: Progress | None) -> None:
    """Said before hours of training, not after."""
    parts = [
        part
        for part in jax.tree.leaves(method, is_leaf=lambda node: isinstance(node, SAVED_PARTS))
        if isinstance(part, SAVED_PARTS)
    ]
    try:
        check_savable(parts)
    except FileError as error:
        _tell(f"this model can be used but not saved: {error}", progress)


def _tell(message: str, progress: Progress | None) -> None:
    """To those who watch the progress, and to the log."""
    log.warning(message)
    if progress is not None:
        progress.say(message)
