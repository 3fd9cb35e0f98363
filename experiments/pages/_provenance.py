"""From which state of the code the rows of a file come, by which command, and how long they took."""

from experiments.pages._rows import Stored


def provenance(stored: Stored) -> str:
    """Two sentences for a page."""
    content = stored.content
    states = sorted({(row["commit"], row["code"], row.get("date", "")) for row in stored.rows if "commit" in row})
    named = sum("commit" in row for row in stored.rows)
    told = [f"commit `{commit}` (code `{code}`)" + (f", {date}" if date else "") for commit, code, date in states]
    if named < len(stored.rows):
        told.append("made before rows named the code" if not named else "others made before rows named the code")
    versions = ", ".join(f"{name} {content['versions'][name]}" for name in ("python", "jax", "gpjax"))
    made = f"Made by `{content['command']}` in {minutes(stored)} on {content['machine']['cores']} cores, {versions}."
    rough = " A short run: its numbers are rough." if content.get("quick", content["protocol"].get("quick")) else ""
    return f"Rows: {'; '.join(told)}. {made}{rough}"


def minutes(stored: Stored) -> str:
    """How long a file took, pauses of a shared machine included."""
    spent = stored.content["seconds"] / 60
    return f"{spent:.0f} minutes" if spent < 100 else f"{spent / 60:.0f} hours"
