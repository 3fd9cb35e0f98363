"""Run the Python examples of documentation pages: `python docs/run_examples.py docs/how-to.md README.md`.

The blocks of a page run one after another in a fresh namespace and an empty folder, as a reader would paste them. A
block that needs files or records of the reader's own is marked by a comment `<!-- not run: reason -->` on the line
before it.
"""

import os
import re
import sys
import tempfile
import time
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SKIP = re.compile(r"<!-- not run: (.+?) -->\s*$")


def examples(page: Path) -> list[tuple[int, str, str | None]]:
    """Line, code and reason not to run it, for each block."""
    text = page.read_text()
    found = []
    for match in BLOCK.finditer(text):
        skip = SKIP.search(text[: match.start()])
        found.append((text.count("\n", 0, match.start()) + 2, match.group(1), skip.group(1) if skip else None))
    return found


def run(page: Path) -> None:
    """Run all blocks; the first that fails ends the run with its traceback."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    here = Path.cwd()
    blocks = examples(page)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for line, code, reason in blocks:
                if reason is not None:
                    print(f"{page}:{line}: not run: {reason}")
                    continue
                began = time.monotonic()
                # Blank lines put the block where it stands on the page, so that tracebacks name its lines.
                exec(compile("\n" * (line - 1) + code, str(page), "exec"), namespace)
                print(f"{page}:{line}: ran in {time.monotonic() - began:.0f} s", flush=True)
        finally:
            os.chdir(here)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        run(Path(argument).resolve())
