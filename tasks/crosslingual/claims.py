"""Each claim beside its control: a table, a chart, and sentences that are made from the rows' own numbers.

A control of a row learns from no more than the row does: it has the same limit on sentence pairs, or needs none. The
strongest of them counts. Two rows differ if their scores are more than two standard errors apart, seeds and the
number of items both counted; otherwise they are level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tasks.engine.canvas import COLOURS, axes, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tasks.crosslingual.rows import ConfiguredRow
    from tasks.engine.result import Result
    from tasks.engine.rows import Outcome

LITTLE = "Sharing across languages, where parallel text is scarce,"
BETWEEN_ROWS = {  # what the first row has and the second has not
    f"{LITTLE} in the paper's model": ("atd-low", "separate"),
    f"{LITTLE} with character n-grams": ("atd-low-spelling", "separate-spelling"),
    "A third language": ("atd+", "atd"),
}
WITHOUT_PAIRS = ("spelling", "majority")  # methods that learn from no sentence pair
WORDS = "words_p1"


@dataclass(frozen=True)
class Scores:
    """What a row has in a measure: one number, or one for each direction."""

    row: str
    means: tuple[float, ...]
    spreads: tuple[float, ...]  # over seeds
    errors: tuple[float, ...]  # standard errors

    @property
    def mean(self) -> float:
        return float(np.mean(self.means))

    def __str__(self) -> str:
        numbers = zip(self.means, self.spreads, strict=True)
        return " / ".join(f"{mean:.1f} ± {spread:.1f}" if spread else f"{mean:.1f}" for mean, spread in numbers)

    def beside(self, other: Scores) -> str:
        """above, below or level with."""
        difference = self.mean - other.mean
        error = np.mean([np.hypot(a, b) for a, b in zip(self.errors, other.errors, strict=True)])
        return "level with" if abs(difference) <= 2 * error else "above" if difference > 0 else "below"


@dataclass(frozen=True)
class Measure:
    """`metrics`: of metrics.json, one for each direction."""

    title: str
    metrics: tuple[str, ...]

    def of(self, row: str, outcomes: Sequence[Outcome]) -> Scores | None:
        """None if the row was not judged by it."""
        if any(metric not in outcomes[0].scores for metric in self.metrics):
            return None
        values = np.array([[outcome.scores[metric] for metric in self.metrics] for outcome in outcomes])
        items = np.array([outcomes[0].facts["items"][metric] for metric in self.metrics])
        mean = values.mean(0)
        spread = values.std(0, ddof=1) if len(values) > 1 else np.zeros(len(mean))
        error = np.sqrt(mean * (100 - mean) / items + spread**2 / len(values))
        return Scores(row, tuple(mean), tuple(spread), tuple(error))


def measures(outcomes: Mapping[str, Sequence[Outcome]], pair: str) -> list[Measure]:
    """All that the rows were judged by."""
    a, b = pair.split("-")
    there = dict.fromkeys(metric for found in outcomes.values() for metric in found[0].scores)
    titles = {"heldout": "retrieval of held-out lines", f"retrieval_only_{b}": f"retrieval of test lines in {b}"}
    titles |= {"sib200": "topics of SIB-200", "taxi1500": "topics of Taxi1500", "rcv": "topics of Reuters"}
    found = [Measure(title, (f"{name}_{a}_{b}", f"{name}_{b}_{a}")) for name, title in titles.items()]
    found.append(Measure("translation of words", (WORDS,)))
    return [measure for measure in found if all(metric in there for metric in measure.metrics)]


def controls_of(row: ConfiguredRow, controls: Mapping[str, ConfiguredRow]) -> list[str]:
    """The controls that learn from as many sentence pairs, or from none; a ceiling is no control."""

    def limit(one: ConfiguredRow) -> int | None:
        return one.task.limit.get(one.task.pairs[0])

    fair = {n: c for n, c in controls.items() if limit(c) == limit(row) or c.task.method in WITHOUT_PAIRS}
    return [name for name, control in fair.items() if control.task.method != "ceiling"]


def show_claims(
    result: Result,
    rows: Mapping[str, ConfiguredRow],
    controls: Mapping[str, ConfiguredRow],
    outcomes: Mapping[str, Sequence[Outcome]],
) -> None:
    """Every measure of every row beside its strongest control; rows beside each other; a chart for each measure."""
    known = measures(outcomes, next(iter(rows.values())).task.pairs[0])
    body = [line for measure in known for line in beside_controls(measure, rows, controls, outcomes)]
    said = []
    if body:
        said.append("A row that is below its control, or level with it, shows no need of learning.")
        said += [in_words(measure, [line for line in body if line[0] == measure.title]) for measure in known]
    for what, (one, other) in BETWEEN_ROWS.items():
        if one in outcomes and other in outcomes:
            said.append(compared(what, one, other, outcomes, known))
    if body:
        what, row, own, beside, control, theirs = body[0]
        result.verdict = (
            f"{what[0].upper()}{what[1:]}, per cent to and from the second language: {row} {own}, {beside} its "
            f"strongest control, {control}, which has {theirs}."
        )
    if not said:
        return
    result.text("Claims beside their controls", said)
    result.table(
        "Each row and its strongest control",
        ["measure", "row", "per cent", "is", "control", "per cent"],
        body,
        "Both directions of a measure, mean ± s.d. of the seeds. lexicon: words are counted in the same sentence "
        "pairs, and nothing is learned; lsi: a truncated SVD of them; spelling: character n-grams, no pairs at all. "
        "level with: at most two standard errors apart.",
    )
    for measure in known:
        over = "mean of both directions" if len(measure.metrics) == 2 else "first language to second"
        title = measure.title[0].upper() + measure.title[1:]
        name, caption = f"beside_controls_{measure.metrics[0]}", f"{title}, {over}."
        result.figure(name, chart(measure, outcomes, controls), caption, f"{title}, beside controls")


def beside_controls(
    measure: Measure,
    rows: Mapping[str, ConfiguredRow],
    controls: Mapping[str, ConfiguredRow],
    outcomes: Mapping[str, Sequence[Outcome]],
) -> list[list[str]]:
    """[measure, row, its numbers, verdict, strongest control, its numbers] of every row that has one."""
    scores = {name: found for name in outcomes if (found := measure.of(name, outcomes[name]))}
    lines = []
    for name, row in rows.items():
        rivals = [scores[control] for control in controls_of(row, controls) if control in scores]
        if name in scores and rivals:
            control = max(rivals, key=lambda rival: rival.mean)
            verdict = scores[name].beside(control)
            lines.append([measure.title, name, str(scores[name]), verdict, control.row, str(control)])
    return lines


def in_words(measure: Measure, lines: Sequence[Sequence[str]]) -> str:
    """Rows of one verdict together."""
    alike: dict[str, list[str]] = {}
    for _, name, _, verdict, control, numbers in lines:
        alike.setdefault(f"{verdict} {control} ({numbers})", []).append(name)
    parts = [f"{', '.join(names)} {verdict}" for verdict, names in alike.items()]
    return f"In {measure.title}: {'; '.join(parts)}."


def compared(
    what: str, one: str, other: str, outcomes: Mapping[str, Sequence[Outcome]], known: Sequence[Measure]
) -> str:
    """One sentence: where a row wins, loses or is level, with its numbers."""
    words = {"above": "wins", "below": "loses", "level with": "makes no certain difference"}
    found: dict[str, list[str]] = {}
    for measure in known:
        a, b = (measure.of(name, outcomes[name]) for name in (one, other))
        if a and b:
            found.setdefault(words[a.beside(b)], []).append(f"{measure.title} ({a} against {b})")
    parts = [f"{verdict} in {', '.join(where)}" for verdict, where in found.items()]
    return f"{what} ({one} against {other}) {'; it '.join(parts)}."


@picture
def chart(measure: Measure, outcomes: Mapping[str, Sequence[Outcome]], controls: Mapping[str, ConfiguredRow]) -> Figure:
    """A bar for each row, the mean of both directions with the spread over seeds; controls hatched and grey."""
    scores = [found for name in outcomes if (found := measure.of(name, outcomes[name]))]
    figure, ax = axes(6.4, 0.36 * len(scores) + 1.2)
    at = np.arange(len(scores))[::-1]
    for place, score in zip(at, scores, strict=True):
        control = score.row in controls
        style: dict[str, Any] = {"color": COLOURS[0]}
        if control:
            style = {"color": "#d0d4da", "hatch": "//", "edgecolor": "#5c6675"}
        spread = float(np.mean(score.spreads))
        bar = ax.barh(place, score.mean, xerr=spread or None, capsize=3, height=0.75, **style)
        ax.bar_label(bar, labels=[f"{score.mean:.1f}"], padding=4, fontsize=8)
    ax.set_yticks(at, [score.row for score in scores])
    ax.set_xlim(0, 108)
    ax.set_xlabel("per cent; hatched: controls")
    ax.spines[["top", "right"]].set_visible(False)
    return figure
