"""`--distributed`: one fit over several processes, each started by the same command with its own number."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NoReturn

from cyclopts import Parameter

from gpssm.cli._outcome import Code, UsageError

if TYPE_CHECKING:
    from gpssm._core._devices import Devices

LIFELINE = "GPSSM_LIFELINE"
"""Set for the process that computes: a pipe that closes when the process that watches it dies."""


@Parameter(name="*")
@dataclass(frozen=True)
class Distribution:
    """How this process finds the others."""

    distributed: Annotated[
        bool,
        Parameter(negative=(), help="Share the records with other processes, each started by the same command."),
    ] = False
    coordinator: Annotated[
        str | None, Parameter(help="Address and a free port of process 0, as in 10.0.0.1:4321; the same for all.")
    ] = None
    processes: Annotated[int | None, Parameter(help="How many processes there are.")] = None
    process: Annotated[int | None, Parameter(help="Which of them this is, from 0. Process 0 writes and speaks.")] = None
    patience: Annotated[int, Parameter(help="Seconds after which a process that is not heard of is given up.")] = 10

    @property
    def leads(self) -> bool:
        """Whether this process speaks and writes: process 0, or the only one."""
        return not self.distributed or self.process == 0

    def check(self) -> None:
        """Refuse what cannot work."""
        given = {"--coordinator": self.coordinator, "--processes": self.processes, "--process": self.process}
        if not self.distributed:
            idle = [flag for flag, value in given.items() if value is not None]
            if idle:
                raise UsageError(f"{idle[0]} says how processes find each other: it goes with --distributed")
            return
        for flag, value in given.items():
            if value is None:
                variable = f"GPSSM_FIT_{flag.lstrip('-').upper()}"
                raise UsageError(f"--distributed needs {flag} (or the variable {variable}); see gpssm fit --help")
        if self.coordinator is not None and not self.coordinator.rpartition(":")[2].isdigit():
            raise UsageError(f"--coordinator is {self.coordinator!r}; write address and port, as in 10.0.0.1:4321")
        if not 0 <= (self.process or 0) < (self.processes or 0):
            raise UsageError(f"--process {self.process} of --processes {self.processes}: they are numbered from 0")
        if self.patience < 1:
            raise UsageError(f"--patience is {self.patience}; it must be positive")

    @contextmanager
    def meet(self) -> Iterator["Devices | None"]:
        """The devices of all processes; None where there is but one process."""
        if not self.distributed:
            yield None
            return
        assert self.coordinator is not None and self.processes is not None and self.process is not None
        from gpssm._core._distributed import distributed

        with distributed(
            coordinator=self.coordinator, processes=self.processes, process=self.process, patience=self.patience
        ) as devices:
            yield devices


def watch_over(arguments: Sequence[str]) -> NoReturn:
    """Run the command in a process of its own and end as it ends.

    When JAX finds that another process is gone it may abort this one at any moment. Somebody has to be left to say in
    plain words what has happened, and to give an exit code.
    """
    reading, writing = os.pipe()
    os.set_inheritable(reading, True)
    worker = subprocess.Popen(
        [sys.executable, "-m", "gpssm", *arguments],
        # Else JAX would catch SIGTERM, and go on.
        env={**os.environ, LIFELINE: str(reading), "JAX_ENABLE_PREEMPTION_SERVICE": "false"},
        pass_fds=(reading,),
    )
    os.close(reading)
    # Ctrl-C reaches the worker as well, which saves what there is.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _: worker.send_signal(number))
    code = worker.wait()
    os.close(writing)
    if code == -signal.SIGTERM:
        sys.exit(128 + signal.SIGTERM)
    if code < 0:
        print(
            f"gpssm: the fit was broken off ({signal.Signals(-code).name}): most likely another process of it has died "
            "or cannot be reached; its own messages say more. Start all processes again with --resume to go on from "
            "the last checkpoint.",
            file=sys.stderr,
        )
        code = int(Code.lost)
    sys.exit(code)


def hold_lifeline() -> bool:
    """Whether this is the process that computes. If so, it ends when the one that watches over it dies."""
    descriptor = os.environ.pop(LIFELINE, "")
    if not descriptor:
        return False

    def wait() -> None:
        os.read(int(descriptor), 1)
        os._exit(int(Code.failed))

    threading.Thread(target=wait, daemon=True).start()
    return True
