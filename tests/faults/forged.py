"""Files that claim gigabytes, opened by a process that may not have them.

Each fault survives if it ends in an error of ours within the memory that is allowed.
"""

import io
import json
import os
import resource
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = 2**30
"""Bytes of address space beyond what there is after the imports."""
CHUNK = bytes(2**22)


def sparse(path: Path, rows: int, named: bool) -> Path:
    """A model file with right digests of its header whose tensor is one hole: next to nothing on the disk."""
    from tests.faults.damage import ZEROS, header_sealed

    entry = {"dtype": "F64", "shape": [rows, 1]}
    system = {"tensor": "system.outputs"} if named else None
    content = {"system": {"class": "gpssm.RepeatPredictor", "fields": {"outputs": system}}, "history": None}
    # A digest that is no row of zeros, which stand for that of the header.
    inner = {"kind": "model", "version": 1, "tensors": {"system.outputs": entry | {"sha256": "f" * 64}}}
    text = json.dumps({"header_sha256": ZEROS} | inner | {"content": content})
    table = {"__metadata__": {"gpssm": text}, "system.outputs": entry | {"data_offsets": [0, 8 * rows]}}
    front = header_sealed(json.dumps(table).encode())
    path.write_bytes(front)
    os.truncate(path, len(front) + 8 * rows)
    return path


def _model(rng: np.random.Generator, folder: Path) -> Path:
    return sparse(folder / "m.gpssm", int(rng.integers(2**27, 2**29 - 2**10)), bool(rng.integers(2)))


def _long_header(rng: np.random.Generator, folder: Path) -> Path:
    size = int(rng.integers(5, 60)) * 2**20
    text = b"[" + b"[]," * (size // 3) + b"[]]"
    (folder / "m.gpssm").write_bytes(struct.pack("<Q", len(text)) + text)
    return folder / "m.gpssm"


def _npz_claim(rng: np.random.Generator, folder: Path) -> Path:
    shape = f"({int(rng.integers(10**8, 2**62))},)"
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    with zipfile.ZipFile(folder / "a.npz", "w") as archive:
        archive.writestr("y.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(800))
    return folder / "a.npz"


def _npz_bomb(rng: np.random.Generator, folder: Path) -> Path:
    path = folder / "bomb.npz"
    if path.exists():
        return path
    rows = 150 * len(CHUNK) // 8
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows},), }}".ljust(117).encode() + b"\n"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("y.npy", "w", force_zip64=True) as member,
    ):
        member.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        for _ in range(150):
            member.write(CHUNK)
    return path


def _mat_claim(rng: np.random.Generator, folder: Path) -> Path:
    from scipy.io import savemat

    file = io.BytesIO()
    savemat(file, {"y": np.ones(1234)})
    rows = int(rng.integers(10**8, 2**31 - 1))
    data = file.getvalue().replace(struct.pack("<i", 1234), struct.pack("<i", rows), 1)
    (folder / "a.mat").write_bytes(data)
    return folder / "a.mat"


def _parquet_bomb(rng: np.random.Generator, folder: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, part = folder / "bomb.parquet", pa.table({"y": np.zeros(2**20)})
    if not path.exists():
        with pq.ParquetWriter(path, part.schema) as writer:
            for _ in range(100):
                writer.write_table(part)
    return path


FORGERIES: list[Callable[[np.random.Generator, Path], Path]] = [
    *(_model, _long_header, _npz_claim, _mat_claim, _npz_bomb, _parquet_bomb),
]


def files_beyond_memory(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """Forged and sparse files, in a process of their own with 1 GiB of memory."""
    seed = str(int(rng.integers(2**31)))
    command = [sys.executable, "-m", "tests.faults.forged", str(folder), seed, str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told = done.stdout.split()
    assert done.returncode == 0, done.stderr[-2000:]
    yield from (word == "refused" for word in told)


def _size() -> int:
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmSize"))


def _main(folder: Path, seed: int, count: int) -> None:
    import gpssm
    from tests.faults.places import OURS

    rng = np.random.default_rng(seed)
    paths = [make(rng, folder) for make in FORGERIES]
    for path in paths:  # what decoders import, they import before the limit
        _tried(gpssm, path, OURS)
    limit = _size() + ALLOWED
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for i in range(count):
        print(_tried(gpssm, FORGERIES[i % len(FORGERIES)](rng, folder), OURS), flush=True)


def _tried(gpssm, path: Path, ours: tuple[type[Exception], ...]) -> str:
    try:
        gpssm.load(path) if path.suffix == ".gpssm" else gpssm.read(path, outputs="y")
    except ours:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}"
    return "accepted"


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
