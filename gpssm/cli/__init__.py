"""The command line: `gpssm`."""

from gpssm.cli._main import entry, main

__all__ = ["entry", "main"]
