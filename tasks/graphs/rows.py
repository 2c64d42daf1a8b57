"""The rows of a study of graphs: one for each set and kind of vector, all judged by the same folds and classifier.

n graphs, D length of a vector, k folds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from atd.errors import AtdError
from tasks.engine.rows import Outcome, Row, Store
from tasks.graphs.classifier import accuracies, choose, damped, gaussian_kernel, linear_kernel, majority, score
from tasks.graphs.vectors import difference, graph2vec, histogram, inferred, learned
from tasks.learning.corpora import open_corpus

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.graphs import Graphs
    from tasks.graphs.settings import Settings

MEANING = {
    "atd": "a vector inferred for each graph by one model of the labels of all graphs, whose classes it is not told",
    "atd-unseen": "the same, the model of every fold learned from its training graphs alone",
    "graph2vec": "paragraph vectors (gensim, DBOW) of the same labels of all graphs",
    "wl-histogram": "counts of the labels, brought to unit norm",
    "wl-kernel": "the same by a linear kernel: the Weisfeiler–Lehman subtree kernel",
    "shuffled": "the vectors of atd with classes dealt to the graphs at random: chance",
    "majority": "the commonest class",
}


@dataclass(frozen=True)
class Study:
    """One set of graphs."""

    cfg: DictConfig
    task: Settings
    out: Path
    dataset: str

    def open(self, depth: int) -> Graphs:
        return cast("Graphs", open_corpus(self.cfg, dataset=self.dataset, depth=depth))

    def row(self, name: str) -> Row:
        run: Callable[[int], Outcome] = partial(RUN[name], self)
        after = (self.name("atd"),) if name == "shuffled" else ()
        return Row(self.name(name), run, (self.cfg.seed,), after)

    def name(self, row: str) -> str:
        return f"{row}-{self.dataset}"

    def judged(
        self, kernels: dict[int, np.ndarray], label_n: np.ndarray | None = None, **arrays: np.ndarray
    ) -> Outcome:
        """The accuracy of each fold; `kernels` has one for each depth."""
        data = self.open(self.task.depths[0])
        label_n = data.labels if label_n is None else label_n
        found, depths = accuracies(kernels, label_n, data.folds, self.task.C)
        return Outcome(arrays={"accuracy": np.array(found), **arrays}, facts={"depths": depths})


def rows_of(cfg: DictConfig, task: Settings, out: Path) -> list[Row]:
    if "shuffled" in task.rows and "atd" not in task.rows:
        raise AtdError("task.rows: shuffled judges the vectors of atd; name atd, too")
    return [Study(cfg, task, out, dataset).row(name) for dataset in sets_of(cfg, task) for name in task.rows]


def sets_of(cfg: DictConfig, task: Settings) -> list[str]:
    return task.sets or [cfg.data.dataset]


def run_atd(study: Study, seed: int) -> Outcome:
    vectors: dict[int, np.ndarray] = {}
    moved = []
    for depth in study.task.depths:
        data = study.open(depth)
        model = learned(data, study.cfg, study.out, f"{study.dataset}-{depth}", seed)
        graphs = data.encoded["train"]
        vectors[depth] = inferred(model, graphs, study.cfg)
        held = data.folds[0]
        moved.append(difference(model, graphs.take(held), vectors[depth][held], study.cfg))
    kernels = {depth: gaussian_kernel(damped(x_nD)) for depth, x_nD in vectors.items()}
    outcome = study.judged(kernels, **{f"x{depth}": x_nD for depth, x_nD in vectors.items()})
    return replace(outcome, scores={"moved": max(moved)})


def run_unseen(study: Study, seed: int) -> Outcome:
    """Weights, depth and C of a fold know nothing of the graphs it holds out; the list of labels is that of all."""
    data = {depth: study.open(depth) for depth in study.task.depths}
    first = data[study.task.depths[0]]
    found, moved = [], []
    for k, test in enumerate(first.folds):
        train = np.setdiff1d(np.arange(len(first.labels)), test)
        kernels = {}
        for depth, whole in data.items():
            part = whole.part(train)
            model = learned(part, study.cfg, study.out, f"{study.dataset}-{depth}-fold{k}", seed)
            x_nD = inferred(model, part.encoded["all"], study.cfg)
            moved.append(difference(model, part.encoded["all"].take(test), x_nD[test], study.cfg))
            kernels[depth] = gaussian_kernel(damped(x_nD))
        depth, C = choose(kernels, first.labels, train, study.task.C)
        found.append(100 * score(kernels[depth], first.labels, train, test, C))
    return Outcome({"moved": max(moved)}, {"accuracy": np.array(found)})


def run_graph2vec(study: Study, seed: int) -> Outcome:
    depths = study.task.depths
    graphs = {depth: study.open(depth).encoded["train"] for depth in depths}
    return study.judged({d: gaussian_kernel(damped(graph2vec(graphs[d], study.task.graph2vec, seed))) for d in depths})


def run_histogram(study: Study, seed: int, kernel: Callable = gaussian_kernel) -> Outcome:
    counts = {depth: histogram(study.open(depth).encoded["train"]) for depth in study.task.depths}
    return study.judged({depth: kernel(count_nV) for depth, count_nV in counts.items()})


def run_shuffled(study: Study, seed: int) -> Outcome:
    """Classes are dealt to the graphs at random: they mean nothing, in training or at test."""
    atd = Store(study.out / "rows").load(study.name("atd"), study.cfg.seed)
    data = study.open(study.task.depths[0])
    kernels = {depth: gaussian_kernel(damped(atd.arrays[f"x{depth}"])) for depth in study.task.depths}
    order = np.random.default_rng(seed).permutation(len(data.labels))
    return study.judged(kernels, data.labels[order])


def run_majority(study: Study, seed: int) -> Outcome:
    data = study.open(study.task.depths[0])
    return Outcome(arrays={"accuracy": np.array([majority(data.labels, fold) for fold in data.folds])})


RUN: dict[str, Callable[..., Outcome]] = {
    "atd": run_atd,
    "atd-unseen": run_unseen,
    "graph2vec": run_graph2vec,
    "wl-histogram": run_histogram,
    "wl-kernel": partial(run_histogram, kernel=linear_kernel),
    "shuffled": run_shuffled,
    "majority": run_majority,
}
