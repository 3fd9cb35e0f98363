"""A look at records before a model is fitted: what is unusable, what is suspicious, and what to do about it."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from gpssm.data import Episodes
from gpssm.readers._faults import Faults
from gpssm.readers._finding import Finding, few, scales

FEW_STEPS = 20
CLIPPED_SHARE = 0.02


@dataclass(frozen=True)
class Channel:
    """Statistics of one channel over all records."""

    name: str
    role: str
    count: int
    missing: int
    mean: float
    sd: float
    low: float
    high: float


@dataclass(frozen=True)
class Examination:
    """What was found."""

    channels: tuple[Channel, ...]
    findings: tuple[Finding, ...]

    @property
    def fit_for_learning(self) -> bool:
        """Whether nothing serious was found."""
        return not any(finding.serious for finding in self.findings)

    def require_fit_for_learning(self, source: str = "the records") -> None:
        """Raise all serious findings as one error."""
        faults = Faults()
        for finding in self.findings:
            if finding.serious:
                faults.add(f"{source}: {finding.channel}: {finding.message}; {finding.advice}")
        faults.complain()


def examine(episodes: Episodes) -> Examination:
    """Statistics of every channel and all findings, serious ones first."""
    data = _columns(episodes)
    channels = tuple(_channel(name, role, values) for name, role, values in data)
    findings = [
        *few(episodes),
        *_constant(data),
        *_duplicated(data),
        *scales(episodes),
        *_gaps(episodes),
        *_clipped(data),
        *_outliers(data),
        *_short(episodes),
    ]
    return Examination(channels, tuple(sorted(findings, key=lambda finding: not finding.serious)))


def suspicious(episodes: Episodes) -> list[str]:
    """What nobody would want to learn from without knowing it, in sentences: channels that are constant or copies of
    each other, records in what seems another unit, values far from all others, and outputs that were hardly measured.
    """
    data = _columns(episodes)
    findings = [
        *few(episodes),
        *_constant(data),
        *_duplicated(data),
        *scales(episodes),
        *_outliers(data),
        *_scarce(data),
    ]
    return [f"{finding.channel} {finding.message}; {finding.advice}" for finding in findings]


Columns = list[tuple[str, str, Float64[np.ndarray, " N"]]]


def _columns(episodes: Episodes) -> Columns:
    y = np.concatenate([episode.y_with_nan for episode in episodes])
    u = np.concatenate([episode.u for episode in episodes])
    columns = [(name, "output", y[:, i]) for i, name in enumerate(episodes.output_names)]
    return columns + [(name, "input", u[:, i]) for i, name in enumerate(episodes.input_names)]


def _channel(name: str, role: str, values: Float64[np.ndarray, " N"]) -> Channel:
    known = values[~np.isnan(values)]
    numbers = (known.mean(), known.std(), known.min(), known.max()) if len(known) else (np.nan,) * 4
    return Channel(name, role, len(values), len(values) - len(known), *(float(number) for number in numbers))


def _constant(data: Columns) -> Iterator[Finding]:
    for name, role, values in data:
        known = values[~np.isnan(values)]
        if len(known) and np.ptp(known) <= 1e-12 * max(abs(float(known[0])), 1e-300):
            advice = "leave it out" if role == "input" else "check the sensor, or leave it out"
            yield Finding(
                f"column '{name}' ({role})", f"is {known[0]:g} in every row of every record", advice, serious=True
            )


def _duplicated(data: Columns) -> Iterator[Finding]:
    seen: dict[bytes, tuple[str, str]] = {}
    for name, role, values in data:
        # Zero has two signs and NaN many forms; a digest for each column, because there may be thousands.
        plain = np.where(np.isnan(values), np.nan, values + 0.0)
        other = seen.setdefault(hashlib.sha256(plain.tobytes()).digest(), (name, role))
        if other != (name, role):
            yield Finding(
                f"column '{name}' ({role})",
                f"is the same in every row as '{other[0]}' ({other[1]})",
                "leave one of the two out",
                serious=True,
            )


def _gaps(episodes: Episodes) -> Iterator[Finding]:
    for column, name in enumerate(episodes.output_names):
        longest, where, missing = 0, "", 0
        for episode in episodes:
            missing += int((~episode.observed[:, column]).sum())
            length, start = _longest_run(~episode.observed[:, column])
            if length > longest:
                longest, where = length, f"from row {start + 1} of {episode.name}"
        total = episodes.num_steps
        if missing:
            share = 100.0 * missing / total
            advice = "this is fine for the model" if share < 30.0 else "check the sensor: much is left to guess"
            yield Finding(
                f"column '{name}' (output)",
                f"{missing} of {total} samples are missing ({share:.1f} %), at most {longest} in a row, {where}",
                advice,
            )


def _longest_run(flags: np.ndarray) -> tuple[int, int]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    starts, ends = edges[::2], edges[1::2]
    if len(starts) == 0:
        return 0, 0
    best = int(np.argmax(ends - starts))
    return int(ends[best] - starts[best]), int(starts[best])


def _clipped(data: Columns) -> Iterator[Finding]:
    """A sensor at its stop repeats its largest or smallest value; an input that switches between levels does, too."""
    for name, role, values in data:
        known = values[~np.isnan(values)]
        if role == "input" or len(np.unique(known)) < 10:
            continue
        for end, limit in (("largest", known.max()), ("smallest", known.min())):
            share = float(np.mean(known == limit))
            run, _ = _longest_run(known == limit)
            if share >= CLIPPED_SHARE and run >= 3:
                yield Finding(
                    f"column '{name}' (output)",
                    (
                        f"{100 * share:.1f} % of the samples are exactly its {end} value, {limit:g}: the signal looks "
                        "clipped"
                    ),
                    "leave such cells empty, so that they count as missing",
                )


def _outliers(data: Columns) -> Iterator[Finding]:
    for name, role, values in data:
        known = values[~np.isnan(values)]
        if len(known) < 10:
            continue
        low, middle, high = np.quantile(known, [0.25, 0.5, 0.75])
        far = np.abs(known - middle) > 50.0 * max(high - low, 1e-300)
        if high > low and far.any():
            yield Finding(
                f"column '{name}' ({role})",
                f"has {int(far.sum())} values far from all others, such as {known[far][0]:g}",
                "if such a number stands for a missing value, leave the cell empty",
            )


def _scarce(data: Columns) -> Iterator[Finding]:
    for name, role, values in data:
        known = int((~np.isnan(values)).sum())
        if known < min(2, len(values)):
            yield Finding(f"column '{name}' ({role})", f"was measured {known} times in all", "leave it out")


def _short(episodes: Episodes) -> Iterator[Finding]:
    for episode in episodes:
        if len(episode) < FEW_STEPS:
            yield Finding(episode.name, f"only {len(episode)} rows", f"records of {FEW_STEPS} rows and more teach more")
