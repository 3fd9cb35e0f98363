"""`gpssm info`."""

from typing import Any

from rich.table import Table

from gpssm.cli._options import Json, Model
from gpssm.cli._outcome import Outcome, UsageError, screen, visible


def info(model: Model, *, json: Json = False) -> Outcome:
    """Say what a model file holds: channels, states, kernel, versions, settings, how training went.

    For example:

    ```
    gpssm info model.gpssm
    ```
    """
    if not model.exists():
        raise UsageError(f"{model}: there is no such model file; check the path")
    from gpssm.files import describe

    facts = describe(model)
    table = Table("what", "value", title=visible(model), show_header=False)
    for name, value in facts.items():
        table.add_row(name.replace("_", " "), visible(_words(value)))
    screen(json=json).print(table)
    return Outcome({"model": str(model), **facts})


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {_words(entry)}" for key, entry in value.items()) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(_words(entry) for entry in value) or "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return "-" if value is None else str(value)
