"""Model files that are not what they should be. Each fault survives if loading refuses it with a FileError."""

import hashlib
import json
import os
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from safetensors.numpy import save as write_tensors

import gpssm
from gpssm.files._container import MAX_FILE, pack, read
from gpssm.files._model_file import KIND
from tests.faults.hostile import CHANGES
from tests.reference.stored_systems import system

ZEROS = "0" * 64


@cache
def good(seed: int = 0) -> bytes:
    """The bytes of a sound model file."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        gpssm.save(system(seed=seed), Path(folder) / "m", settings={"seed": seed})
        return (Path(folder) / "m").read_bytes()


def refused(data: bytes, folder: Path) -> bool:
    """Whether loading these bytes ends in a FileError; any other error is a crash and goes through."""
    path = folder / "damaged.gpssm"
    path.write_bytes(data)
    try:
        gpssm.load(path)
    except gpssm.FileError as error:
        return len(str(error)) > 20
    return False


def _header_end(data: bytes) -> int:
    return 8 + struct.unpack("<Q", data[:8])[0]


def regions(data: bytes) -> dict[str, tuple[int, int]]:
    """Where in the file what stands."""
    end, digest = _header_end(data), data.index(b"header_sha256") + 18
    return {"length": (0, 8), "header": (8, end), "digest": (digest, digest + 64), "tensors": (end, len(data))}


def bit_flips(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """One flipped bit, in turn in each part of the file."""
    data, parts = good(), list(regions(good()).values())
    for i in range(count):
        low, high = parts[i % len(parts)]
        flipped = bytearray(data)
        flipped[int(rng.integers(low, high))] ^= 1 << int(rng.integers(8))
        yield refused(bytes(flipped), folder)


def overwritten_blocks(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """A block of zeros or of noise, as a bad sector leaves it."""
    data = good()
    for i in range(count):
        start, size = int(rng.integers(len(data) - 1)), int(rng.integers(1, 600))
        old = data[start : start + size]
        new = bytes(len(old)) if i % 2 else rng.bytes(len(old))
        # A block that held zeros already is not damaged.
        yield old == new or refused(data[:start] + new + data[start + len(old) :], folder)


def truncations(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """Files cut short, or with something after the end."""
    data = good()
    end = _header_end(data)
    special = [0, 1, 7, 8, 9, end - 1, end, end + 1, len(data) - 1]
    for i in range(count):
        if i % 4 == 3:
            yield refused(data + rng.bytes(int(rng.integers(1, 50))), folder)
        else:
            yield refused(data[: special[i] if i < len(special) else int(rng.integers(len(data)))], folder)


def splices(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """The beginning of one sound file and the end of another of the same layout."""
    a, b = good(0), good(1)
    assert len(a) == len(b) and _header_end(a) == _header_end(b), "the test wants files of the same layout"
    for i in range(count):
        cut = _header_end(a) if i == 0 else int(rng.integers(1, len(a)))
        spliced = a[:cut] + b[cut:]
        yield spliced in (a, b) or refused(spliced, folder)


def forge(text: str, arrays: dict[str, np.ndarray]) -> bytes:
    """A file with any header and right digests: what somebody with bad intentions would make."""
    data = write_tensors(arrays, metadata={"gpssm": text})
    digest = hashlib.sha256(data[: _header_end(data)]).hexdigest()
    return data.replace(ZEROS.encode(), digest.encode(), 1)


def header_sealed(text: bytes) -> bytes:
    """Length and text of a header, the first row of zeros in it being replaced by its digest."""
    front = struct.pack("<Q", len(text)) + text
    return front.replace(ZEROS.encode(), hashlib.sha256(front).hexdigest().encode(), 1)


def contents() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a sound file holds, to be changed."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        path.write_bytes(good())
        header, tensors = read(path, KIND)
    return header.content, tensors


def _with(**changes: Any) -> str:
    content, tensors = contents()
    text = pack(KIND, content, tensors)
    header = json.loads(json.loads(text[8 : _header_end(text)])["__metadata__"]["gpssm"])
    return json.dumps(header | {"header_sha256": ZEROS} | changes)


def unknown_versions(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """Format versions that this program does not know."""
    _, tensors = contents()
    versions = [2, 0, -1, 10**6, "1", None, 1.0, True, [1], {}]
    for i in range(count):
        version = versions[i] if i < len(versions) else int(rng.integers(2, 10**9))
        yield refused(forge(_with(version=version), tensors), folder)


def absurd_sizes(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """Lengths and shapes beyond all measure; refused before any memory is asked for."""
    data, (_, tensors) = good(), contents()
    shapes: list[Any] = [[2**62], [2**31, 2**31], [-1], [1.5], [[2]], "7", None, [1] * 100, [0], [2**63 - 1, 4]]
    entries = json.loads(_with())["tensors"]
    for i in range(count):
        if i % 3 == 0:
            yield refused(struct.pack("<Q", int(rng.integers(2**20, 2**63))) + data[8:], folder)
        elif i == 1:
            path = folder / "huge.gpssm"
            path.write_bytes(data)
            os.truncate(path, MAX_FILE + 1)  # takes no space on the disk
            yield _is_refused(path)
            path.unlink()
        else:
            name = str(rng.choice(list(entries)))
            changed = {**entries, name: {**entries[name], "shape": shapes[i % len(shapes)]}}
            yield refused(forge(_with(tensors=changed), tensors), folder)


def _is_refused(path: Path) -> bool:
    try:
        gpssm.load(path)
    except gpssm.FileError:
        return True
    return False


VALUES: list[Any] = [7, -1, 0, 0.0, 1e308, "", "x", True, None, {"tuple": []}, {"list": [1.0]}, {"engine": "dense"}, []]


def _fields(node: Any) -> Iterator[dict[str, Any]]:
    """All objects of fields within a tree."""
    if isinstance(node, dict):
        if isinstance(node.get("fields"), dict) and node["fields"]:
            yield node["fields"]
        for value in node.values():
            yield from _fields(value)
    elif isinstance(node, list):
        for item in node:
            yield from _fields(item)


def forged_values(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """Any field of a model with any value or any tensor in it, under right digests: refused, or a model all of
    whose numbers are finite, as one without its network is."""
    for _ in range(count):
        content, tensors = contents()
        places = [*_fields(content["system"]), content["history"]]
        place = places[int(rng.integers(len(places)))]
        values = [*VALUES, {"tensor": str(rng.choice(list(tensors)))}]
        place[str(rng.choice(list(place)))] = values[int(rng.integers(len(values)))]
        yield refused(pack(KIND, content, tensors), folder) or _is_finite(folder / "damaged.gpssm")


def _is_finite(path: Path) -> bool:
    model = gpssm.load(path)
    numbers = [leaf for leaf in jax.tree.leaves(model) if eqx.is_inexact_array(leaf)]
    return all(bool(np.isfinite(np.asarray(leaf)).all()) for leaf in numbers)


def hostile_headers(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """Headers with right digests that ask for what a model file may not hold."""
    names = list(CHANGES)
    for i in range(count):
        content, tensors = contents()
        text = CHANGES[names[i % len(names)]](content)
        if text is not None:
            marked = json.dumps({"header_sha256": ZEROS, "kind": KIND, "version": 1, "tensors": {}})
            yield refused(forge(marked[:-1] + ', "content": ' + text + "}", {}), folder)
        else:
            yield refused(pack(KIND, content, tensors), folder)
