"""NumPy archives. Only the members that are wanted are unpacked, and their size is looked at before."""

import math
import zipfile
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from gpssm.data import DataError
from gpssm.readers._open import check_unpacked, decoding, opened
from gpssm.readers._table import Table
from gpssm.readers._variables import holders, table_of

_REMEDY = "write it anew with np.savez(path, u=u, y=y)"
_KIND = "NPZ"


def npz_names(path: Path, shown: str) -> tuple[str, ...]:
    """The names of the arrays; none of them is read."""
    with opened(path, shown) as file, decoding(shown, _KIND, _REMEDY), _archive(file, shown) as archive:
        return tuple(_members(archive))


def npz_table(path: Path, wanted: tuple[str, ...], shown: str) -> Table:
    """The wanted arrays side by side. Pickled objects are refused: reading them could run code."""
    with opened(path, shown) as file, decoding(shown, _KIND, _REMEDY), _archive(file, shown) as archive:
        members = _members(archive)
        needed = holders(members, wanted)
        check_unpacked(sum(members[name].file_size for name in needed), shown)
        variables = {name: _array(archive, members[name], name, shown) for name in needed}
    return table_of(variables, wanted, shown, tuple(members))


def _archive(file, shown: str) -> zipfile.ZipFile:
    if file.read(6) == npy.MAGIC_PREFIX:
        raise DataError(f"{shown}: one bare array; store named arrays with np.savez(path, u=u, y=y)")
    file.seek(0)
    return zipfile.ZipFile(file)


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    return {member.filename.removesuffix(".npy"): member for member in archive.infolist()}


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, shown: str) -> np.ndarray:
    """NumPy asks for the memory that the header claims, so the claim is compared with what is there."""
    with archive.open(member) as file:
        version = npy.read_magic(file)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read_header(file)
        if not dtype.hasobject and math.prod(shape) * dtype.itemsize > member.file_size:
            raise DataError(
                f"{shown}: variable '{name}' claims the shape {shape}, and has {member.file_size} bytes: a damaged NPZ "
                f"file; {_REMEDY}"
            )
    with archive.open(member) as file:
        return npy.read_array(file, allow_pickle=False)
