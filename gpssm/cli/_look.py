"""`gpssm check` without columns: what the files hold, and what to say next."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from gpssm.cli._outcome import Code, Outcome, screen, tell, visible
from gpssm.cli._reading import Reading
from gpssm.readers._look import Contents, look
from gpssm.readers._read import expand


def look_at(files: Sequence[Path], reading: Reading, *, json: bool) -> Outcome:
    """List the columns of every file; ends with 3 if one cannot be read."""
    found = look(list(expand(files)), reading.style, reading.skip_rows or 0)
    out = screen(json=json)
    for contents in found:
        _show(contents, out)
    following = _next(found, files)
    if following is not None:
        tell(out, f"Say which columns were measured (outputs) and which acted (inputs). For example:\n  {following}")
    facts = {"files": [asdict(contents) for contents in found], "next": following}
    return Outcome(facts, Code.bad_data if any(contents.fault for contents in found) else Code.ok)


def _show(contents: Contents, out) -> None:
    if contents.fault is not None:
        tell(out, contents.fault, mark="problem", style="bold red")
        return
    table = Table("column", "unit", "holds", "missing", "smallest", "largest")
    table.title = visible(f"{contents.source}: {contents.rows} rows")
    for seen in contents.columns:
        kind = "time, it seems" if seen.time else seen.kind
        numbers = ("" if number is None else f"{number:.4g}" for number in (seen.low, seen.high))
        table.add_row(visible(seen.name), visible(seen.unit), visible(kind), str(seen.missing), *numbers)
    out.print(table)


def _next(found: list[Contents], files: Sequence[Path]) -> str | None:
    """A command with names that are there; only the user knows which part each plays."""
    usable = next((contents.columns for contents in found if contents.fault is None), ())
    numbers = [seen.name for seen in usable if seen.kind == "numbers" and not seen.time]
    if not numbers:
        return None
    times = [seen.name for seen in usable if seen.time]
    *inputs, output = numbers
    words = ["gpssm", "check", *map(str, files), "--outputs", output]
    words += ["--inputs", *inputs] if inputs else []
    return shlex.join(words + (["--time", times[0]] if times else []))
