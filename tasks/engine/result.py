"""What a task hands back: rows of metrics, and the tables, figures and texts of its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasks.engine.canvas import Undrawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure


@dataclass(frozen=True)
class Spread:
    """A cell of a table: a mean and its standard deviation over seeds."""

    mean: float
    sd: float

    def __str__(self) -> str:
        return f"{self.mean} ± {self.sd}"


@dataclass
class Table:
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence]
    note: str = ""


@dataclass
class Figure:
    name: str  # file name without ending
    figure: MatplotlibFigure
    caption: str
    title: str


@dataclass
class Text:
    """Paragraphs; `samples` are (label, text) pairs of corpus or generated text, always shown escaped."""

    title: str
    paragraphs: Sequence[str] = ()
    samples: Sequence[tuple[str, str]] = ()


@dataclass
class Marked:
    """Texts whose words are coloured: (label, [(word, −1 … 1)]) pairs, blue for what speaks for it, red for against."""

    title: str
    paragraphs: Sequence[str]
    texts: Sequence[tuple[str, Sequence[tuple[str, float]]]]


@dataclass
class Result:
    """`rows[row][metric]` are numbers; `primary` names the one that a sweep optimises, as "row/metric".

    `verdict` says in a sentence what was found. `details` are numbers beside the rows, under a name each.
    """

    task: str
    primary: str
    rows: dict[str, dict[str, float]]
    lower_is_better: bool = False
    paper: dict[str, dict[str, float]] = field(default_factory=dict)  # the paper's numbers, same metric names
    sections: list[Table | Figure | Text | Marked] = field(default_factory=list)
    verdict: str = ""
    details: dict[str, dict[str, float]] = field(default_factory=dict)
    steps: list[tuple[str, str]] = field(default_factory=list)  # what to do next, and the command
    elsewhere: tuple[str, ...] = ()  # beginnings of the metrics that a section of their own shows

    @property
    def value(self) -> float:
        row, metric = self.primary.split("/", 1)
        return float(self.rows[row][metric])

    @property
    def shown(self) -> float | int:
        """The same as it stands in the rows: a count is a whole number."""
        row, metric = self.primary.split("/", 1)
        return self.rows[row][metric]

    def table(self, title: str, header: Sequence[str], rows: Sequence[Sequence], note: str = "") -> None:
        self.sections.append(Table(title, header, rows, note))

    def figure(self, name: str, figure: MatplotlibFigure | Undrawn, caption: str, title: str | None = None) -> None:
        """A picture and its file; without a title its name is the heading."""
        title = title or name.replace("_", " ").capitalize()
        if isinstance(figure, Undrawn):
            self.text(title, [figure.reason])
        else:
            self.sections.append(Figure(name, figure, caption, title))

    def text(self, title: str, paragraphs: Sequence[str] = (), samples: Sequence[tuple[str, str]] = ()) -> None:
        self.sections.append(Text(title, paragraphs, samples))

    def marked(
        self, title: str, paragraphs: Sequence[str], texts: Sequence[tuple[str, Sequence[tuple[str, float]]]]
    ) -> None:
        self.sections.append(Marked(title, paragraphs, texts))

    def score_table(self) -> Table:
        """All rows and metrics, the paper's rows below ours; `<metric>_sd` stands in the cell of its metric."""
        rows = self.rows | {f"paper: {name}": scores for name, scores in self.paper.items()}
        every = dict.fromkeys(metric for scores in rows.values() for metric in scores)
        metrics = [metric for metric in every if metric.removesuffix("_sd") not in every or not metric.endswith("_sd")]
        metrics = [metric for metric in metrics if not metric.startswith(self.elsewhere)]
        body = [[name, *(cell(scores, metric) for metric in metrics)] for name, scores in rows.items()]
        return Table("Results", ["", *metrics], body)


def cell(scores: Mapping[str, float], metric: str) -> float | Spread | None:
    mean, sd = scores.get(metric), scores.get(f"{metric}_sd")
    return mean if mean is None or sd is None else Spread(mean, sd)
