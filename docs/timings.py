"""The tables of docs/speed.md, made from the record of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lines import Record

RATIO = ("ratio", "ratio_low", "ratio_high", "target", "ok", "at_most")
BESIDE = "vs_"  # begins the ratio to one of several rivals


def timings(record: Record) -> str:
    """How it was measured, a line for every row, and what else was measured of it."""
    met = sum(bool(row["ok"]) for row in record["rows"].values())
    head = [
        f"`{record['commands'][0]}`, {sum(record['seconds']) / 60:.0f} minutes on {record['machine']}.",
        f"{'; '.join(record['versions'])}; revision {', '.join(record['revisions'])}.",
        f"{met} of {len(record['rows'])} targets are met.",
    ]
    lines = ["| row | ratio | low–high | target | met | strongest rival |", "|---|---|---|---|---|---|"]
    lines += [timed(name, row) for name, row in record["rows"].items()]
    more = ["| row | ratio to each rival | and |", "|---|---|---|"]
    more += [detailed(name, row) for name, row in record["rows"].items() if set(row) - set(RATIO)]
    return "\n".join([*head, "", *lines, "", "Of each row:", "", *more, ""])


def timed(name: str, row: Mapping[str, float]) -> str:
    spread = f"{short(row['ratio_low'])}–{short(row['ratio_high'])}" if "ratio_low" in row else ""
    sign = "≤" if row.get("at_most") else "≥"
    met = "yes" if row["ok"] else "no"
    return f"| {name} | {short(row['ratio'])} | {spread} | {sign} {row['target']:g} | {met} | {strongest(row)} |"


def strongest(row: Mapping[str, float]) -> str:
    """The rival that ours is the least ahead of, where there are several."""
    rivals = [key for key in row if key.startswith(BESIDE)]
    return worded(min(rivals, key=lambda key: row[key]).removeprefix(BESIDE)) if rivals else ""


def detailed(name: str, row: Mapping[str, float]) -> str:
    rivals = [key for key in row if key.startswith(BESIDE)]
    others = [key for key in row if key not in RATIO and key not in rivals]
    return f"| {name} | {numbers(row, rivals)} | {numbers(row, others)} |"


def numbers(row: Mapping[str, float], keys: Iterable[str]) -> str:
    return ", ".join(f"{worded(key.removeprefix(BESIDE))} {short(row[key])}" for key in keys)


def short(value: float) -> str:
    from tasks.engine.numbers import three_digits  # the checkout is on the path only when this runs

    return three_digits(value)


def worded(key: str) -> str:
    return key.replace("_", " ")
