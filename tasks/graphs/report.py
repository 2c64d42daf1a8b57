"""What is shown of a study of graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tasks.engine.result import Result
from tasks.engine.rows import Outcome
from tasks.figures.maps import project, scatter_map
from tasks.graphs.rows import MEANING, Study

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from tasks.graphs.settings import Settings

PUBLISHED = {  # accuracy in per cent, mean and standard deviation, by other folds or protocols
    "graph2vec (arXiv 1707.05005; IMDB: 1908.01000)": {
        "MUTAG": "83.2 ± 9.3",
        "PTC": "60.2 ± 6.9",
        "PROTEINS": "73.3 ± 2.1",
        "NCI1": "73.2 ± 1.8",
        "IMDBBINARY": "71.1 ± 0.5",
        "IMDBMULTI": "50.4 ± 0.9",
    },
    "WL subtree kernel (arXiv 1810.00826)": {
        "MUTAG": "90.4 ± 5.7",
        "PTC": "59.9 ± 4.3",
        "PROTEINS": "75.0 ± 3.1",
        "NCI1": "86.0 ± 1.8",
        "IMDBBINARY": "73.8 ± 3.9",
        "IMDBMULTI": "50.9 ± 3.8",
    },
    "GIN-0, supervised (the same)": {
        "MUTAG": "89.4 ± 5.6",
        "PTC": "64.6 ± 7.0",
        "PROTEINS": "76.2 ± 2.8",
        "NCI1": "82.7 ± 1.7",
        "IMDBBINARY": "75.1 ± 5.1",
        "IMDBMULTI": "52.3 ± 2.8",
    },
}
RIVALS = ("graph2vec", "graph2vec-in-order", "wl-histogram", "wl-kernel", "size", "atd-plain")
MAPPED = 500  # graphs on the map, at most


def folds_of(found: Sequence[Outcome]) -> np.ndarray:
    """The accuracy in every fold, the mean over seeds (k)."""
    return np.mean([outcome.arrays["accuracy"] for outcome in found], axis=0)


def scores(found: Mapping[str, Sequence[Outcome]]) -> dict[str, float]:
    """Of one row: accuracy over sets and of each set, its deviation over folds and seeds, how far vectors moved."""
    folds = {name: folds_of(outcomes) for name, outcomes in found.items()}
    means = [float(values.mean()) for values in folds.values()]
    deviations = [float(values.std(ddof=1)) for values in folds.values()]
    out = {"accuracy": float(np.mean(means)), "accuracy_sd": float(np.mean(deviations))}
    if len(folds) > 1:
        for name, mean, deviation in zip(folds, means, deviations, strict=True):
            out |= {f"accuracy_{name}": mean, f"accuracy_{name}_sd": deviation}
    for name, outcomes in found.items():
        if len(outcomes) > 1:
            out[f"seeds_{name}_sd"] = seed_deviation(outcomes)
    if moved := [o.scores["moved"] for outcomes in found.values() for o in outcomes if "moved" in o.scores]:
        out["moved"] = max(moved)
    return out


def seed_deviation(found: Sequence[Outcome]) -> float:
    return float(np.std([outcome.arrays["accuracy"].mean() for outcome in found], ddof=1))


def accuracy(row: Mapping[str, float], name: str) -> float:
    return row.get(f"accuracy_{name}", row["accuracy"])


def lead(ours_k: np.ndarray, theirs_k: np.ndarray) -> tuple[float, float, float]:
    """By how much ours is above, and the 95 % interval of it, by Student's t of the paired folds."""
    from scipy.stats import t

    above_k = ours_k - theirs_k
    mean = float(above_k.mean())
    half = float(t.ppf(0.975, len(above_k) - 1) * above_k.std(ddof=1) / len(above_k) ** 0.5)
    return mean, mean - half, mean + half


def verdict(rows: Mapping[str, Mapping[str, float]], sets: Sequence[str]) -> str:
    """On how many sets ours is above graph2vec, and where counting labels is above both."""
    if not {"atd", "graph2vec"} <= rows.keys():
        return ""
    if len(sets) == 1:
        rivals = {"graph2vec": "by graph2vec", "wl-histogram": "by counts of the labels themselves"}
        beside = ", ".join(f"{rows[row]['accuracy']:.1f} {how}" for row, how in rivals.items() if row in rows)
        return f"The class of {rows['atd']['accuracy']:.1f} % of held-out graphs is found by their vectors; {beside}."
    above = [name for name in sets if accuracy(rows["atd"], name) > accuracy(rows["graph2vec"], name)]
    said = f"Inferred vectors are above graph2vec on {len(above)} of {len(sets)} sets of graphs"
    if "wl-histogram" in rows:
        better = [
            name
            for name in sets
            if accuracy(rows["wl-histogram"], name) > max(accuracy(rows[row], name) for row in ("atd", "graph2vec"))
        ]
        said += f"; counts of the labels themselves are above both on {', '.join(better) or 'none'}"
    return said + "."


def show_scores(result: Result, sets: Sequence[str], outcomes: Mapping[str, Sequence[Outcome]]) -> None:
    body: list[list[str]] = []
    for row in result.rows:
        cells = []
        for name in sets:
            found = outcomes[f"{row}-{name}"]
            folds = folds_of(found)
            spread = f" ({seed_deviation(found):.1f})" if len(found) > 1 else ""
            cells.append(f"{folds.mean():.1f} ± {folds.std(ddof=1):.1f}{spread}")
        body.append([row, *cells])
    published = [[f"published: {row}", *(found.get(name, "") for name in sets)] for row, found in PUBLISHED.items()]
    known = [row for row in published if any(row[1:])]
    result.table(
        "Accuracy",
        ["", *sets],
        body + known,
        "Per cent of the held-out graphs whose class is found: mean and standard deviation over folds, and over seeds "
        "in brackets. Every row has the same folds and classifier, a support vector machine on x / √‖x‖ by the "
        "mean kernel of all depths. Whether the size of a graph is known to it, and C, are chosen on the training "
        "graphs of each fold. Published figures are by other folds and protocols.",
    )
    result.elsewhere = ("accuracy_", "above_")
    result.text("The rows", [f"{row}: {MEANING[row]}." for row in result.rows])
    if "atd" in result.rows:
        result.text(
            "One vector for a graph",
            [
                "Held-out graphs in another order and a solver of another seed moved no number of any vector by more "
                f"than {result.rows['atd']['moved']:.1e}."
            ],
        )


def show_leads(result: Result, sets: Sequence[str], outcomes: Mapping[str, Sequence[Outcome]]) -> None:
    """By how much inferred vectors are above each rival, fold by fold."""
    if "atd" not in result.rows:
        return
    body = []
    for row in (row for row in RIVALS if row in result.rows):
        cells = []
        for name in sets:
            mean, low, high = lead(folds_of(outcomes[f"atd-{name}"]), folds_of(outcomes[f"{row}-{name}"]))
            cells.append(f"{mean:+z.1f} ({low:+z.1f} to {high:+z.1f})")
            result.rows["atd"][f"above_{row}_{name}"] = mean
        body.append([row, *cells])
    result.table(
        "Inferred vectors above others",
        ["above", *sets],
        body,
        "Points of accuracy, and their 95 % interval by the paired folds (Student's t); negative where ours is below. "
        "Training graphs of folds overlap, so the intervals are a little too narrow.",
    )


def show_map(
    result: Result,
    sets: Sequence[str],
    outcomes: Mapping[str, Sequence[Outcome]],
    cfg: DictConfig,
    task: Settings,
    out: Path,
) -> None:
    """A map of each set, at the greatest depth."""
    depth = max(task.depths)
    for name in sets if "atd" in result.rows else ():
        data = Study(cfg, task, out, name).open(depth)
        classes = data.encoded["train"].meta["classes"]
        shown = np.sort(np.random.default_rng(0).permutation(len(data.labels))[:MAPPED])
        x_nD = outcomes[f"atd-{name}"][0].arrays[f"fisher{depth}"][shown]
        points = project(x_nD, task.method, task.perplexity, cfg.seed)
        groups = [f"class {classes[c]}" for c in data.labels[shown]]
        caption = f"{len(shown)} graphs of {name} by labels of depth {depth}, coloured by class; like graphs coincide."
        result.figure(f"map_{name}", scatter_map(points, [""] * len(shown), groups), caption, f"Map of {name}")
