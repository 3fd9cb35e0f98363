"""Every kind of fault, how to provoke it, and how often: with every change, by `make faults`, and with --many."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.faults import (
    broken_numbers,
    broken_stages,
    checkpoint_faults,
    damage,
    disk,
    forged,
    kills,
    peers,
    places,
    records,
    signals,
    soak,
)
from tests.faults.hostile import CHANGES

STRANGE = len(places.THINGS) * len(places.READS | places.WRITES)


class Kind(NamedTuple):
    """One kind of fault."""

    name: str
    provoke: Callable[[np.random.Generator, int, Path], Iterator[bool]]
    few: int
    """How often a change is tested by it."""
    some: int
    many: int


KINDS = (
    Kind("bit flips in a model file", damage.bit_flips, 200, 400, 20_000),
    Kind("overwritten blocks", damage.overwritten_blocks, 50, 100, 2_000),
    Kind("truncated or extended files", damage.truncations, 50, 100, 3_000),
    Kind("files spliced from two", damage.splices, 20, 50, 1_000),
    Kind("unknown format versions", damage.unknown_versions, 12, 12, 100),
    Kind("absurd sizes", damage.absurd_sizes, 30, 30, 300),
    Kind("hostile headers, right digests", damage.hostile_headers, len(CHANGES), len(CHANGES), len(CHANGES)),
    Kind("forged values, right digests", damage.forged_values, 100, 200, 2_000),
    Kind("files beyond all memory", forged.files_beyond_memory, 12, 24, 120),
    Kind("damaged records", records.damaged_records, 400, 800, 10_000),
    Kind("pipes, sockets, devices, folders", places.strange_things, STRANGE, STRANGE, 4 * STRANGE),
    Kind("links among checkpoints", places.links_among_checkpoints, 8, 20, 200),
    Kind("modes of replaced files", places.kept_modes, 12, 30, 300),
    Kind("disk errors while writing", disk.disk_faults, 40, 80, 800),
    Kind("SIGKILL while writing", disk.killed_writes, 8, 16, 400),
    Kind("damaged checkpoints", checkpoint_faults.damaged_checkpoints, 3, 20, 200),
    Kind("disk errors while training", checkpoint_faults.full_disk_while_training, 2, 2, 20),
    Kind("second writer in a folder", checkpoint_faults.second_writers, 2, 5, 50),
    Kind("second process in a folder", checkpoint_faults.other_processes, 4, 10, 100),
    Kind("Ctrl-C during training", checkpoint_faults.interruptions, 2, 3, 50),
    Kind("NaN or infinity in the loss", broken_numbers.nan_in_the_loss, 4, 6, 100),
    Kind("NaN in gradients", broken_numbers.nan_in_gradients, 4, 6, 100),
    Kind("NaN in line searches", broken_numbers.nan_in_line_searches, 4, 6, 100),
    Kind("NaN in the network's stage", broken_stages.nan_in_the_network_stage, 3, 6, 100),
    Kind("NaN in scoring", broken_stages.nan_in_scoring, 3, 6, 60),
    Kind("SIGKILL during training", kills.killed_fits, 2, 4, 40),
    Kind("signals to the command", signals.signals, 2, 6, 40),
    Kind("kills of distributed runs", peers.killed_peers, 1, 2, 10),
    Kind("samples of a control loop", soak.soak, 2_000, 10_000, 200_000),
)
