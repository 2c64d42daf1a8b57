"""Maps of an attribute table: the plane, correlations, a family tree, nearest attributes, a − b + c.

A attributes, D attribute dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from atd.attributes import correlations
from atd.errors import AtdError
from atd.expression import parse
from atd.settings import Name, number, one_of, whole
from tasks.engine.check import Fits
from tasks.engine.result import Result
from tasks.engine.settings import typed
from tasks.figures.charts import heatmap
from tasks.figures.maps import OTHER, dendrogram, groups_of, neighbours_kept, project, scatter_map
from tasks.learning.models import trained_model

if TYPE_CHECKING:
    from omegaconf import DictConfig

DRAWN = 2000  # attributes: of every two the likeness is shown
USUAL = "^[^-/]+"  # of conf/task/maps.yaml: the family of names such as austen-emma
COLUMN = "^[^=]+(?==)"  # of names such as age=20s
NUMBERED = 60  # attributes up to which the correlation matrix can be read

FITS = Fits()


@dataclass(frozen=True)
class Settings:
    name: str
    method: Annotated[str, one_of("tsne", "mds", "pca")]
    perplexity: Annotated[float, number(0, open_low=True)]  # t-SNE's number of effective neighbours
    colour: str  # what of a name gives its colour, as a regular expression
    mix: list[Name] | Name  # mixes of attributes: which attributes are nearest to them
    shown: Annotated[int, whole(1)]  # nearest attributes listed


def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    trained = trained_model(cfg)
    names, x_AD = trained.attributes, trained.model.vectors().detach().numpy()
    if len(names) < 3:
        raise AtdError(f"checkpoint={cfg.checkpoint}: has {len(names)} attributes; a map needs at least 3")
    every = names, x_AD  # a mix may be of any
    shown = largest(trained.design.words_A, len(names))
    names, x_AD = [names[a] for a in shown], x_AD[shown]
    few = "" if len(shown) == len(every[0]) else f" The {len(shown):,} with most text, of {len(every[0]):,}."
    points = project(x_AD, task.method, task.perplexity, cfg.seed)
    kept = neighbours_kept(x_AD, points)
    groups = groups_of(names, colour_of(names, task.colour))
    result = Result("maps", "atd/neighbours_kept", {"atd": {"neighbours_kept": kept}})
    result.figure(
        "attribute_map",
        scatter_map(points, names, groups if set(groups) != {OTHER} else None),
        f"Attribute vectors in the plane ({task.method}): near = alike. {kept:.0f} % of each attribute's five "
        f"nearest are among its five nearest on the map.{few}",
    )
    order, tree = dendrogram(x_AD, names)
    result.figure("family_tree", tree, "Average linkage on 1 − correlation: the earlier two meet, the more alike.")
    similar = correlations(x_AD)
    result.verdict = verdict(names, similar, kept)
    if len(names) <= NUMBERED:
        ordered = [names[i] for i in order]
        caption = "Correlation between attribute vectors, in the order of the family tree."
        result.figure("correlation", heatmap(similar[np.ix_(order, order)], ordered, "correlation"), caption)
    nearest(result, names, similar, task.shown)
    mixes(result, *every, as_list(task.mix), task.shown)
    write_csv(out / "attribute_map.csv", names, points, groups)
    return result


def colour_of(names: Sequence[str], colour: str) -> str:
    """What was asked for; where nothing was and every name says its column, that."""
    return COLUMN if colour == USUAL and all("=" in name for name in names) else colour


def verdict(names: Sequence[str], similar: np.ndarray, kept: float) -> str:
    """The two most alike, and how far the map can be trusted."""
    i, j = map(int, np.unravel_index((similar - 3 * np.eye(len(names))).argmax(), similar.shape))
    return (
        f"Of {len(names):,} attributes {names[i]} and {names[j]} are the most alike (correlation "
        f"{signed(similar[i, j])}). The map keeps {kept:.0f} % of each one's five nearest among its five nearest."
    )


def largest(words_A: np.ndarray, A: int) -> np.ndarray:
    """The attributes that are drawn, in their order: those with most text, where they are too many."""
    order = np.argsort(-words_A, kind="stable") if len(words_A) else np.arange(A)
    return np.sort(order[:DRAWN])


def as_list(mix: str | list[str]) -> list[str]:
    return [mix] if isinstance(mix, str) else mix


def nearest(result: Result, names: Sequence[str], similar: np.ndarray, k: int) -> None:
    order = np.argsort(-(similar - 3 * np.eye(len(names))), axis=1)[:, : min(k, len(names) - 1)]
    rows = [[name, *(f"{names[j]} ({signed(similar[i, j])})" for j in order[i])] for i, name in enumerate(names)]
    result.table("Nearest attributes", ["attribute", *map(str, range(1, order.shape[1] + 1))], rows, "By correlation.")


def signed(number: float) -> str:
    return f"{number:.2f}".replace("-", "−")


def mixes(result: Result, names: Sequence[str], x_AD: np.ndarray, texts: Sequence[str], k: int) -> None:
    """a − b + c: the attributes nearest to a mix by cosine to it, those named in it left out."""
    rows = []
    unit = x_AD / np.maximum(np.linalg.norm(x_AD, axis=1, keepdims=True), 1e-12)
    for text in texts:
        weights = parse(text, names).numpy()
        x = weights @ x_AD
        cosine = unit @ x / max(np.linalg.norm(x), 1e-12)
        cosine[weights != 0] = -np.inf
        best = np.argsort(-cosine)[: min(k, int((weights == 0).sum()))]
        rows.append([text, ", ".join(f"{names[i]} ({signed(cosine[i])})" for i in best)])
    if rows:
        result.table("Nearest to a mix", ["mix", "nearest attributes (cosine)"], rows)


def write_csv(path: Path, names: Sequence[str], points: np.ndarray, groups: Sequence[str]) -> None:
    import csv

    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["attribute", "x", "y", "group"])
        writer.writerows([n, *map(float, p), g] for n, p, g in zip(names, points, groups, strict=True))
