"""Effects on words, on generated text where the truth is known: calibration, coverage, and power beside rivals.

For every word at once: how far does its use move between two values of a column? `atd.effects` answers with an
interval and a test over documents. Here it is held against what was planted, and against à la carte regression
(conText), aligned spaces (Procrustes) and Word2Vec with a compass (CADE).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.progress import track

from atd.effects.permutations import discoveries
from atd.errors import AtdError
from tasks.effects.pictures import histogram, power_curves
from tasks.effects.settings import Settings
from tasks.effects.study import RATES, Scores, covered, ranked, shuffled, tilted
from tasks.engine.check import Fits
from tasks.engine.result import Result
from tasks.engine.settings import typed

if TYPE_CHECKING:
    from omegaconf import DictConfig

FITS = Fits()


def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    if not task.documents or not task.shares:
        raise AtdError("task.documents or task.shares: empty; give at least one number of each")
    if find_spec("gensim") is None:
        raise AtdError("task=effects: the rival compass needs gensim; pip install gensim")
    result = Result("effects", "effects/power", {"effects": {}})
    calibration(result, task, cfg.seed)
    coverage(result, task, cfg.seed)
    power(result, task, cfg.seed)
    subjects(result, task, cfg.seed)
    result.verdict = verdict(result.rows)
    return result


def verdict(rows: Mapping[str, Mapping[str, float]]) -> str:
    """What is found of what was planted, beside the best rival, and what is found where nothing is."""
    own = rows["effects"]
    rivals = {name: row["power"] for name, row in rows.items() if not name.startswith("effects")}
    best = max(rivals, key=lambda name: rivals[name])
    return (
        f"Of the words whose use was changed {100 * own['power']:.0f} % are found when one in ten of those found is "
        f"false; the best rival, {best}, finds {100 * rivals[best]:.0f} %. In {own['shuffles_without_find']:.0f} % of "
        f"the shuffles, where there is nothing to find, nothing is found; 95 % intervals hold the truth in "
        f"{own['coverage']:.0f} %."
    )


def calibration(result: Result, task: Settings, seed: int) -> None:
    """p where there is no effect."""
    runs = shuffled(task, min(task.documents), seed)
    p = np.concatenate(runs)
    nothing = float(np.mean([(discoveries(one) > 0.05).all() for one in runs]))
    result.rows["effects"] |= {"p_below_5%": 100 * float((p < 0.05).mean()), "shuffles_without_find": 100 * nothing}
    levels = (0.1, 0.05, 0.01, 0.001, 0.0001)
    rows = [[f"{100 * level:g} %", 100 * float((p < level).mean())] for level in levels]
    note = f"{len(runs)} shuffles of the values of {min(task.documents)} documents, {len(p) // len(runs)} words."
    result.table("Shuffled values: share of words with p below a level", ["level", "share in %"], rows, note)
    caption = f"p under shuffled values. In {100 * nothing:.1f} % of the shuffles no word is found at a rate of 5 %."
    result.figure("calibration", histogram(p), caption)


def coverage(result: Result, task: Settings, seed: int) -> None:
    """How often 95 % intervals hold the true effect of a planted word."""
    rows, all_covers = [], []
    for documents in task.documents:
        for share in task.shares:
            covers, errors = covered(task, documents, share, seed)
            rows.append([documents, share, 100 * float(covers.mean()), float(np.median(errors)), len(covers)])
            all_covers.append(covers)
    result.rows["effects"]["coverage"] = 100 * float(np.concatenate(all_covers).mean())
    header = ["documents", "share swapped", "covered in %", "median error / effect", "intervals"]
    note = f"The truth is the mean effect in {task.truth} times as many documents."
    result.table("95 % intervals", header, rows, note)


def power(result: Result, task: Settings, seed: int) -> None:
    """Ours and the rivals' at equal false discovery."""
    points = [(documents, share) for documents in task.documents for share in task.shares]
    rows: list[list] = []
    best: dict[str, list[float]] = {}
    for documents, share in track(points, "power"):
        scores: dict[str, list[Scores]] = {}
        for i in range(task.worlds):
            for name, one in ranked(task, documents, share, seed + 1 + i):
                scores.setdefault(name, []).append(one)
        for name, several in scores.items():
            at_rates = [float(np.mean([one.power(rate) for one in several])) for rate in RATES]
            best.setdefault(name, []).append(at_rates[1])
            rows.append([documents, share, name, *at_rates, *declared(several)])
        drawn = power_curves({name: several[0].curve() for name, several in scores.items()})
        swapped = f"{100 * share:.0f} % of the occurrences swapped under one value"
        caption = f"{documents:,} documents, {swapped}, in the first text."
        title = f"Power: {documents:,} documents, {100 * share:.0f} % swapped"
        result.figure(f"power_{documents}_{100 * share:.0f}", drawn, caption, title)
    for name, values in best.items():
        result.rows.setdefault(name, {})["power"] = float(np.mean(values))
    header = ["documents", "share swapped", "method", *(f"power at {100 * rate:g} % false" for rate in RATES)]
    header += ["found at 5 %: power", "false among them", "p < 5 % of unchanged"]
    result.table("Power at equal false discovery", header, rows, "The last three for methods that have a test.")


def declared(several: list[Scores]) -> list[float | None]:
    if several[0].p_W is None:
        return [None, None, None]
    return [float(np.mean(values)) for values in zip(*(one.declared() for one in several), strict=True)]


def subjects(result: Result, task: Settings, seed: int) -> None:
    """Where the two values speak of different subjects: what is found among words that were not planted."""
    found = tilted(task, max(task.documents), max(task.shares), seed)
    rows = [[name, *one.declared()] for name, one in found.items()]
    result.rows["effects"]["false_when_subjects_differ"] = 100 * found["subject taken out"].declared()[1]
    header = ["", "power", "false among those found", "p < 5 % of unplanted"]
    note = "Words that were not planted keep other company here, but only since their documents are about other things."
    result.table("Values that differ in subject", header, rows, note)
