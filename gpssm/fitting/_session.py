"""One fit from the first sign of life to the last: what surrounds a method, whichever it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from jaxtyping import PRNGKeyArray

from gpssm._core._activity import doing
from gpssm._core._devices import Devices
from gpssm._core._garbage import set_aside
from gpssm._core._precision import double_precision
from gpssm._core._random import AnyKey, as_key
from gpssm._core._result import FitError
from gpssm._core._ticker import alive
from gpssm.data import Episodes, Scaler
from gpssm.fitting._identity import describe_fit, digest_object, digest_tree
from gpssm.fitting._interrupt import Interruption
from gpssm.fitting._method import AbstractMethod
from gpssm.fitting._prepared import Prepared
from gpssm.fitting._progress import Console, Progress, Silent
from gpssm.fitting._result import Fit
from gpssm.fitting._run import Run
from gpssm.fitting._shared_store import Follower, Leader
from gpssm.fitting._store import Keeper, Store


@set_aside()
@double_precision
def learn(
    episodes: Episodes,
    method: AbstractMethod,
    *,
    validation: Episodes | None = None,
    scaler: Scaler | None = None,
    start: Fit | None = None,
    progress: Progress | None = None,
    checkpoints: Keeper | None = None,
    devices: Devices | None = None,
    throw: bool = False,
    key: AnyKey = None,
    seed: int | None = None,
) -> Fit:
    """`gpssm.fit` for data that have been read."""
    key = as_key(key, seed)
    speaks = devices is None or devices.is_first
    progress = Silent() if not speaks else Console() if progress is None else progress
    data = Prepared.of(episodes, scaler=scaler, validation=validation, start=start)
    if validation is not None:
        for episode in validation:
            data.channels.check(episode)
    with (
        opened(checkpoints, data, method, key, devices) as store,
        Interruption(progress.say) as interruption,
        doing(f"fitting by {type(method).__name__}"),
        alive(progress),
    ):
        made = method.fit(data, Run(progress, store, devices, interruption), key=key)
    made = made if start is None else made.following(start)
    if throw and not made.result.good:
        raise FitError(made.result.value)
    return made


@contextmanager
def opened(
    checkpoints: Keeper | None, data: Prepared, method: AbstractMethod, key: PRNGKeyArray, devices: Devices | None
) -> Iterator[Store | None]:
    """The place for checkpoints, if there is to be one. Of several processes the first holds it."""
    if checkpoints is None:
        yield None
    elif devices is not None and not devices.is_first:
        yield Follower(checkpoints)
    else:
        identity = describe_fit(
            episodes=data.episodes, held_out=data.validation, key=key, settings=_settings(method, data)
        )
        with checkpoints.open(identity) as store:
            yield store if devices is None or devices.num_processes == 1 else Leader(store)


def _settings(method: AbstractMethod, data: Prepared) -> dict[str, Any]:
    """Settings one by one, so that a refusal can name the one that differs."""
    settings: dict[str, Any] = {"method": type(method).__name__}
    for name, value in vars(method).items():
        plain = value is None or isinstance(value, bool | int | float | str)
        settings[name] = value if plain else f"{type(value).__name__} {digest_tree(value)}"
    settings["scaler"] = digest_tree([data.scaler.to_dict()])
    if data.start is not None:
        settings["start"] = digest_object((replace(data.start.system, history=None), data.start.inference))  # pyright: ignore
    return settings
