"""Files: models on disk, checkpoints of a fit, and what may go wrong with either."""

from gpssm._core._errors import FileError, ResumeError, StorageError
from gpssm.files._checkpoints import Checkpoints
from gpssm.files._encode import check_savable
from gpssm.files._model_file import describe, load, save
from gpssm.files._registry import register

__all__ = [
    "Checkpoints",
    "FileError",
    "ResumeError",
    "StorageError",
    "check_savable",
    "describe",
    "load",
    "register",
    "save",
]
