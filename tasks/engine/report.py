"""Write what a run leaves: metrics.json, tables.json, figures/, and report.html that needs no other file."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atd.detokenise import detokenised
from atd.files import write_whole
from tasks.engine.canvas import Undrawn, plain_decades
from tasks.engine.numbers import NUMBER, lines, number, with_unit
from tasks.engine.page import STYLE, TEMPLATE, duration, tint
from tasks.engine.result import Figure, Marked, Result, Spread, Table, Text
from tasks.engine.sentence import first_sentence

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure
    from matplotlib.transforms import Bbox

MARGIN = 0.1  # inches around a picture
LONG = 40  # letters of a text in a table that is not squeezed into a narrow column
FOLDED = 25  # lines of a table from which on the others are folded away
SYNTHETIC = "Synthetic sample: the data was made by a program, so the numbers say nothing about the world."


def write_metrics(result: Result, out: Path, seconds: float) -> None:
    metrics: dict[str, object] = {
        "task": result.task,
        "primary_metric": result.primary,
        "value": result.value,
        "lower_is_better": result.lower_is_better,
        "seconds": round(seconds, 2),
        "rows": result.rows,
    }
    if result.verdict:
        metrics["verdict"] = result.verdict
    if result.details:
        metrics["details"] = result.details
    write_whole(out / "metrics.json", json.dumps(metrics, indent=2) + "\n")


def write_report(result: Result, out: Path, seconds: float, facts: dict, sample: bool = False) -> Path:
    """`facts`: seed, revision, command, versions, config, each as text. `sample`: the corpus is an embedded one."""
    from jinja2 import Environment

    page = Environment(autoescape=True).from_string(TEMPLATE)
    result.sections = [drawn(section, out) for section in result.sections]
    sections = [shown_scores(result), *result.sections]
    html = page.render(
        task=result.task,
        primary=result.primary,
        value=result.shown,
        duration=duration(seconds),
        verdict=first_sentence(result).replace(" %", "\u00a0%"),  # a number and its sign stay in a line
        banner=SYNTHETIC if sample else "",
        sections=[_section(section, out) for section in sections],
        steps=result.steps,
        style=STYLE,
        most=FOLDED,
        number=number,
        numeric=numeric,
        tint=tint,
        **facts,
    )
    path = out / "report.html"
    write_whole(path, html)
    write_whole(out / "tables.json", json.dumps([_plain(section) for section in sections], indent=1) + "\n")
    return path


def shown_scores(result: Result) -> Table:
    """All rows and metrics, with what the metrics are counted in."""
    table = result.score_table()
    return Table(table.title, [with_unit(name) for name in table.header], table.rows, table.note)


def _section(section: Table | Figure | Text | Marked, out: Path) -> dict[str, Any]:
    """What the page shows of a section."""
    if isinstance(section, Table):
        kinds = kinds_of(section.rows)
        return {"kind": "table", **vars(section), "lines": list(zip(lines(section.rows), kinds, strict=True))}
    if isinstance(section, Text):
        samples = [(label, detokenised(text)) for label, text in section.samples]
        return {"kind": "text", **vars(section), "samples": samples}
    if isinstance(section, Marked):
        return {"kind": "text", **vars(section), "texts": [(label, spaced(words)) for label, words in section.texts]}
    png = (out / "figures" / f"{section.name}.png").read_bytes()
    legible = int.from_bytes(png[16:20], "big") // 2  # half of its pixels: its smallest letters are then 8 high
    shown = {"title": section.title, "caption": section.caption, "png": base64.b64encode(png).decode()}
    return {"kind": "figure", "legible": legible, **shown}


def _plain(section: Table | Figure | Text | Marked) -> dict[str, Any]:
    """The same for other programs: tables as they are shown, texts, and where the pictures are."""
    if isinstance(section, Table):
        head = [str(name) for name in section.header]
        return {"title": section.title, "header": head, "rows": lines(section.rows), "note": section.note}
    if isinstance(section, Text):
        return {"title": section.title, "paragraphs": list(section.paragraphs), "samples": list(section.samples)}
    if isinstance(section, Marked):
        return {"title": section.title, "paragraphs": list(section.paragraphs)}
    return {"title": section.title, "figure": f"figures/{section.name}.svg", "caption": section.caption}


def spaced(words: Sequence[tuple[str, float]]) -> list[tuple[str, str, float]]:
    """(what stands before it, a word, its weight): a space, or nothing where people write none."""
    text, at, out = detokenised(" ".join(word for word, _ in words)), 0, []
    for word, weight in words:
        begin = at + len(text[at:]) - len(text[at:].lstrip(" "))
        if not text.startswith(word, begin):  # a word with marks inside, which are set otherwise in a text
            return [(" ", word, weight) for word, weight in words]
        out.append((text[at:begin], word, weight))
        at = begin + len(word)
    return out


def kinds_of(rows: Sequence[Sequence[object]]) -> list[list[str]]:
    """How every cell is set. Where all that a column says reads like a number, all of it is."""
    columns = [[kind_of(cell) for cell in column] for column in zip(*rows)]
    for q, column in enumerate(zip(*rows)):
        written = [number(cell) for cell in column if number(cell)]
        if q and written and all(NUMBER.fullmatch(cell) for cell in written):
            columns[q] = ["number"] * len(column)
    return [list(kinds) for kinds in zip(*columns)]


def kind_of(cell: object) -> str:
    """A number, a long text that needs room, or a short one."""
    if isinstance(cell, int | float | Spread) and not isinstance(cell, bool):
        return "number"
    return "long" if len(number(cell)) > LONG else "short"


def numeric(rows: Sequence[tuple[Sequence[str], Sequence[str]]], column: int) -> bool:
    """Whether a column holds numbers: its head stands above them, at the right."""
    return any(kinds[column] == "number" for _, kinds in rows)


def tight(picture: MatplotlibFigure) -> Bbox:
    """Lay a picture out, once for all its files, and say how much of it is used, in inches."""
    picture.draw_without_rendering()
    picture.set_layout_engine(None)
    return picture.get_tightbbox().padded(MARGIN)


def drawn(section: Table | Figure | Text | Marked, out: Path) -> Table | Figure | Text | Marked:
    """A figure is saved as PNG and SVG files; one that cannot be drawn becomes a text that says so."""
    if not isinstance(section, Figure):
        return section
    folder = out / "figures"
    folder.mkdir(exist_ok=True)
    try:
        plain_decades(section.figure)
        box = tight(section.figure)
        section.figure.savefig(folder / f"{section.name}.png", dpi=130, bbox_inches=box)
        section.figure.savefig(folder / f"{section.name}.svg", bbox_inches=box)
    except Exception as error:  # whatever matplotlib has against it
        return Text(section.title, [Undrawn.of(error).reason])
    return section
