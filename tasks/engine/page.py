"""The look of a report: one page that needs no other file, on wide and narrow screens, by day and by night."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5c6675; --line: #d9dee6; --paper: #fff; --tint: #f4f6f9;
  --shade: rgba(28, 35, 48, .28); }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --soft: #9aa4b2; --line: #333b47; --paper: #14181f; --tint: #1c222b;
    --shade: rgba(0, 0, 0, .8); } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 60rem; padding: 2rem 1rem 4rem; overflow-wrap: break-word }
h1 { font-size: 1.7rem; margin-bottom: .2rem } h2 { font-size: 1.2rem; margin-top: 2.4rem }
.verdict { font-size: 1.25rem; margin: 1.2rem 0 }
.banner { padding: .5rem .9rem; background: #fff3cd; color: #5c4400; border-left: 3px solid #e69f00 }
.facts, figcaption, .note, summary { color: var(--soft); font-size: .9rem }
.wide { overflow-x: auto; background:
  linear-gradient(to right, var(--paper) 30%, transparent) 0 / 2.5rem 100% no-repeat local,
  linear-gradient(to left, var(--paper) 30%, transparent) 100% / 2.5rem 100% no-repeat local,
  linear-gradient(to right, var(--shade), transparent) 0 / .8rem 100% no-repeat scroll,
  linear-gradient(to left, var(--shade), transparent) 100% / .8rem 100% no-repeat scroll }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .8rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th.number, td.number { text-align: right; white-space: nowrap } td.long { min-width: 15rem }
td.short { white-space: nowrap } th { font-weight: 600; vertical-align: bottom }
figure { margin: 1.2rem 0 } img { display: block; background: #fff; border-radius: 4px }
@media (prefers-color-scheme: light) { img { mix-blend-mode: multiply } } /* so that the shade of what scrolls shows */
blockquote { margin: .6rem 0; padding: .5rem .9rem; background: var(--tint); border-left: 3px solid #4c78a8;
  overflow-wrap: anywhere } blockquote b { display: block; font-size: .85rem; color: var(--soft) }
pre { background: var(--tint); padding: .8rem; font-size: .82rem; white-space: pre-wrap; overflow-wrap: anywhere }
"""

TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>ATD: {{ task }}</title><style>{{ style | safe }}</style></head><body>
{% macro table(header, rows) %}<div class="wide" tabindex="0"><table><thead><tr>
{% for name in header %}<th class="{{ 'number' if numeric(rows, loop.index0) }}">{{ name }}</th>{% endfor %}
</tr></thead><tbody>
{% for cells, kinds in rows %}<tr>{% for cell in cells %}<td class="{{ kinds[loop.index0] }}">{{ cell }}</td>
{% endfor %}</tr>{% endfor %}</tbody></table></div>{% endmacro %}
<h1>ATD: {{ task }}</h1>
{% if verdict %}<p class="verdict">{{ verdict }}</p>{% endif %}
{% if banner %}<p class="banner">{{ banner }}</p>{% endif %}
<p class="facts">{{ primary }} = <b>{{ number(value) }}</b> · {{ duration }} · seed {{ seed }}
 · revision {{ revision }}</p>
{% for section in sections %}<h2>{{ section.title }}</h2>
{% if section.kind == "table" %}{{ table(section.header, section.lines[:most]) }}
{% if section.lines | length > most %}<details><summary>{{ section.lines | length - most }} more lines</summary>
{{ table(section.header, section.lines[most:]) }}</details>{% endif %}
{% if section.note %}<p class="note">{{ section.note }}</p>{% endif %}
{% elif section.kind == "figure" %}<figure><div class="wide" tabindex="0">
<img alt="{{ section.title }}" style="max-width: max(100%, 38rem, {{ section.legible }}px)"
 src="data:image/png;base64,{{ section.png }}"></div>
<figcaption>{{ section.caption }}</figcaption></figure>
{% else %}{% for paragraph in section.paragraphs %}<p>{{ paragraph }}</p>{% endfor %}
{% for label, text in section.samples %}<blockquote><b>{{ label }}</b>{{ text }}</blockquote>{% endfor %}
{% for label, words in section.texts %}<blockquote><b>{{ label }}</b>{% for gap, word, weight in words %}{{ gap -}}
<span style="background: {{ tint(weight) }}" title="{{ '%+.2f' | format(weight) }}">{{ word }}</span>
{%- endfor %}</blockquote>{% endfor %}
{% endif %}{% endfor %}
{% if steps %}<h2>What to do next</h2>
{% for what, command in steps %}<p>{{ what }}</p><pre>{{ command }}</pre>{% endfor %}{% endif %}
<h2>How this was made</h2><pre>{{ command }}</pre>
<details><summary>Versions</summary><pre>{{ versions }}
{{ machine | default("") }}</pre></details>
<details><summary>Configuration</summary><pre>{{ config }}</pre></details>
</body></html>
"""


def tint(weight: float) -> str:
    """A colour behind a word, from red (−1) by none (0) to blue (1)."""
    red, green, blue = (0, 114, 178) if weight > 0 else (213, 94, 0)
    return f"rgba({red}, {green}, {blue}, {min(abs(weight), 1.0) * 0.75:.2f})"


def duration(seconds: float) -> str:
    """Hours and minutes, minutes and seconds, or seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
