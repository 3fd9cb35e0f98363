"""`gpssm check`."""

from pathlib import Path

from rich.table import Table

from gpssm.cli._columns import Columns
from gpssm.cli._look import look_at
from gpssm.cli._options import Config, Json
from gpssm.cli._outcome import Code, Outcome, screen, tell, visible
from gpssm.cli._reading import Reading
from gpssm.data import Episodes
from gpssm.readers import Examination, examine


def check(
    *files: Path,
    columns: Columns = Columns(),
    reading: Reading = Reading(),
    config: Config = None,
    json: Json = False,
) -> Outcome:
    """Look at records before fitting: what was read, statistics, gaps, suspicious columns, and what to do.

    Each file is one record. Without --outputs the columns of the files are listed. All faults of all files are told at
    once, each with the flag that mends it. Ends with 0 if a model can be fitted to them and with 3 if not.

    For example:

    ```
    gpssm check data/*.csv
    gpssm check data/*.csv --outputs angle --inputs torque --time t
    ```
    """
    if columns.outputs is None and columns.inputs is None:
        return look_at(columns.files(files), reading, json=json)
    episodes = columns.read(files, reading)
    found = examine(episodes)
    _show(episodes, found, json)
    facts = {
        "records": [{"name": e.name, "steps": len(e), "missing": int((~e.observed).sum())} for e in episodes],
        "dt": episodes.dt,
        "channels": [vars(channel) for channel in found.channels],
        "findings": [vars(finding) for finding in found.findings],
        "fit_for_learning": found.fit_for_learning,
    }
    return Outcome(facts, Code.ok if found.fit_for_learning else Code.bad_data)


def _show(episodes: Episodes, found: Examination, json: bool) -> None:
    out = screen(json=json)
    records = Table("record", "rows", "missing outputs", title="Records")
    for episode in episodes:
        records.add_row(visible(episode.name), str(len(episode)), str(int((~episode.observed).sum())))
    out.print(records)
    step = "unknown (say --dt or --time if you know it)" if episodes.dt is None else f"{episodes.dt:g}"
    tell(out, f"Time step: {step}\n")
    channels = Table("column", "part", "missing", "mean", "sd", "smallest", "largest", title="Channels")
    for c in found.channels:
        numbers = (f"{number:.4g}" for number in (c.mean, c.sd, c.low, c.high))
        channels.add_row(visible(c.name), c.role, str(c.missing), *numbers)
    out.print(channels)
    for finding in found.findings:
        mark, style = ("problem", "bold red") if finding.serious else ("note", "yellow")
        tell(out, f"{finding.channel}: {finding.message}; {finding.advice}", mark=mark, style=style)
    if not found.findings:
        tell(out, "", mark="Nothing suspicious was found.", style="green")
    if found.fit_for_learning:
        tell(out, "A model can be fitted: replace check by fit, and add -o model.gpssm")
