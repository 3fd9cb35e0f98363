"""Damaged records.

Each fault survives if it is read as finite numbers, or refused with a DataError that names the file: most formats have
no digests, so that damage cannot always be seen.
"""

import io
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from gpssm.data import DataError
from gpssm.readers import read

Y = np.round(np.cos(np.arange(40.0)), 6)
ENDINGS = ("npz", "mat", "parquet", "csv")
VARIANTS = 2


@cache
def sound(ending: str, variant: int) -> bytes:
    """A record that is in order, compressed or not."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from scipy.io import savemat

    file, columns = io.BytesIO(), {"t": np.arange(40.0), "y": Y, "u": 2 * Y}
    match ending:
        case "npz":
            (np.savez_compressed if variant else np.savez)(file, **columns)
        case "mat":
            savemat(file, columns, do_compression=bool(variant))
        case "parquet":
            pq.write_table(pa.table(columns), file, compression="zstd" if variant else "none")
        case _:
            sep = ";" if variant else ","
            rows = [sep.join(map(str, row)) for row in zip(*columns.values(), strict=True)]
            file.write("\n".join([sep.join(columns), *rows]).encode())
    return file.getvalue()


def damaged(rng: np.random.Generator, data: bytes) -> bytes:
    """Flipped bits, overwritten or repeated blocks, or a part that is missing."""
    content = bytearray(data)
    match int(rng.integers(5)):
        case 0:
            for _ in range(int(rng.integers(1, 9))):
                content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        case 1:
            start, size = int(rng.integers(len(content))), int(rng.integers(1, 60))
            content[start : start + size] = rng.bytes(size)
        case 2:
            content = content[: int(rng.integers(len(content)))]
        case 3:
            start, size = int(rng.integers(len(content))), int(rng.integers(1, 60))
            del content[start : start + size]
        case _:
            start, size = int(rng.integers(len(content))), int(rng.integers(1, 60))
            content[start:start] = content[start : start + size]
    return bytes(content)


def damaged_records(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """NPZ, MAT, Parquet and CSV files in turn."""
    for i in range(count):
        ending = ENDINGS[i % len(ENDINGS)]
        path = folder / f"damaged.{ending}"
        path.write_bytes(damaged(rng, sound(ending, int(rng.integers(VARIANTS)))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # decoders wonder aloud about what they find
            try:
                (episode,) = read(path, outputs="y", inputs="u", time="t" if rng.integers(2) else None)
                yield bool(np.isfinite(episode.y).all() and np.isfinite(episode.u).all())
            except DataError as error:
                yield path.name in str(error)
            except Exception as failure:
                # Not survived: counted, and shown, because nobody foresaw it.
                print(f"{path.name}, fault {i}: {type(failure).__name__}: {failure}", file=sys.stderr)
                yield False
