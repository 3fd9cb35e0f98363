"""What makes two fits the same fit: data, settings, start, seed, versions and machine."""

import hashlib
import importlib.metadata
import pickle
import platform
import re
from typing import Any

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm.data import Episodes

PACKAGES = ("gpssm", "jax", "jaxlib", "equinox", "gpjax", "optax", "numpy", "scipy")


def versions() -> dict[str, str]:
    """Versions of everything that a result depends on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "unknown"  # run from a source tree that is not installed
    return found


def digest_tree(tree: object) -> str:
    """A digest of the classes, static fields and arrays of a tree."""
    # Some static fields print their address, which differs from run to run.
    text = re.sub(r" at 0x[0-9a-f]+", "", eqx.tree_pformat(tree))
    hashed = hashlib.sha256(text.encode())
    for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array)):
        array = np.asarray(leaf)
        hashed.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
    return hashed.hexdigest()[:16]


def digest_object(value: object) -> str:
    """A digest of an object of any kind, whose arrays need not be those of a tree."""
    return hashlib.sha256(pickle.dumps(value)).hexdigest()[:16]


def digest_episodes(episodes: Episodes | None) -> str:
    """A digest of everything in the episodes that training can see."""
    if episodes is None:
        return "none"
    hashed = hashlib.sha256(repr((episodes.output_names, episodes.input_names, episodes.dt)).encode())
    for episode in episodes:
        for array in (episode.y, episode.u, episode.observed):
            hashed.update(f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()[:16]


def describe_fit(
    *, episodes: Episodes, held_out: Episodes | None, key: PRNGKeyArray, settings: dict[str, Any]
) -> dict[str, str]:
    """What must be the same for a fit to be continued, as text by name."""
    identity = {name: str(value) for name, value in settings.items()}
    identity |= {
        "training data": digest_episodes(episodes),
        "held-out data": digest_episodes(held_out),
        "key": f"{jr.key_impl(key)} {np.asarray(jr.key_data(key)).tolist()}",
        "machine": f"{platform.machine()} {jax.default_backend()}",
    }
    return identity | {f"version of {name}": version for name, version in versions().items()}


def differences(then: dict[str, Any], now: dict[str, str]) -> list[str]:
    """What differs between two fits, for people."""
    names = [*now, *(name for name in then if name not in now)]
    return [
        f"{name} ({then.get(name, 'not given')} then, {now.get(name, 'not given')} now)"
        for name in names
        if then.get(name) != now.get(name)
    ]
