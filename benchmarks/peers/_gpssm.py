"""gpssm as a competitor: `python -m benchmarks.peers._gpssm SETTING [--single-precision]`."""

import sys

import jax

from benchmarks.peers._problem import Ours
from benchmarks.peers._worker import serve
from benchmarks.step import SETTINGS


def main() -> None:
    """Serve one setting."""
    setting = next(setting for setting in SETTINGS if setting.name == sys.argv[1])
    jax.config.update("jax_enable_x64", True)
    single_precision = "--single-precision" in sys.argv[2:]
    serve(lambda: Ours(setting, single_precision=single_precision).run, {"jax": jax.__version__})


if __name__ == "__main__":
    main()
