"""Files: models on disk, checkpoints of a fit, and what may go wrong with either."""

from gpssm.files._checkpoints import Checkpoints, Run
from gpssm.files._errors import FileError, ResumeError, StorageError
from gpssm.files._model_file import describe, load, save
from gpssm.files._shared_run import AnyRun

__all__ = ["AnyRun", "Checkpoints", "FileError", "ResumeError", "Run", "StorageError", "describe", "load", "save"]
