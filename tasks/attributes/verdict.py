"""Do the attributes matter? A sentence first, then the model beside its controls, and what each column adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from atd.lm import MultiplicativeLM, UnsharedLM
from atd.mixture_lm import MixtureLM
from atd.vocabulary import UNK_ID
from tasks.attributes.columns import guessed_vectors, leavings, losses_under
from tasks.engine.result import Result
from tasks.figures.charts import intervals
from tasks.learning.comparison import Comparison
from tasks.learning.controls import MEANING, Difference, paired_difference

if TYPE_CHECKING:
    from atd.trained import Trained
    from datamodules.corpus import Corpus

SMALLEST = 0.05  # per cent: less is nothing, however certain
BASELINES = ("no-attributes", "lbl")  # rows that know nothing of attributes, the closest first


def show_verdict(result: Result, models: Comparison, trained: Trained, data: Corpus) -> dict[str, Difference]:
    """The verdict in words, a table and a picture of the columns, and the same of the controls.

    Returns what each column adds.
    """
    above = controls_above(models, data)
    adds = columns_add(models, trained, data)
    unknown = 100 * float(np.mean(data.encoded["test"].tokens == UNK_ID))
    result.rows["atd"]["unknown_words"] = unknown
    for name, difference in above.items():
        result.rows[name] |= numbers("above_atd", difference)
    if adds:
        result.details["adds"] = {key: value for name, d in adds.items() for key, value in numbers(name, d).items()}
    columns = [column.name for column in trained.design.columns]
    result.verdict = verdict(columns, above, adds)
    result.text("Controls in words", [*sentences(above), f"{unknown:.1f} % of the test words are <unk>, in every row."])
    result.elsewhere = ("above_atd",)
    show_columns(result, adds)
    show_controls(result, models, above)
    return adds


def controls_above(models: Comparison, data: Corpus) -> dict[str, Difference]:
    """How far the perplexity of every control lies above the model's."""
    reference, words, group = models.losses("atd"), data.encoded["test"].lengths, groups(data)
    return {
        name: paired_difference(models.losses(name), reference, words, group)
        for name in models.outcomes
        if name in MEANING
    }


def columns_add(models: Comparison, trained: Trained, data: Corpus) -> dict[str, Difference]:
    """By how much each column, and each interaction, makes text more predictable that the others are known of."""
    model = trained.model
    if not isinstance(model, MultiplicativeLM) or isinstance(model, MixtureLM | UnsharedLM):
        return {}
    words, group = data.encoded["test"].lengths, groups(data)
    reference = models.losses("atd")[:1]
    found = {}
    for left in leavings(trained.design):
        x_nD = guessed_vectors(model, data, left)
        without = losses_under(trained, data, x_nD)[None]
        found[left.name] = lower(paired_difference(without, reference, words, group))
    return found


def groups(data: Corpus) -> np.ndarray | None:
    """What the test documents are drawn by, if not one by one: say authors."""
    return data.encoded["test"].columns.get("group")


def lower(above: Difference) -> Difference:
    """A perplexity that lies so far above another: how far that lies below it."""
    percent, low, high = (100 - 100 / (1 + value / 100) for value in (above.percent, above.low, above.high))
    return Difference(percent, low, high)


def numbers(name: str, difference: Difference) -> dict[str, float]:
    """As metrics."""
    return {name: difference.percent, f"{name}_low": difference.low, f"{name}_high": difference.high}


def verdict(columns: list[str], above: Mapping[str, Difference], adds: Mapping[str, Difference]) -> str:
    """What a layman wants to know, in a sentence or two."""
    baseline = next((above[name] for name in BASELINES if name in above), None)
    known = listing(columns)
    if baseline is None:
        first = ""
    elif not (gain := lower(baseline)).certain or abs(gain.percent) < SMALLEST:
        first = f"Knowing {known} makes held-out text neither more nor less predictable ({brackets(gain)})."
    elif gain.percent > 0:
        first = f"Knowing {known} makes held-out text {brackets(gain)} more predictable."
    else:
        loss = Difference(-gain.percent, -gain.high, -gain.low)
        first = f"Knowing {known} makes held-out text {brackets(loss)} LESS predictable: the model does harm here."
    matter = sorted((n for n, d in adds.items() if d.low > 0 and d.percent >= SMALLEST), key=lambda n: -adds[n].percent)
    nothing = [n for n in adds if n not in matter]
    parts = [f"{name} {brackets(adds[name])}" for name in matter]
    second = f"What each adds to the others: {listing(parts)}." if parts else ""
    third = f"{listing(nothing).capitalize()} {'add' if len(nothing) > 1 else 'adds'} nothing." if nothing else ""
    said = " ".join(part for part in (first, second, third) if part)
    return f"{said} In brackets: 95 % intervals." if "[" in said else said


def brackets(d: Difference) -> str:
    percent, low, high = (round(value, 1) + 0.0 for value in (d.percent, d.low, d.high))  # no −0.0
    return f"{percent:.1f} % [{low:.1f}, {high:.1f}]"


def listing(names: list[str]) -> str:
    """a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def show_columns(result: Result, adds: Mapping[str, Difference]) -> None:
    if not adds:
        return
    result.table(
        "What each column adds",
        ["column", "% more predictable", "95 % from", "to"],
        [[name, d.percent, d.low, d.high] for name, d in adds.items()],
        "How much lower the perplexity of the test text is than when the column is not known, and is guessed from the "
        "others as far as they tell it. The intervals are a bootstrap over documents, or groups of them.",
    )
    shown = {name: (d.percent, d.low, d.high) for name, d in adds.items()}
    result.figure(
        "columns",
        intervals(shown, "more predictable, %"),
        "Right of zero: the column adds something.",
        "Columns, drawn",
    )


def show_controls(result: Result, models: Comparison, above: Mapping[str, Difference]) -> None:
    if not above:
        return
    rows = [[name, MEANING[name], d.percent, d.low, d.high, step(models, name)] for name, d in above.items()]
    result.table(
        "Controls",
        ["row", "what it is", "% above atd", "95 % from", "to", "step size"],
        rows,
        "How far the perplexity of each control lies above the model's on the same test documents. The intervals are a "
        "bootstrap over documents and seeds.",
    )
    shown = {name: (d.percent, d.low, d.high) for name, d in above.items()}
    result.figure(
        "controls", intervals(shown, "perplexity above atd, %"), "Right of zero: atd is better.", "Controls, drawn"
    )


def step(models: Comparison, name: str) -> float | None:
    """The step size a row was trained with; rows that count have none."""
    return models.outcomes[name][0].facts.get("lr")


SUBJECTS = {
    "no-attributes": "Without attributes",
    "shuffled": "With shuffled attributes",
    "additive": "With attributes that only add, without the gate,",
    "gate": "With attributes that only gate",
    "lbl": "In the log-bilinear model of the same size",
    "kneser-ney": "By Kneser–Ney 5-grams",
    "kneser-ney-attributes": "By Kneser–Ney 5-grams mixed with those of each attribute's own text",
}


def sentences(found: Mapping[str, Difference]) -> list[str]:
    """What the differences say, in words."""
    return [sentence(subject, found[name]) for name, subject in SUBJECTS.items() if name in found]


def sentence(subject: str, above: Difference) -> str:
    """`above` is how far the control's perplexity lies above the model's."""
    interval = f"95 % interval {above.low:+z.1f} to {above.high:+z.1f}"
    if not above.certain:
        return f"{subject} perplexity is not certainly another ({above.percent:+z.1f} %, {interval})."
    direction = "higher" if above.percent > 0 else "lower"
    return f"{subject} perplexity is {abs(above.percent):.1f} % {direction} ({interval})."
