"""Which part of the training data is held out: several blocks, because a single one misleads."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np

from gpssm.data import DataError, Episode, Episodes


@final
@dataclass(frozen=True)
class Fold:
    """Records to fit, and records to predict."""

    name: str
    train: Episodes
    test: tuple[Episode, ...]


class AbstractFolds(ABC):
    """A way to hold data out."""

    @abstractmethod
    def split(self, episodes: Episodes, *, n_init: int) -> tuple[Fold, ...]:
        """The folds. Of each record to predict, the first `n_init` samples will be read and not scored."""


@final
@dataclass(frozen=True)
class Blocks(AbstractFolds):
    """Cut each record into blocks of consecutive steps and hold out one at a time.

    What comes before and after a held-out block are two episodes of their own: they are never joined across the gap.
    Pieces of no more than `shortest` steps are dropped. Several records share the blocks among them.
    """

    count: int = 4
    shortest: int = 10

    def split(self, episodes: Episodes, *, n_init: int) -> tuple[Fold, ...]:
        """One fold for each block of each record in which anything was measured."""
        return _measured(self.each(episodes, n_init=n_init), n_init)

    def each(self, episodes: Episodes, *, n_init: int) -> list[Fold]:
        """One fold for each block, whatever is in it."""
        folds = []
        for block in _blocks(episodes, self.count, n_init):
            record = episodes[block.record]
            around = [
                record[start:stop]
                for start, stop in ((0, block.start), (block.stop, len(record)))
                if stop - start > self.shortest
            ]
            others = [other for j, other in enumerate(episodes) if j != block.record]
            if not around and not others:
                raise DataError(f"'{record.name}' is too short for {self.count} blocks: nothing is left to fit")
            folds.append(Fold(block.name, Episodes([*others, *around]), (record[block.start : block.stop],)))
        return folds


@final
@dataclass(frozen=True)
class LongRuns(AbstractFolds):
    """The folds of `Blocks`, but every free run begins at the start of its record and is scored in the block only.

    A model that drifts away after hundreds of steps looks well over a short block. Where free runs as long as the
    record are what counts, this sees it. The inputs of the whole record are used; of its outputs, those of the block
    are the only ones that are scored, and those before it are hidden from the run.
    """

    count: int = 4
    shortest: int = 10

    def split(self, episodes: Episodes, *, n_init: int) -> tuple[Fold, ...]:
        """The folds of `Blocks`. The first block is scored from step `n_init` on."""
        folds = []
        whole = Blocks(self.count, self.shortest).each(episodes, n_init=n_init)
        for fold, block in zip(whole, _blocks(episodes, self.count, n_init), strict=True):
            record, start, stop = episodes[block.record], block.start, block.stop
            run = _showing(record[:stop], n_init, start, stop)
            folds.append(Fold(fold.name, fold.train, (run._replace(name=fold.name),)))
        return _measured(folds, n_init)


def _showing(record: Episode, n_init: int, start: int, stop: int) -> Episode:
    """The record with its first outputs, those from `start` to `stop`, and no others."""
    steps = np.arange(len(record))
    shown = record.observed & ((steps < n_init) | ((start <= steps) & (steps < stop)))[:, None]
    return record._replace(y=np.where(shown, record.y, 0.0), observed=shown)


class _Block(NamedTuple):
    name: str
    record: int
    start: int
    stop: int


def _blocks(episodes: Episodes, count: int, n_init: int) -> Iterator[_Block]:
    """The blocks that records are cut into."""
    each = -(-count // len(episodes))
    for i, (record, label) in enumerate(zip(episodes, _labels(episodes), strict=True)):
        edges = np.linspace(0, len(record), each + 1).round().astype(int).tolist()
        for start, stop in pairwise(edges):
            if stop - start <= n_init + 1:
                raise DataError(
                    f"'{record.name}': a block of {stop - start} steps leaves nothing to score after n_init={n_init}; "
                    "use fewer blocks or a smaller n_init"
                )
            yield _Block(f"{label}[{start}:{stop}]", i, start, stop)


def _measured(folds: list[Fold], n_init: int) -> tuple[Fold, ...]:
    """Those with anything to score: a sensor that was off says nothing of any model."""
    kept = tuple(fold for fold in folds if any(record.observed[n_init:].any() for record in fold.test))
    if not kept:
        raise DataError(f"nothing was measured in what could be held out, after n_init={n_init} samples of it")
    return kept


def _labels(episodes: Episodes) -> list[str]:
    """Names that are unique, also where records share one: folds are told apart by them."""
    names = [record.name for record in episodes]
    return [name if names.count(name) == 1 else f"{name} {i + 1}" for i, name in enumerate(names)]


@final
@dataclass(frozen=True)
class Stretches(AbstractFolds):
    """Hold out several stretches at once, so that one fit without all of them is judged on each.

    Where there are five episodes or more, whole ones; else stretches spread evenly over the records. Together they are
    about a fifth. The free run over a stretch begins at the start of the record, or `furthest` steps before it, and the
    outputs in between are hidden: over a short stretch alone, a model that drifts looks well.
    """

    count: int = 4
    share: float = 0.2
    furthest: int = 300

    def split(self, episodes: Episodes, *, n_init: int) -> tuple[Fold, ...]:
        """One fold for each stretch in which anything was measured, all with the same training records."""
        if len(episodes) >= 5:
            return self._whole_episodes(episodes, n_init)
        each = -(-self.count // len(episodes))
        train: list[Episode] = []
        found: list[tuple[str, Episode]] = []
        for record, label in zip(episodes, _labels(episodes), strict=True):
            length = max(2, round(self.share * len(record) / each))
            free = len(record) - each * length
            if free < (each + 1) * max(n_init, 2):
                raise DataError(f"'{record.name}' is too short for {each} stretches with {n_init} samples before each")
            # What is trained on comes first, between and last, in parts of equal length.
            edges = [round(free * (i + 1) / (each + 1)) + i * length for i in range(each)]
            kept = [0, *(edge + length for edge in edges)]
            train += [record[a:b] for a, b in zip(kept, [*edges, len(record)], strict=True)]
            # All runs of a record are of one length, so that one program serves them.
            whole = min(edges[-1], self.furthest) + length
            for a in edges:
                begin = max(a + length - whole, 0)
                run = _showing(record[begin : begin + whole], n_init, a - begin, a - begin + length)
                found.append((f"{label}[{a}:{a + length}]", run))
        common = Episodes(train)
        return _measured([Fold(name, common, (record,)) for name, record in found], n_init)

    def _whole_episodes(self, episodes: Episodes, n_init: int) -> tuple[Fold, ...]:
        items = list(episodes)
        count = min(max(2 if len(items) < 6 else 3, round(self.share * len(items))), 2 * self.count)
        spread = [int((i + 0.5) * len(items) / count) for i in range(count)]
        held = [i for i in spread if len(items[i]) > n_init + 1]
        if not held:
            raise DataError(f"no episode that could be held out is longer than n_init={n_init}")
        common = Episodes([item for i, item in enumerate(items) if i not in held])
        return _measured([Fold(f"episode {i + 1}", common, (items[i],)) for i in held], n_init)


@final
@dataclass(frozen=True)
class EpisodeFolds(AbstractFolds):
    """Hold out whole episodes: every `count`-th, then the next of each, and so on."""

    count: int = 4

    def split(self, episodes: Episodes, *, n_init: int) -> tuple[Fold, ...]:
        """One fold for each share of the episodes."""
        count = min(self.count, len(episodes))
        if count < 2:
            raise DataError("a single episode cannot be held out whole: use Blocks")
        items = list(episodes)
        long = [i for i, item in enumerate(items) if len(item) > n_init + 1]
        folds = []
        for k in range(count):
            test = tuple(items[i] for i in long[k::count])
            if test:
                held = set(long[k::count])
                train = Episodes([item for i, item in enumerate(items) if i not in held])
                folds.append(Fold(f"episodes {k}::{count}", train, test))
        folds = _measured(folds, n_init)
        if len(folds) < 2:
            raise DataError(f"fewer than two episodes are longer than n_init={n_init}: nothing to compare on")
        return folds


@final
@dataclass(frozen=True)
class Against(AbstractFolds):
    """Fit all of the training records, and judge on others."""

    test: Episodes

    def split(self, episodes: Episodes, *, n_init: int) -> tuple[Fold, ...]:
        """A single fold."""
        short = [record.name for record in self.test if len(record) <= n_init]
        if short:
            raise DataError(f"'{short[0]}' has no more than n_init={n_init} samples: nothing is left to score")
        return (Fold("test", episodes, tuple(self.test)),)


def default_folds(episodes: Episodes) -> AbstractFolds:
    """Whole episodes where there are at least four, blocks of the records otherwise."""
    return EpisodeFolds() if len(episodes) >= EpisodeFolds.count else Blocks()
