"""Records of the package `nonlinear_benchmarks`, used by what they offer and without importing it."""

from typing import Any, Protocol, runtime_checkable

from gpssm.data import DataError, Episode, Episodes


@runtime_checkable
class Record(Protocol):
    """What `nonlinear_benchmarks.Input_output_data` offers."""

    u: Any
    y: Any


def from_benchmark(records: Any, *, dt: float | int | None = None) -> Episodes:
    """Episodes from one `Input_output_data`, or from a list or tuple of them.

    The sampling time is read off the records unless it is given.
    """
    several = list(records) if isinstance(records, list | tuple) else [records]
    return Episodes(_episode(record, i, dt) for i, record in enumerate(several))


def _episode(record: Any, position: int, dt: float | int | None) -> Episode:
    if not isinstance(record, Record):
        raise DataError(
            f"record {position} is a {type(record).__name__} without u and y; pass what nonlinear_benchmarks returns, "
            "train and test apart"
        )
    found = getattr(record, "sampling_time", None)
    name = getattr(record, "name", None) or f"benchmark {position}"
    return Episode(y=record.y, u=record.u, dt=found if dt is None else dt, name=str(name))
