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


def sentences(found: dict[str, Difference]) -> list[str]:
    """What the differences say, in words."""
    out = []
    if "no-attributes" in found:
        out.append(compared(found["no-attributes"], "The attributes", "the same model without attributes"))
    if "additive" in found:
        out.append(compared(found["additive"], "The gate", "attributes that only add"))
    if "gate" in found:
        out.append(compared(found["gate"], "The added part", "attributes that only gate"))
    if "lbl" in found:
        out.append(compared(found["lbl"], "The whole model", "the log-bilinear model"))
    for name in ("kneser-ney-attributes", "kneser-ney"):
        if name in found:
            out.append(compared(found[name], "The whole model", MEANING[name]))
            break
    return out


def compared(d: Difference, what: str, control: str) -> str:
    """`d` is how far the control lies above the model."""
    interval = f"({abs(d.percent):.2f} %, 95 % from {d.low:+.2f} to {d.high:+.2f})"
    if not d.certain:
        return f"{what} makes no certain difference to perplexity beside {control} {interval}."
    better = "lowers" if d.percent > 0 else "raises"
    return f"{what} {better} perplexity beside {control} {interval}."
