"""The first page of the results: one table over all experiments, and where each figure of the paper is."""

from collections.abc import Mapping

from experiments.pages._compare import compare
from experiments.pages._paper_map import PAPER
from experiments.pages._printed import printed
from experiments.pages._provenance import minutes
from experiments.pages._rows import Stored, number
from experiments.pages._spec import Page
from experiments.pages._table import markdown

OPENING = """# Results

What was measured, one page for each experiment. Every number on these pages is made from the files in `results/` by
`python -m experiments.pages`, and a test compares them; nothing here is written by hand but the words.

The library starts from S. Eleftheriadis, T. F. W. Nicholson, M. P. Deisenroth and J. Hensman, *Identification of
Gaussian Process State Space Models* (NIPS 2017), called "the paper" here. Where we depart from it is
[said elsewhere](departures.md).

## In one table

*Ahead*, *behind* or *level* is said of ours against the best of the opponents, by their difference from seed to seed
(ours minus theirs, ± its standard error): level, unless zero lies outside of Student's 95 % interval. Two seeds
decide nothing. On real records the seeds are those of our fits; there is one record, and the error says nothing about
others. Published numbers are taken as exact. All measures are errors, lower is better, but for log densities.
*Blind* says whether, by its protocol, nothing was chosen with test scores in view; each page has the details.
"""

RUNNING = """## Run it again

Each experiment is one short script that uses the public interface only, writes its figures and a JSON file with every
number and its settings, and has a `--quick` version, to see that it runs. Quick numbers mean nothing.

```console
$ make reproduce                                   # everything; goes on where it was cut
$ make reproduce REPRODUCE_ARGS="--only cart_pole"
$ .venv/bin/python -m experiments.pages            # only rebuilds these pages
```

All files together took [[hours]] hours of two cores, pauses of a shared machine included; newer ones give the processor
time of each run.

The swing-up experiments run on trials made by `experiments.generate_pilco`, which are stored in `results/pilco`. The
actuator, the real records and the smooth kink need third-party records, which are not part of the repository: set
`GPSSM_DATA` to a folder that holds them. Tests that need them are skipped where it is not set.

Every number carries its horizon, the number of samples that were read, and the seeds. No setting is picked by test
scores; where ideas came after test scores had been seen, the page says so under *How blind*.

Not every file is from one run. Rows whose settings did not change were kept when others were added, with the words of
the protocol brought up to date: cart-pole, all but the two views; lagged actions, seed 0 and most of seed 1; real
records, all but the mixtures; double pendulum, all but the sampled simulator.
"""


def index_page(pages: Mapping[Page, Stored]) -> str:
    """Summary, pages, map of the paper."""
    contents = "\n".join(page.name for page in pages)
    return (
        "\n\n".join(
            [
                OPENING.strip(),
                summary(pages),
                "## Where the paper's figures and tables are",
                "Minutes are those of the whole experiment, all methods and seeds, on two cores of a shared machine.",
                paper_map(pages),
                RUNNING.strip().replace("[[hours]]", f"{_hours(pages):.0f}"),
                f"```{{toctree}}\n:hidden:\n\n{contents}\ndepartures\n```",
            ]
        )
        + "\n"
    )


def _hours(pages: Mapping[Page, Stored]) -> float:
    return sum(stored.content["seconds"] for stored in pages.values()) / 3600


def summary(pages: Mapping[Page, Stored]) -> str:
    """One line for each claim."""
    lines = []
    for page, stored in pages.items():
        for claim in page.claims:
            if claim.summary and (outcome := compare(claim, page, stored)) is not None:
                paper = f"{printed(page.name)[claim.printed[0]][claim.printed[1]]:g}" if claim.printed else ""
                theirs = f"{number(outcome.theirs)} ({outcome.opponent})"
                link = f"[{page.title}]({page.name}.md)"
                blind = claim.blindness or page.blindness
                lines.append([link, claim.measure, paper, theirs, number(outcome.ours), outcome.words(), blind])
    return markdown(["experiment", "measure", "paper", "best opponent", "ours", "verdict", "blind"], lines)


def paper_map(pages: Mapping[Page, Stored]) -> str:
    """Where to find what the paper shows."""
    by_name = {page.name: stored for page, stored in pages.items()}
    lines = []
    for entry in PAPER:
        stored = by_name.get(entry.page)
        command = f"`python -m experiments.{entry.page}`" if stored else ""
        lines.append([entry.where, entry.what, command, minutes(stored) if stored else "", entry.picture])
    return markdown(["in the paper", "what it shows", "command", "time", "here"], lines)
