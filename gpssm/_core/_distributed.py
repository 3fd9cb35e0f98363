"""One fit over several processes, on one host or many: how they meet, what they tell each other, and how they part."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import jax
import numpy as np
from jax.experimental import multihost_utils

from gpssm._core._devices import Devices

EXIT_PEER_LOST = 7
"""Exit code of a process that has lost another."""

_SIGNS = ("Gloo", "UNAVAILABLE", "DEADLINE_EXCEEDED", "coordination service", "NCCL")


class PeerLostError(RuntimeError):
    """Another process of the fit has died, or cannot be reached."""


@contextmanager
def distributed(
    *, coordinator: str, processes: int, process: int, patience: int = 10, start_within: int = 300
) -> Iterator[Devices]:
    """Meet the other processes of a fit; gives the devices of all of them.

    Every process runs the same program on the same data: `coordinator` is the address and a free port of process 0, as
    in "10.0.0.1:4321". Call it before anything is computed, and before GPJax is imported, which computes something.
    Process 0 alone shows progress and writes checkpoints; `Devices.is_first` tells whether this is it.

    A process that dies is noticed at once, one that hangs after `patience` seconds. The others cannot go on and end
    with exit code 7 (or by SIGABRT, where JAX is quicker); process 0 leaves a checkpoint, if it has any. They end on
    the spot, because an orderly shutdown would wait for the dead.
    """
    if processes < 1 or not 0 <= process < processes:
        raise ValueError(f"process={process} of processes={processes}: processes are numbered from 0")
    if ":" not in coordinator:
        raise ValueError(f"coordinator={coordinator!r}: give address and port of process 0, as in '10.0.0.1:4321'")
    try:
        jax.distributed.initialize(
            coordinator_address=coordinator,
            num_processes=processes,
            process_id=process,
            cluster_detection_method="deactivate",
            initialization_timeout=start_within,
            heartbeat_timeout_seconds=patience,
            # Process 0 may have much to do when the others have finished.
            shutdown_timeout_seconds=24 * 3600,
        )
    except RuntimeError as error:
        if "must be called before" not in str(error):
            raise
        raise RuntimeError(
            "processes have to meet before JAX computes anything, and importing GPJax computes something: call "
            "gpssm.distributed first, and import GPJax or use other names of gpssm after it"
        ) from error
    try:
        with _standard_output_aside():
            broadcast_from_first(b"")
        yield Devices.all()
    except PeerLostError as error:
        leave(str(error))
    jax.distributed.shutdown()


@contextmanager
def _standard_output_aside() -> Iterator[None]:
    """The first exchange connects the processes, which has to happen within half a minute and is announced by the
    network library on standard output: results are printed there, so remarks go to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def leave(message: str) -> NoReturn:
    """End this process without waiting for anybody."""
    print(f"gpssm: {message}", file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(EXIT_PEER_LOST)


@contextmanager
def peer_errors() -> Iterator[None]:
    """Computations that need other processes: tell their loss from other errors."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        # A collective that fails raises now one, now the other, with a message from its depths.
        if jax.process_count() == 1 or not any(sign in str(error) for sign in _SIGNS):
            raise
        first = str(error).splitlines()[0]
        raise PeerLostError(
            f"another process of this fit was lost, and process {jax.process_index()} cannot go on without it. Start "
            f"all processes again to go on from the last checkpoint. ({first})"
        ) from error


def require_same(digest: str) -> None:
    """Refuse to go on where this process was given something else than the first: sums would mean nothing."""
    if broadcast_from_first(digest.encode()) != digest.encode():
        raise ValueError(
            f"process {jax.process_index()} was given another start, other data, settings or key than process 0: all "
            "processes of a fit must be given the same"
        )


def broadcast_from_first(message: bytes) -> bytes:
    """What process 0 says, in all processes. What the others give does not matter."""
    if jax.process_count() == 1:
        return message
    with peer_errors():
        size = int(multihost_utils.broadcast_one_to_all(np.asarray(len(message), np.int32)))
        mine = np.frombuffer(message, np.uint8) if jax.process_index() == 0 else np.zeros(size, np.uint8)
        return np.asarray(multihost_utils.broadcast_one_to_all(mine), np.uint8).tobytes()
