"""What is suspicious about the data is told by the library as well, not only by the command line."""

import logging
from dataclasses import dataclass, field

import numpy as np
import pytest

import gpssm
from gpssm.fitting import Status

T = np.arange(60)
Y = np.sin(0.3 * T) + 0.1 * np.cos(1.7 * T)


@dataclass
class Listener:
    """Keeps what is said."""

    said: list[str] = field(default_factory=list)

    def update(self, status: Status) -> None:
        """Nothing."""

    def say(self, message: str) -> None:
        """Keep it."""
        self.said.append(message)


def told(columns: dict[str, np.ndarray], caplog, **arrays) -> list[str]:
    """What a fit to these outputs says, in one way and the others alike."""
    y = np.stack(list(columns.values()), axis=1)
    episodes = gpssm.Episodes.from_arrays(y=y, output_names=list(columns), **arrays)
    listener = Listener()
    with caplog.at_level(logging.WARNING, "gpssm"):
        made = gpssm.fit(episodes, gpssm.Constant(), progress=listener)
    events = [event.removeprefix("data: ") for event in made.history.events]
    assert events == listener.said == [record.getMessage() for record in caplog.records]
    assert made.system.history is not None and made.system.history.events == made.history.events
    return events


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"y": Y, "c": np.full(60, 3.5)}, "column 'c' (output) is 3.5 in every row of every record; check the sensor"),
        ({"y": Y, "copy": Y}, "column 'copy' (output) is the same in every row as 'y' (output); leave one"),
        ({"y": np.where(T == 7, 1e99, Y)}, "column 'y' (output) has 1 values far from all others, such as 1e+99; if"),
        ({"y": Y, "s": np.where(T == 7, Y, np.nan)}, "column 's' (output) was measured 1 times in all; leave it out"),
    ],
)
def test_suspicious_outputs_are_told(columns, said, caplog):
    assert any(remark.startswith(said) for remark in told(columns, caplog))


def test_nothing_is_said_about_sound_data(caplog):
    assert told({"y": Y, "z": np.cos(0.2 * T)}, caplog, u=np.sin(T), input_names=["u"]) == []


def test_constant_inputs_are_told(caplog):
    (remark,) = told({"y": Y}, caplog, u=np.ones(60), input_names=["u"])
    assert remark.startswith("column 'u' (input) is 1 in every row")


def test_zeros_of_either_sign_and_gaps_are_the_same_in_copies(caplog):
    gap = np.where(T % 9 == 0, np.nan, np.round(Y))
    (remark,) = told({"y": gap, "z": np.where(gap == 0.0, -gap, gap)}, caplog)
    assert "'z' (output) is the same in every row as 'y'" in remark
