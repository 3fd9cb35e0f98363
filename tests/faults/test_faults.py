"""A few faults of each kind; `make faults` prints how many were survived, and with --many tries hundreds."""

import numpy as np
import pytest

from tests.faults import broken_numbers, checkpoint_faults, damage, disk, forged, kills, places, records
from tests.faults.hostile import CHANGES

pytestmark = pytest.mark.system


def _all_survived(provoke, count: int, folder) -> None:
    outcomes = list(provoke(np.random.default_rng(1), count, folder))
    assert len(outcomes) == count, f"{provoke.__name__}: {count} faults were planned and {len(outcomes)} provoked"
    lost = [i for i, survived in enumerate(outcomes) if not survived]
    assert not lost, f"{provoke.__name__}: {len(lost)} of {len(outcomes)} were not survived, the first is {lost[0]}"


@pytest.mark.parametrize(
    ("provoke", "count"),
    [
        (damage.bit_flips, 200),
        (damage.overwritten_blocks, 50),
        (damage.truncations, 50),
        (damage.splices, 20),
        (damage.unknown_versions, 12),
        (damage.absurd_sizes, 30),
        (damage.hostile_headers, len(CHANGES)),
        (damage.forged_values, 100),
        (forged.files_beyond_memory, 12),
        (records.damaged_records, 400),
        (places.strange_things, len(places.THINGS) * len(places.READS | places.WRITES)),
        (places.links_among_checkpoints, 8),
        (places.kept_modes, 12),
        (disk.disk_faults, 40),
        (disk.killed_writes, 8),
        (checkpoint_faults.second_writers, 2),
        (checkpoint_faults.other_processes, 4),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_files(provoke, count, tmp_path):
    _all_survived(provoke, count, tmp_path)


@pytest.mark.parametrize(
    ("provoke", "count"),
    [
        (checkpoint_faults.damaged_checkpoints, 3),
        (checkpoint_faults.full_disk_while_training, 2),
        (checkpoint_faults.interruptions, 2),
        (broken_numbers.nan_in_the_loss, 4),
        (broken_numbers.nan_in_gradients, 4),
        (broken_numbers.nan_in_line_searches, 4),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_training(provoke, count, tmp_path):
    _all_survived(provoke, count, tmp_path)


@pytest.mark.timeout(900)
def test_a_killed_fit_ends_with_the_same_bits(tmp_path):
    _all_survived(kills.killed_fits, 2, tmp_path)


def test_a_provoker_that_provokes_too_little_is_noticed(tmp_path):
    def lazy(rng, count, folder):
        yield True

    with pytest.raises(AssertionError, match="4 faults were planned and 1 provoked"):
        _all_survived(lazy, 4, tmp_path)
