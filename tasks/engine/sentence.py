"""What a report says first: the primary metric in a sentence, where the task has no verdict of its own."""

from __future__ import annotations

from tasks.engine.numbers import number, with_unit
from tasks.engine.result import Result


def first_sentence(result: Result) -> str:
    """The task's verdict; else the row that counts, and the best of all rows if that is another."""
    if result.verdict:
        return result.verdict
    own, metric = result.primary.split("/", 1)
    scores = {row: found[metric] for row, found in result.rows.items() if found.get(metric) is not None}
    name, _, unit = with_unit(metric).partition(", ")
    said = {row: f"{number(float(score))}{' ' + unit if unit else ''}" for row, score in scores.items()}
    order = sorted(scores, key=scores.__getitem__, reverse=not result.lower_is_better)
    if len(order) < 2:
        return f"{own}: {name} {said[own]}."
    if order[0] == own:
        return f"{own} has the best {name} of {len(order)} rows, {said[own]}; next is {order[1]} with {said[order[1]]}."
    return f"{own} has {name} {said[own]}; of {len(order)} rows {order[0]} is best with {said[order[0]]}."
