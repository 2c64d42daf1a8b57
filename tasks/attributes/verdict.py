"""Do the attributes matter? The model beside its controls: paired differences with intervals, and a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atd.vocabulary import UNK_ID
from tasks.engine.result import Result
from tasks.figures.charts import intervals
from tasks.learning.comparison import Comparison
from tasks.learning.controls import MEANING, Difference, paired_difference

if TYPE_CHECKING:
    from datamodules.corpus import Corpus


def show_verdict(result: Result, models: Comparison, data: Corpus) -> None:
    """A table and a picture of how far each control lies above the model, and what follows from it."""
    test = data.encoded["test"]
    reference = models.losses("atd")
    controls = [name for name in result.rows if name in MEANING]
    found = {name: paired_difference(models.losses(name), reference, test.lengths) for name in controls}
    for name, difference in found.items():
        result.rows[name] |= {"above_atd": difference.percent}
        result.rows[name] |= {"above_atd_low": difference.low, "above_atd_high": difference.high}
    unknown = 100 * float(np.mean(test.tokens == UNK_ID))
    result.rows["atd"]["unknown_words"] = unknown
    result.text("Verdict", [*sentences(found), f"{unknown:.1f} % of the test words are <unk>, in every row."])
    rows = [[name, MEANING[name], d.percent, d.low, d.high, step(models, name)] for name, d in found.items()]
    result.table(
        "Controls",
        ["row", "what it is", "% above atd", "95 % from", "to", "step size"],
        rows,
        "How far the perplexity of each control lies above the model's on the same test documents. The intervals are a "
        "bootstrap over documents and seeds.",
    )
    if found:
        shown = {name: (d.percent, d.low, d.high) for name, d in found.items()}
        result.figure("controls", intervals(shown, "perplexity above atd, %"), "Right of zero: atd is better.")


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


def sentences(found: dict[str, Difference]) -> list[str]:
    """What the differences say, in words."""
    return [sentence(subject, found[name]) for name, subject in SUBJECTS.items() if name in found]


def sentence(subject: str, above: Difference) -> str:
    """`above` is how far the control's perplexity lies above the model's."""
    interval = f"95 % interval {above.low:+.1f} to {above.high:+.1f}"
    if not above.certain:
        return f"{subject} perplexity is not certainly another ({above.percent:+.1f} %, {interval})."
    direction = "higher" if above.percent > 0 else "lower"
    return f"{subject} perplexity is {abs(above.percent):.1f} % {direction} ({interval})."
