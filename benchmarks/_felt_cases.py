"""What users do, each as a program of its own: `python -m benchmarks._felt_cases NAME`.

What a program measures inside itself it prints as lines `FELT metric value`; the processor time of the whole is
measured from outside.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np


def tell(metric: str, value: float) -> None:
    """A number that the one who started this reads."""
    print(f"FELT {metric} {value:.6g}", flush=True)


def oscillator(steps: int, inputs: int, outputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A damped oscillator with a spring that softens, driven by the first input; the others matter a little."""
    rng = np.random.default_rng(seed)
    drive = rng.standard_normal((steps // 10 + 1, inputs)).repeat(10, axis=0)[:steps]
    position, velocity, rows = 0.0, 0.0, []
    for u in drive:
        rows.append([position, velocity][:outputs])
        velocity += 0.1 * (2.0 * u[0] + 0.3 * u[1:].sum() - position - 2.0 * np.tanh(2.0 * position) - 0.6 * velocity)
        position += 0.1 * velocity
    return np.array(rows) + 0.03 * rng.standard_normal((steps, outputs)), drive


def write_rig(folder: Path, lengths: tuple[int, ...]) -> list[str]:
    """Records of a rig with three inputs and two outputs as CSV files; their names."""
    names = []
    for i, steps in enumerate(lengths):
        y, u = oscillator(steps, 3, 2, seed=i)
        path = folder / f"rig{i}.csv"
        np.savetxt(path, np.hstack([u, y]), delimiter=",", header="u1,u2,u3,y1,y2", comments="", fmt="%.6g")
        names.append(path.name)
    return names


def toy() -> None:
    """100 samples by the default call."""
    import gpssm

    class Watching(gpssm.Silent):
        """Hears when there is a linear model."""

        linear: float | None = None

        def say(self, message: str) -> None:
            """Everything that is told comes here."""
            if self.linear is None and message.startswith("linear") and "error" in message:
                self.linear = time.process_time()

    y, u = oscillator(100, 1, 1, seed=0)
    watching = Watching()
    gpssm.fit(gpssm.Episodes.from_arrays(y=[y], u=[u], dt=0.1), progress=watching, seed=0)
    if watching.linear is None:
        raise RuntimeError("no word of the linear model was heard")
    tell("to the linear answer", watching.linear)


def kink() -> None:
    """The first ten steps of training on the kink, of which nearly all is compilation."""
    from benchmarks.peers._problem import Ours
    from benchmarks.step import SETTINGS
    from gpssm._core._program_cache import keep_programs

    keep_programs()
    ours = Ours(SETTINGS[0])
    began = time.process_time()
    ours.run(0)
    tell("first ten steps", time.process_time() - began)


def online() -> None:
    """Updates of a filter with two states and thirty inducing points."""
    from benchmarks.service import system_of
    from benchmarks.step import Setting, _rbf

    system = system_of(Setting("online", 2, 60, 2, 1, 1, 30, 10, _rbf, 0.1))
    began = time.process_time()
    observer = system.online()
    tell("online(), s", time.process_time() - began)
    rng, times = np.random.default_rng(0), []
    for y, u in zip(rng.standard_normal((2000, 1)), rng.standard_normal((2000, 1)), strict=True):
        began = time.perf_counter()
        observer.update(y, u)
        times.append(time.perf_counter() - began)
    tell("update, ms", 1e3 * float(np.median(times)))


def simulate() -> None:
    """A thousand trajectories of a thousand steps."""
    import gpssm
    from benchmarks.service import system_of
    from benchmarks.step import Setting, _rbf

    system = system_of(Setting("simulate", 2, 60, 2, 1, 1, 30, 10, _rbf, 0.0))
    rng = np.random.default_rng(0)
    record = gpssm.Episode(y=rng.standard_normal((1010, 1)), u=rng.standard_normal((1010, 1)))
    for metric in ("first call", "second call"):
        began = time.process_time()
        system.simulate(record, n_init=10, num_samples=1000, seed=0)
        tell(metric, time.process_time() - began)


PROGRAMS: dict[str, Callable[[], None]] = {"toy": toy, "kink": kink, "online": online, "simulate": simulate}

if __name__ == "__main__":
    import jax

    with jax.enable_x64(True):
        PROGRAMS[sys.argv[1]]()
