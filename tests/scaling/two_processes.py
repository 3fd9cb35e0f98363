"""One of several processes of a fit: `python -m tests.scaling.two_processes PORT PROCESS FOLDER`."""

import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np

import gpssm

if __name__ == "__main__":
    port, process, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    with gpssm.distributed(coordinator=f"127.0.0.1:{port}", processes=2, process=process) as devices:
        import jax.random as jr

        from gpssm.inference import Explicit
        from tests.scaling.problems import episodes, method, numbers

        def fit() -> np.ndarray:
            made = gpssm.fit(
                episodes(),
                method(Explicit()),
                devices=devices,
                progress=gpssm.Console(),
                # Each has a folder of its own, as on hosts that share no disk: only that of the first may be used.
                checkpoints=gpssm.Checkpoints(folder / f"of {process}"),
                key=jr.key(3),
            )
            return np.concatenate([numbers((made.system.model, made.inference)), made.history.bound])

        first = fit()
        again = fit()  # finds the end of the first in the checkpoints of process 0
        np.savez(folder / f"{process}.npz", first=first, again=again)
