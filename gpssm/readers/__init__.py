"""From files, data frames and other people's objects to episodes. Complaints name file, column, row and remedy."""

from gpssm.readers._any import read
from gpssm.readers._benchmark import from_benchmark
from gpssm.readers._csv import CsvFormat
from gpssm.readers._examine import Examination, examine
from gpssm.readers._finding import Finding
from gpssm.readers._frames import from_dataframe
from gpssm.readers._pairs import from_pairs
from gpssm.readers._read import read_csv, read_files, read_inputs, read_mat, read_npz, read_parquet
from gpssm.readers._xarray import from_xarray

__all__ = [
    "CsvFormat",
    "Examination",
    "Finding",
    "examine",
    "from_benchmark",
    "from_dataframe",
    "from_pairs",
    "from_xarray",
    "read",
    "read_csv",
    "read_files",
    "read_inputs",
    "read_mat",
    "read_npz",
    "read_parquet",
]
