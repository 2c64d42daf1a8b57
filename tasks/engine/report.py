"""Write what a run leaves: metrics.json, figures/, and report.html that needs no other file."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from atd.files import write_whole
from tasks.engine.canvas import Undrawn, plain_decades
from tasks.engine.result import Figure, Marked, Result, Spread, Table, Text

LONG = 40  # letters of a text in a table that is not squeezed into a narrow column

STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5c6675; --line: #d9dee6; --paper: #fff; --tint: #f4f6f9; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --soft: #9aa4b2; --line: #333b47; --paper: #14181f; --tint: #1c222b; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 60rem; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem } h2 { font-size: 1.2rem; margin-top: 2.4rem }
.verdict { font-size: 1.25rem; margin: 1.2rem 0 }
.facts, figcaption, .note { color: var(--soft); font-size: .9rem }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .8rem; border-bottom: 1px solid var(--line); text-align: left }
td.number { text-align: right } td.long { min-width: 15rem } td.short { white-space: nowrap }
th { font-weight: 600; background: var(--tint) }
figure { margin: 1.2rem 0 } img { max-width: 100%; background: #fff; border-radius: 4px }
blockquote { margin: .6rem 0; padding: .5rem .9rem; background: var(--tint); border-left: 3px solid #4c78a8;
  overflow-wrap: anywhere } blockquote b { display: block; font-size: .85rem; color: var(--soft) }
pre { background: var(--tint); padding: .8rem; overflow-x: auto; font-size: .82rem }
"""

TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>ATD: {{ task }}</title><style>{{ style | safe }}</style></head><body>
<h1>ATD: {{ task }}</h1>
<p class="facts">{{ primary }} = <b>{{ number(value) }}</b> · {{ '%.0f' | format(seconds) }} s · seed {{ seed }}
 · revision {{ revision }}</p>
{% if verdict %}<p class="verdict">{{ verdict }}</p>{% endif %}
{% for section in sections %}<h2>{{ section.title }}</h2>
{% if section.kind == "table" %}<div class="wide"><table><thead><tr>
{% for name in section.header %}<th>{{ name }}</th>{% endfor %}</tr></thead><tbody>
{% for row in section.rows %}<tr>{% for cell in row %}<td class="{{ kind_of(cell) }}">
{{ number(cell) }}</td>{% endfor %}</tr>{% endfor %}</tbody></table></div>
{% if section.note %}<p class="note">{{ section.note }}</p>{% endif %}
{% elif section.kind == "figure" %}<figure><img alt="{{ section.title }}" src="data:image/png;base64,{{ section.png }}">
<figcaption>{{ section.caption }}</figcaption></figure>
{% else %}{% for paragraph in section.paragraphs %}<p>{{ paragraph }}</p>{% endfor %}
{% for label, text in section.samples %}<blockquote><b>{{ label }}</b>{{ text }}</blockquote>{% endfor %}
{% for label, words in section.texts %}<blockquote><b>{{ label }}</b>{% for word, weight in words %}
<span style="background: {{ tint(weight) }}" title="{{ '%+.2f' | format(weight) }}">{{ word }}</span>
{% endfor %}</blockquote>{% endfor %}
{% endif %}{% endfor %}
<h2>How this was made</h2><pre>{{ command }}</pre>
<details><summary>Versions</summary><pre>{{ versions }}</pre></details>
<details><summary>Configuration</summary><pre>{{ config }}</pre></details>
</body></html>
"""


def kind_of(cell: object) -> str:
    """How a cell is set: a number, a long text that needs room, or a short one."""
    if isinstance(cell, int | float | Spread) and not isinstance(cell, bool):
        return "number"
    return "long" if len(number(cell)) > LONG else "short"


def tint(weight: float) -> str:
    """A colour behind a word, from red (−1) by none (0) to blue (1)."""
    red, green, blue = (0, 114, 178) if weight > 0 else (213, 94, 0)
    return f"rgba({red}, {green}, {blue}, {min(abs(weight), 1.0) * 0.75:.2f})"


def number(cell: object) -> str:
    """Numbers as people read them; everything else as text."""
    if cell is None:
        return ""
    if isinstance(cell, Spread):
        return f"{number(cell.mean)} ± {cell.sd:.2g}" if abs(cell.mean) < 10 else f"{cell.mean:.1f} ± {cell.sd:.1f}"
    if isinstance(cell, bool) or not isinstance(cell, float):
        return str(cell)
    return f"{cell:.4g}" if abs(cell) < 10 else f"{cell:.1f}"


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


def write_report(result: Result, out: Path, seconds: float, facts: dict) -> Path:
    """`facts`: seed, revision, command, versions, config, each as text."""
    from jinja2 import Environment

    page = Environment(autoescape=True).from_string(TEMPLATE)
    result.sections = [drawn(section, out) for section in result.sections]
    sections = [_section(result.score_table(), out), *(_section(s, out) for s in result.sections)]
    html = page.render(
        task=result.task,
        primary=result.primary,
        value=result.value,
        seconds=seconds,
        verdict=result.verdict,
        sections=sections,
        style=STYLE,
        number=number,
        kind_of=kind_of,
        tint=tint,
        **facts,
    )
    path = out / "report.html"
    write_whole(path, html)
    return path


def _section(section: Table | Figure | Text | Marked, out: Path) -> dict:
    if isinstance(section, Table):
        return {"kind": "table", **vars(section)}
    if isinstance(section, Text | Marked):
        return {"kind": "text", **vars(section)}
    png = base64.b64encode((out / "figures" / f"{section.name}.png").read_bytes()).decode()
    return {"kind": "figure", "title": section.title, "caption": section.caption, "png": png}


def drawn(section: Table | Figure | Text | Marked, out: Path) -> Table | Figure | Text | Marked:
    """A figure is saved as PNG and SVG files; one that cannot be drawn becomes a text that says so."""
    if not isinstance(section, Figure):
        return section
    folder = out / "figures"
    folder.mkdir(exist_ok=True)
    try:
        plain_decades(section.figure)
        section.figure.savefig(folder / f"{section.name}.png", dpi=130, bbox_inches="tight")
        section.figure.savefig(folder / f"{section.name}.svg", bbox_inches="tight")
    except Exception as error:  # whatever matplotlib has against it
        return Text(section.title, [Undrawn.of(error).reason])
    return section
