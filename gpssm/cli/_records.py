"""Records for commands that use a model: read as those were that it was fitted to, unless flags say otherwise."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpssm.cli._outcome import UsageError, side, tell
from gpssm.cli._reading import Reading, differences
from gpssm.data import DataError, Episode, Episodes, Recipe
from gpssm.data._episodes import part_of
from gpssm.data._recipe import common_recipe, split_unit
from gpssm.predict import AbstractPredictor
from gpssm.readers import read, read_inputs
from gpssm.readers._read import column_names
from gpssm.readers._select import style_of

DT_TOLERANCE = 1e-3
"""Time steps that are read off rounded time stamps differ by this much."""


@dataclass(frozen=True)
class Records:
    """How the files of one command are read."""

    recipe: Recipe
    dt: float | None
    """The time step of the model."""
    remarks: tuple[str, ...]
    """What is read otherwise than for the fit."""

    def read(self, files: Sequence[Path]) -> Episodes:
        """Records with the columns and the time step that the model was fitted to."""
        if not files:
            raise UsageError("--data is missing; name the file with the record")
        episodes = read(files, recipe=self.recipe)
        if self.dt is None or episodes.dt is None:
            return episodes
        if abs(self.dt - episodes.dt) > DT_TOLERANCE * self.dt:
            raise DataError(
                f"{episodes[0].name}: its time step is {episodes.dt:g}, but the model was fitted to {self.dt:g}; bring "
                f"the record to that step with --resample {self.dt:g}"
                + ("" if self.recipe.time else " and --time COLUMN, if it has time stamps")
            )
        return part_of(record._replace(dt=self.dt) for record in episodes)

    def read_one(self, file: Path) -> Episode:
        """The only record of a file."""
        episodes = self.read([file])
        if len(episodes) > 1:
            raise DataError(f"{file}: it holds {len(episodes)} records, and one is needed; put that into a file")
        return episodes[0]

    def future(self, path: Path) -> tuple[np.ndarray, str]:
        """Inputs to come, and a remark where their time stamps are missing."""
        values = read_inputs(path, recipe=self.recipe)
        if self.recipe.time is None or self.holds(path, (self.recipe.time,)):
            return values, ""
        return values, f" {path} has no column '{self.recipe.time}': its rows are taken as steps."

    def holds(self, path: Path, names: Sequence[str]) -> bool:
        """Whether a file has all these columns."""
        there = column_names(path, style_of(self.recipe), self.recipe.skip_rows)
        bare = {split_unit(name)[0] for name in there} | set(there)
        return all(name in bare for name in names)


def records_of(systems: Sequence[tuple[str, AbstractPredictor]], reading: Reading, *, json: bool) -> Records:
    """How the records of one model, or of several that are compared, are read."""
    first = systems[0][1]
    used = common_recipe([(name, system.recipe and reading.instead_of(system.recipe)) for name, system in systems])
    if used is None:
        plain = Recipe(first.output_names, first.input_names)
        return Records(reading.instead_of(plain), first.dt, ())
    whose, recipe = used
    fitted = dict(systems)[whose].recipe
    remarks = () if fitted is None else tuple(differences(fitted, recipe))
    if remarks:
        tell(side(json=json), f"As asked, files are read with {'; '.join(remarks)}.", mark="Note:", style="yellow")
    return Records(recipe, first.dt, remarks)
