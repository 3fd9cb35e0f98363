"""What a page is made of."""

from dataclasses import dataclass, field

from experiments.pages._rows import Column


@dataclass(frozen=True)
class Shown:
    """A column of the short table. What it does not say of case and method, the line says."""

    title: str
    column: str
    case: str = ""
    method: str = ""
    printed: str = ""
    """The column of the printed table that belongs here."""


@dataclass(frozen=True)
class Line:
    """A line of the short table."""

    label: str
    role: str
    """Ours, opponent, floor, printed, published; nothing, where columns are methods."""
    method: str = ""
    case: str = ""
    printed: str = ""
    """The line of the printed table that this one shows."""


@dataclass(frozen=True)
class Claim:
    """A comparison of ours with the best of several opponents; `ours` and opponents are pairs of case and method."""

    measure: str
    column: str
    ours: tuple[str, str]
    opponents: tuple[tuple[str, str], ...]
    printed: tuple[str, str] | None = None
    """Line and column of the printed table."""
    higher_is_better: bool = False
    published: str = ""
    """A line of the printed table that competes as an opponent, because it was not run here."""
    summary: bool = True
    """Whether the first page has it."""
    blindness: str = ""
    """How blind this number is, where that differs from the others of the page."""
    strip: bool = False
    """Whether it is one of the few that the README shows."""


@dataclass(frozen=True)
class Beside:
    """A small table of its own, of what is not compared with the rows of the page."""

    title: str
    words: str
    shown: tuple[Shown, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, eq=False)
class Page:
    """One experiment. The first figure is shown, the others stand with the full table."""

    name: str
    title: str
    setting: str
    columns: dict[str, Column]
    shown: tuple[Shown, ...]
    lines: tuple[Line, ...]
    seen: str
    """What one sees."""
    blindness: str
    """How blind the numbers are, in a word: yes, in part, no."""
    blind: str
    """The same at length."""
    figures: dict[str, str] = field(default_factory=dict)
    """Path from the root of the repository, and caption."""
    claims: tuple[Claim, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    """What methods are called where the table has them under more than one name."""
    more: str = ""
    """What else is known, below the rest."""
    beside: Beside | None = None
    file: str = ""
    """The results file, if it has another name."""

    @property
    def source(self) -> str:
        """The name of the results file."""
        return self.file or self.name
