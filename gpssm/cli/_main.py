"""The entry point: parse, run one command, turn every complaint into a sentence and an exit code."""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from cyclopts import CycloptsError

from gpssm._core._errors import FileError, ResumeError
from gpssm.cli._app import build_app
from gpssm.cli._outcome import Code, Outcome, UsageError, side, tell, to_json
from gpssm.cli._remarks import Remarks, remarks
from gpssm.cli._stop import NOTHING, NOTHING_CODE, hear_no_more, leave, stoppable

DEBUG = "GPSSM_DEBUG"
"""The environment variable that lets unforeseen errors through, with all details."""


def entry() -> NoReturn:
    """What the installed command runs."""
    _prepare_environment()
    with stoppable(sys.argv[1:]) as interruption:
        try:
            code = main()
        except BrokenPipeError:
            code = int(Code.failed)
        except KeyboardInterrupt:
            # Asked once more while it was saying that it ends.
            code = NOTHING_CODE
    hear_no_more()
    try:
        sys.stdout.flush()
    except OSError:
        # Whoever read the output has had enough, as `head` does. Python would complain once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or int(Code.failed)
    if (interruption.requested or "jax" in sys.modules) and "--distributed" not in sys.argv:
        # Somebody waits, everything is written, and taking JAX apart takes seconds on a busy machine.
        leave(code)
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Nothing is raised for what a user can cause."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    machine = "--json" in given
    with remarks(json=machine) as heard:
        return _run(given, machine, heard)


def _run(given: list[str], machine: bool, heard: Remarks) -> int:
    try:
        app = build_app(given)
        outcome = app(given, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return _complain(str(error).strip(), Code.usage, machine, hint=_help_hint(given))
    except UsageError as error:
        return _complain(str(error), Code.usage, machine, hint=_help_hint(given))
    except KeyboardInterrupt:
        return _complain(NOTHING, NOTHING_CODE, machine)
    except BrokenPipeError:
        raise
    except Exception as error:
        code = _code_of(error)
        if code is None and os.environ.get(DEBUG):
            raise
        if code is None:
            message = f"this should not have happened: {type(error).__name__}: {error}; {DEBUG}=1 shows where"
            return _complain(message, Code.failed, machine)
        return _complain(str(error), code, machine)
    if not isinstance(outcome, Outcome):
        return Code.ok  # --help and --version answer for themselves
    if machine:
        warned = {"warnings": heard.messages} if heard.messages else {}
        print(to_json({"exit_code": int(outcome.code), **outcome.facts, **warned}))
    return int(outcome.code)


def _code_of(error: Exception) -> int | None:
    """The exit code of a complaint; None for what nobody foresaw.

    Modules are looked up, not imported: an error can only come from one that is there, and help should appear at once.
    """
    data, results = sys.modules.get("gpssm.data"), sys.modules.get("gpssm._core._result")
    if data is not None and isinstance(error, data.DataError):
        return Code.bad_data
    if results is not None and isinstance(error, results.FitError):
        return Code.diverged
    if isinstance(error, FileError):
        return Code.bad_file
    if isinstance(error, ResumeError):
        return Code.usage
    return Code.failed if isinstance(error, OSError) else None


def _complain(message: str, code: int, machine: bool, hint: str = "") -> int:
    if machine:
        print(to_json({"exit_code": int(code), "error": message}))
    else:
        console = side(json=False)
        tell(console, message, mark="gpssm:", style="bold red")
        if hint:
            tell(console, hint)
    return int(code)


def _help_hint(given: list[str]) -> str:
    command = next((word for word in given if not word.startswith("-")), "")
    return f"gpssm {command} --help shows what can be said.".replace("  ", " ")


def _prepare_environment() -> None:
    """Before JAX is imported: one BLAS thread, because XLA brings its own."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("MPLBACKEND", "Agg")
