"""What a file may cost: memory for its tensors once, and nothing for what is forged."""

import hashlib
import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpssm
from gpssm.files import _container
from gpssm.files._container import MAX_HEADER, pack
from gpssm.files._model_file import KIND
from gpssm.predict import Channels, RepeatPredictor

ROOT = Path(__file__).resolve().parents[2]
ZEROS = "0" * 64


def sparse(path: Path, shape: list[int], content: dict[str, Any]) -> Path:
    """A file with right digests of the header and a tensor that is one hole: next to nothing on the disk."""
    entry = {"dtype": "F64", "shape": shape}
    held = {"system.outputs": entry | {"sha256": ZEROS[::-1]}}
    inner = {"header_sha256": "X" * 64, "kind": KIND, "version": 1, "tensors": held, "content": content}
    size = 8 * int(np.prod(shape))
    table = {"__metadata__": {"gpssm": json.dumps(inner)}, "system.outputs": entry | {"data_offsets": [0, size]}}
    text = json.dumps(table).encode().replace(b"X" * 64, ZEROS.encode(), 1)
    front = struct.pack("<Q", len(text)) + text
    # The first zeros are those of the digest of the header.
    digest = hashlib.sha256(front).hexdigest().encode()
    path.write_bytes(front.replace(ZEROS.encode(), digest, 1))
    os.truncate(path, len(front) + size)
    return path


def test_a_file_that_is_mostly_holes_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = sparse(tmp_path / "m", [2**27], {"system": {"tensor": "system.outputs"}, "history": None})
    monkeypatch.setattr(_container, "read_tensors", lambda *_: pytest.fail("it was read"))
    with pytest.raises(gpssm.FileError, match="nearly all of it is empty"):
        gpssm.load(path)


def test_bytes_that_no_part_of_the_model_needs_are_not_read(tmp_path, monkeypatch):
    path = sparse(tmp_path / "m", [2**27], {"system": None, "history": None})
    monkeypatch.setattr(_container, "read_tensors", lambda *_: pytest.fail("it was read"))
    # As if the disk held all of it.
    monkeypatch.setattr(_container, "_check_size", lambda *_: None)
    with pytest.raises(gpssm.FileError, match="no part of the model needs 1073741824 of its bytes"):
        gpssm.load(path)


def test_a_header_of_megabytes_is_refused(tmp_path):
    text = b"[" + b"[]," * (MAX_HEADER // 3) + b"[]]"
    (tmp_path / "m").write_bytes(struct.pack("<Q", len(text)) + text)
    with pytest.raises(gpssm.FileError, match="do not begin with a header"):
        gpssm.load(tmp_path / "m")
    with pytest.raises(gpssm.FileError, match="give shorter settings"):
        pack(KIND, {"settings": "x" * MAX_HEADER}, {})


@pytest.mark.parametrize("offsets", [[[0, 16], [8, 24]], [[0, 16], [24, 40]], [[-16, 0], [0, 16]], [0, 16], None])
def test_tensors_that_overlap_or_leave_gaps_are_refused(tmp_path, offsets):
    data = pack(KIND, {}, {"a": np.ones(2), "b": np.ones(2)})
    end = 8 + struct.unpack("<Q", data[:8])[0]
    table = json.loads(data[8:end])
    for name, value in zip(("a", "b"), offsets or ["soon", []], strict=True):
        table[name]["data_offsets"] = value
    inner = json.loads(table["__metadata__"]["gpssm"]) | {"header_sha256": ZEROS}
    table["__metadata__"]["gpssm"] = json.dumps(inner)
    text = json.dumps(table).encode()
    front = struct.pack("<Q", len(text)) + text
    digest = hashlib.sha256(front).hexdigest().encode()
    (tmp_path / "m").write_bytes(front.replace(ZEROS.encode(), digest, 1) + data[end:])
    with pytest.raises(gpssm.FileError, match="overlap, or there are gaps"):
        gpssm.load(tmp_path / "m")


MEASURE = """
import resource, sys
import gpssm
import numpy as np
def grown():
    return [int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmSize")][0]
gpssm.load(sys.argv[1])  # what is imported and started once is none of the file's
factor, size = float(sys.argv[3]), int(sys.argv[4])
limit = grown() + int(factor * size)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    print(float(gpssm.load(sys.argv[2]).outputs.sum()))
except gpssm.FileError as error:
    print("refused:", error)
"""


def _measured(small: Path, large: Path, factor: float) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", MEASURE, str(small), str(large), str(factor), str(large.stat().st_size)]
    # A thread of the runtime that happens to wake up would set aside 64 MiB of addresses of its own.
    one_heap = os.environ | {"MALLOC_ARENA_MAX": "1"}
    return subprocess.run(command, cwd=ROOT, env=one_heap, capture_output=True, text=True, check=False)


@pytest.mark.system
def test_a_large_model_takes_less_than_a_third_more_than_its_size(tmp_path):
    def model(rows: int) -> RepeatPredictor:
        return RepeatPredictor(np.ones((rows, 1)), np.ones(1), Channels(("y",), (), None))

    gpssm.save(model(10), tmp_path / "small")
    gpssm.save(model(2**25), tmp_path / "large")
    size = (tmp_path / "large").stat().st_size
    assert size > 2**28
    done = _measured(tmp_path / "small", tmp_path / "large", 1.3)
    assert done.stdout.strip() == str(float(2**25)), done.stderr[-2000:]
    assert _measured(tmp_path / "small", tmp_path / "large", 0.9).returncode != 0, "the limit does limit"
