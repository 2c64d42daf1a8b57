"""The table of docs/speed.md, made from the record of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping

from lines import Record

RATIO = ("ratio", "ratio_low", "ratio_high", "target", "ok", "at_most")


def timings(record: Record) -> str:
    """How it was measured, then a line for every row."""
    met = sum(bool(row["ok"]) for row in record["rows"].values())
    head = [
        f"`{record['commands'][0]}`, {sum(record['seconds']) / 60:.0f} minutes on {record['machine']}.",
        f"{'; '.join(record['versions'])}; revision {', '.join(record['revisions'])}.",
        f"{met} of {len(record['rows'])} targets are met.",
    ]
    lines = ["| row | ratio | low–high | target | met | besides |", "|---|---|---|---|---|---|"]
    lines += [timed(name, row) for name, row in record["rows"].items()]
    return "\n".join([*head, "", *lines, ""])


def timed(name: str, row: Mapping[str, float]) -> str:
    spread = f"{row['ratio_low']:.3g}–{row['ratio_high']:.3g}" if "ratio_low" in row else ""
    sign = "≤" if row.get("at_most") else "≥"
    besides = ", ".join(f"{key.replace('_', ' ')} {value:.3g}" for key, value in row.items() if key not in RATIO)
    met = "yes" if row["ok"] else "no"
    return f"| {name} | {row['ratio']:.3g} | {spread} | {sign} {row['target']:g} | {met} | {besides} |"
