"""Which commands there are. They are imported when they are used, so that help appears at once."""

from collections.abc import Sequence

from cyclopts import App

from gpssm import __version__
from gpssm.cli._config import sources

_HELP = """Learn a dynamical system from records of what went in and what was measured, and use the model.

A first session, with two CSV files:

```
gpssm check run1.csv run2.csv --outputs angle --inputs torque --dt 0.1
gpssm fit run1.csv run2.csv --outputs angle --inputs torque --dt 0.1 -o m.gpssm
gpssm forecast m.gpssm --data run2.csv --inputs future.csv -o forecast.csv
```

Exit codes: 0 ok, 1 disk trouble, 2 usage, 3 bad data, 4 diverged, 5 damaged or unknown file, 6 interrupted but saved,
7 another process of a distributed fit was lost, 130 interrupted with nothing to save."""

COMMANDS = {
    "check": ("gpssm.cli._check:check", "Look at records before fitting: statistics, gaps, suspicious columns."),
    "fit": ("gpssm.cli._fit:fit", "Learn a model from records and save it."),
    "simulate": ("gpssm.cli._simulate:simulate", "Free run of a model under given inputs."),
    "forecast": ("gpssm.cli._forecast:forecast", "Go on beyond the end of a record."),
    "predict": ("gpssm.cli._predict:predict", "Predict a fixed number of steps ahead, all along a record."),
    "smooth": ("gpssm.cli._smooth:smooth", "Estimate the hidden states of a record."),
    "compare": ("gpssm.cli._compare:compare", "Score models on records they have not seen."),
    "report": ("gpssm.cli._report:report", "Write a page that shows whether a model can be trusted."),
    "info": ("gpssm.cli._info:info", "Say what a model file holds."),
    "demo": ("gpssm.cli._demo:demo", "Identify a pendulum from built-in data and draw the result."),
    "datasets": ("gpssm.cli._datasets:datasets", "List, fetch and convert public records."),
}


def build_app(arguments: Sequence[str]) -> App:
    """The application; settings come from flags, else from the environment, else from the file after --config."""
    app = App(
        name="gpssm",
        help=_HELP,
        version=__version__,
        config=sources(arguments, COMMANDS),
        help_format="markdown",
        # Ctrl-C is answered in `main`, in words.
        suppress_keyboard_interrupt=False,
    )
    # A command's own help is its docstring; for the list of commands, which must appear at once, none is imported.
    listing = not any(word in COMMANDS for word in arguments)
    for name, (target, summary) in COMMANDS.items():
        if listing:
            app.command(target, name=name, help=summary)
        else:
            app.command(target, name=name)
    return app
