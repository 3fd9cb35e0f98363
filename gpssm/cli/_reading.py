"""How files are read: flags, and for commands that use a model what the model remembers of its own records."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from gpssm.cli._options import Names
from gpssm.cli._outcome import UsageError
from gpssm.data import Recipe
from gpssm.data._recipe import TIME_UNITS
from gpssm.readers import CsvFormat
from gpssm.readers._select import select


@Parameter(name="*")
@dataclass(frozen=True)
class Reading:
    """What is not plain about the files. Commands that use a model read files as those of its fit; what is given here
    is taken instead."""

    time: Annotated[
        str | None, Parameter(help="Column of time stamps (numbers, or dates like 2024-01-31 12:00:00).")
    ] = None
    dt: Annotated[float | None, Parameter(help="Time between two rows, where there are no time stamps.")] = None
    episode: Annotated[str | None, Parameter(help="Column that tells several records in one file apart.")] = None
    resample: Annotated[float | None, Parameter(help="Bring unevenly sampled records to this time step.")] = None
    time_unit: Annotated[
        str | None, Parameter(help=f"What time stamps count: {', '.join(TIME_UNITS)}. They become seconds.")
    ] = None
    hold_inputs: Annotated[bool | None, Parameter(help="Take a missing input to be the one before it.")] = None
    drop_repeats: Annotated[
        bool | None, Parameter(help="Leave out rows with the time stamp of the row before them.")
    ] = None
    skip_rows: Annotated[
        int | None, Parameter(help="Rows of words below the header, such as units, which are kept with the model.")
    ] = None
    offset: Annotated[
        Names, Parameter(negative=(), help="Number to subtract from a column, as in temperature=273.15; repeat.")
    ] = None
    delimiter: Annotated[str | None, Parameter(help="Character between columns, if it cannot be found out.")] = None
    decimal: Annotated[str | None, Parameter(help="Decimal sign, '.' (the default) or ','.")] = None

    def given(self, recipe: Recipe | None = None) -> dict[str, Any]:
        """Arguments of `gpssm.read`: those flags that were given."""
        if self.time and self.dt is not None:
            raise UsageError(
                "--time and --dt are both given; name the column of time stamps or the time step, not both"
            )
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        words = {name: said.pop(name) for name in ("delimiter", "decimal")}
        offsets = said.pop("offset")
        found = {name: value for name, value in said.items() if value is not None}
        if offsets is not None:
            found["offsets"] = _numbers(offsets)
        if any(value is not None for value in words.values()):
            known = {} if recipe is None else {"delimiter": recipe.delimiter, "decimal": recipe.decimal}
            found["style"] = CsvFormat(**{n: v for n, v in (known | _told(words)).items() if v is not None})
        return found

    @property
    def style(self) -> CsvFormat:
        """For the readers of text."""
        return CsvFormat(self.delimiter, self.decimal or ".")

    def instead_of(self, recipe: Recipe) -> Recipe:
        """The recipe with what was given."""
        return select(recipe=recipe, **self.given(recipe))


def differences(fitted: Recipe, used: Recipe) -> list[str]:
    """What is read otherwise than for the fit, in words."""
    before, after = fitted.facts(), used.facts()
    names = [name for name in dict.fromkeys((*before, *after)) if name not in ("units", "clock")]
    return [
        f"{name.replace('_', ' ')} {_word(after.get(name))} (the model was fitted with {_word(before.get(name))})"
        for name in names
        if before.get(name) != after.get(name)
    ]


def _word(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={number:g}" for name, number in value.items())
    return "none" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def _told(words: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in words.items() if value is not None}


def _numbers(words: Sequence[str]) -> dict[str, float]:
    offsets = {}
    for word in (part for entry in words for part in entry.split(",")):
        name, equals, number = word.rpartition("=")
        try:
            offsets[name.strip()] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise UsageError(f"--offset: {word!r} is not a column and a number; write it as in temperature=273.15")
    return offsets


def apart(names: Sequence[str] | None, files: Sequence[Path]) -> tuple[list[str] | None, list[Path]]:
    """Names of columns, and files that stand behind them, as in --outputs y1 y2 run1.csv."""
    if names is None:
        return None, list(files)
    found = [Path(name) for name in names if _is_record(name)]
    return [name for name in names if not _is_record(name)], [*files, *found]


def _is_record(name: str) -> bool:
    from gpssm.readers._read import KNOWN

    return Path(name).suffix.lower() in KNOWN and "," not in name
