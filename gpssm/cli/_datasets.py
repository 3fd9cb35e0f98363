"""`gpssm datasets`: public records that are not ours to ship."""

import os
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.table import Table

from gpssm.cli._catalogue import CATALOGUE, PublicSet, find
from gpssm.cli._options import Json, Out
from gpssm.cli._outcome import Outcome, UsageError, screen, tell, visible
from gpssm.cli._targets import check_target

datasets = App(name="datasets", help="List, fetch and convert public records.", help_format="plaintext")


@datasets.command(name="list")
def list_sets(*, json: Json = False) -> Outcome:
    """List the records: what they are, where they come from, and the checksum by which a copy is recognised.

    The records belong to their publishers and are not part of this package. GPSSM_DATA names a folder with copies.

    For example:

    ```
    gpssm datasets list
    ```
    """
    table = Table("name", "inputs", "outputs", "dt", "copy", title="Public records")
    facts = []
    for entry in CATALOGUE:
        copy = local_copy(entry)
        step = "?" if entry.dt is None else f"{entry.dt:g}"
        channels = ", ".join(entry.inputs), ", ".join(entry.outputs)
        table.add_row(entry.name, *channels, step, visible(copy or "-"))
        facts.append({**vars(entry), "copy": copy})
    out = screen(json=json)
    out.print(table)
    for entry in CATALOGUE:
        tell(out, f"{entry.name}: {entry.about}. From {entry.source}; sha256 {entry.sha256}")
    return Outcome({"datasets": facts})


@datasets.command
def fetch(
    name: str,
    *,
    url: Annotated[str | None, Parameter(help="Where to get it, if you know a better place.")] = None,
    json: Json = False,
) -> Outcome:
    """Fetch a record and check it against the known checksum; a copy in the folder GPSSM_DATA is used if there is one.

    For example:

    ```
    gpssm datasets fetch actuator
    ```
    """
    entry = find(name)
    path = local_copy(entry) or _download(entry, url)
    out = screen(json=json)
    tell(out, f"{entry.name} is in {path}")
    tell(out, f"Next: gpssm datasets convert {entry.name} {path} -o {entry.name}.csv")
    return Outcome({"name": entry.name, "path": str(path), "sha256": entry.sha256})


@datasets.command
def convert(name: str, file: Path, *, output: Out, json: Json = False) -> Outcome:
    """Convert a fetched record into a CSV file with named columns, ready for gpssm fit.

    For example:

    ```
    gpssm datasets convert actuator actuator.mat -o actuator.csv
    ```
    """
    entry = find(name)
    check_target(output, [file])
    from gpssm.cli._convert import convert_set

    rows = convert_set(entry, file, output)
    step = "" if entry.dt is None else f" --dt {entry.dt:g}"
    inputs = f" --inputs {','.join(entry.inputs)}" if entry.inputs else ""
    episode = f" --episode {entry.episode}" if entry.episode else ""
    following = f"gpssm check {output} --outputs {','.join(entry.outputs)}{inputs}{episode}{step}"
    tell(screen(json=json), f"{output}: {rows} rows.\nNext: {following}", mark="Wrote", style="green")
    return Outcome({"output": str(output), "rows": rows, "next": following})


def local_copy(entry: PublicSet) -> Path | None:
    """A copy in the folder GPSSM_DATA, in a folder of its name or directly."""
    folder = os.environ.get("GPSSM_DATA")
    if not folder:
        return None
    places = (Path(folder) / entry.folder / entry.file, Path(folder) / entry.file)
    return next((path for path in places if path.is_file()), None)


def _download(entry: PublicSet, url: str | None) -> Path:
    address = url or entry.url
    if address is None:
        raise UsageError(
            f"{entry.name}: no address to fetch it from is known; get {entry.file} from {entry.source}, and put "
            "it into "
            "a folder named by GPSSM_DATA, or give --url"
        )
    import pooch

    try:
        return Path(pooch.retrieve(address, known_hash=f"sha256:{entry.sha256}", fname=entry.file, progressbar=False))
    except ValueError as error:
        raise UsageError(
            f"{entry.name}: what came from {address} is not the known file ({error}); it was not kept"
        ) from error
    except OSError as error:
        raise UsageError(
            f"{entry.name}: cannot be fetched from {address} ({type(error).__name__}); get {entry.file} from "
            f"{entry.source} by hand and put it into a folder named by GPSSM_DATA"
        ) from error
