"""A few faults of each kind; `make faults` prints how many were survived, and with --many tries thousands."""

import numpy as np
import pytest

from tests.faults.kinds import KINDS, Kind

pytestmark = pytest.mark.system


def _all_survived(provoke, count: int, folder) -> None:
    outcomes = list(provoke(np.random.default_rng(1), count, folder))
    assert len(outcomes) == count, f"{provoke.__name__}: {count} faults were planned and {len(outcomes)} provoked"
    lost = [i for i, survived in enumerate(outcomes) if not survived]
    assert not lost, f"{provoke.__name__}: {len(lost)} of {len(outcomes)} were not survived, the first is {lost[0]}"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.replace(" ", "-"))
def test_survived(kind: Kind, tmp_path):
    _all_survived(kind.provoke, kind.few, tmp_path)


def test_the_long_form_provokes_what_was_promised():
    promised = {"bit flips": 20_000, "truncated": 3_000, "forged": 2_000, "damaged records": 10_000, "signals": 40}
    promised |= {"distributed": 10, "control loop": 200_000}
    for words, count in promised.items():
        assert [kind.many for kind in KINDS if words in kind.name] == [count]
    assert all(kind.few <= kind.some <= kind.many for kind in KINDS)


def test_a_provoker_that_provokes_too_little_is_noticed(tmp_path):
    def lazy(rng, count, folder):
        yield True

    with pytest.raises(AssertionError, match="4 faults were planned and 1 provoked"):
        _all_survived(lazy, 4, tmp_path)
