"""The rows of a study of graphs: one for each set and kind of vector, all judged by the same folds and classifier.

n graphs, D length of a vector, k folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from atd.errors import AtdError
from tasks.engine.rows import Outcome, Row, Store
from tasks.graphs.classifier import (
    ALONE,
    accuracies,
    damped,
    gaussian_kernel,
    judge,
    kernels_of,
    linear_kernel,
    majority,
    size_kernel,
)
from tasks.graphs.vectors import difference, graph2vec, histogram, in_fisher_metric, inferred, learned
from tasks.learning.corpora import open_corpus

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from scipy.sparse import csr_matrix

    from datamodules.graphs import Graphs
    from tasks.graphs.settings import Settings

MEANING = {
    "atd": "a vector inferred for each graph by one model of the labels of all graphs, whose classes it is not told",
    "atd-plain": "the same vectors by plain distances, not by the model's Fisher metric",
    "atd-unseen": "as atd, the model of every fold learned from its training graphs alone",
    "graph2vec": "paragraph vectors (gensim, DBOW) of the same labels of all graphs, which come in random order",
    "graph2vec-in-order": "the same, graphs in the order of the file: where that is by class, the vectors tell it",
    "wl-histogram": "counts of the labels",
    "wl-kernel": "counts of unit norm by a linear kernel: the Weisfeiler–Lehman subtree kernel",
    "size": "the number of nodes and nothing else",
    "shuffled": "the vectors of atd with classes dealt to the graphs at random: chance",
    "majority": "the commonest class",
}
SEEDED = ("atd", "atd-unseen", "graph2vec")  # rows of several seeds; those that explain them have one
ON_ATD = ("atd-plain", "shuffled")  # rows that judge the vectors of atd


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
        after = (self.name("atd"),) if name in ON_ATD else ()
        seeds = range(self.cfg.seed, self.cfg.seed + (self.task.seeds if name in SEEDED else 1))
        return Row(self.name(name), run, seeds, after)

    def name(self, row: str) -> str:
        return f"{row}-{self.dataset}"

    def judged(self, depths: Iterable[np.ndarray], label_n: np.ndarray | None = None, **arrays: np.ndarray) -> Outcome:
        """The accuracy of each fold by the kernels of all depths."""
        data = self.open(self.task.depths[0])
        label_n = data.labels if label_n is None else label_n
        found, chosen = accuracies(kernels_of(depths, data.sizes), label_n, data.folds, self.task.C)
        return Outcome(arrays={"accuracy": np.array(found), **arrays}, facts={"kernels": chosen})

    def vectors(self, seed: int, kind: str) -> list[np.ndarray]:
        """Those of atd at every depth: `plain`, or in the metric of `fisher`."""
        atd = Store(self.out / "rows").load(self.name("atd"), seed)
        return [atd.arrays[f"{kind}{depth}"] for depth in self.task.depths]


def rows_of(cfg: DictConfig, task: Settings, out: Path) -> list[Row]:
    for row in ON_ATD:
        if row in task.rows and "atd" not in task.rows:
            raise AtdError(f"task.rows: {row} judges the vectors of atd; name atd, too")
    return [Study(cfg, task, out, dataset).row(name) for dataset in sets_of(cfg, task) for name in task.rows]


def sets_of(cfg: DictConfig, task: Settings) -> list[str]:
    return task.sets or [cfg.data.dataset]


def near(x_nD: np.ndarray | csr_matrix) -> np.ndarray:
    """The kernel by which all vectors are judged (n×n)."""
    return gaussian_kernel(damped(x_nD))


def run_atd(study: Study, seed: int) -> Outcome:
    arrays: dict[str, np.ndarray] = {}
    moved = []
    for depth in study.task.depths:
        data = study.open(depth)
        model = learned(data, study.cfg, study.out, f"{study.dataset}-{depth}-{seed}", seed)
        graphs = data.encoded["train"]
        x_nD = inferred(model, graphs, study.cfg)
        arrays |= {f"plain{depth}": x_nD, f"fisher{depth}": in_fisher_metric(model, x_nD)}
        held = data.folds[0]
        moved.append(difference(model, graphs.take(held), x_nD[held], study.cfg))
    outcome = study.judged([near(arrays[f"fisher{depth}"]) for depth in study.task.depths], **arrays)
    return replace(outcome, scores={"moved": max(moved)})


def run_plain(study: Study, seed: int) -> Outcome:
    return study.judged([near(x_nD) for x_nD in study.vectors(seed, "plain")])


def run_unseen(study: Study, seed: int) -> Outcome:
    """Weights, metric, kernel and C of a fold know nothing of the graphs it holds out; the list of labels is of all."""
    data = {depth: study.open(depth) for depth in study.task.depths}
    first = data[study.task.depths[0]]
    found, moved = [], []
    for k, test in enumerate(first.folds):
        train = np.setdiff1d(np.arange(len(first.labels)), test)
        depths = []
        for depth, whole in data.items():
            part = whole.part(train)
            model = learned(part, study.cfg, study.out, f"{study.dataset}-{depth}-{seed}-fold{k}", seed)
            x_nD = inferred(model, part.encoded["all"], study.cfg)
            moved.append(difference(model, part.encoded["all"].take(test), x_nD[test], study.cfg))
            depths.append(near(in_fisher_metric(model, x_nD)))
        accuracy, _ = judge(kernels_of(depths, first.sizes), first.labels, test, study.task.C)
        found.append(accuracy)
    return Outcome({"moved": max(moved)}, {"accuracy": np.array(found)})


def run_graph2vec(study: Study, seed: int, shuffled: bool = True) -> Outcome:
    graphs = [study.open(depth).encoded["train"] for depth in study.task.depths]
    return study.judged([near(graph2vec(part, study.task.graph2vec, seed, shuffled)) for part in graphs])


def run_histogram(study: Study, seed: int) -> Outcome:
    return study.judged([near(histogram(study.open(depth).encoded["train"])) for depth in study.task.depths])


def run_kernel(study: Study, seed: int) -> Outcome:
    from sklearn.preprocessing import normalize

    counts = [histogram(study.open(depth).encoded["train"]) for depth in study.task.depths]
    return study.judged([linear_kernel(normalize(count_nV)) for count_nV in counts])


def run_size(study: Study, seed: int) -> Outcome:
    data = study.open(study.task.depths[0])
    found, _ = accuracies({ALONE: size_kernel(data.sizes)}, data.labels, data.folds, study.task.C)
    return Outcome(arrays={"accuracy": np.array(found)})


def run_shuffled(study: Study, seed: int) -> Outcome:
    """Classes are dealt to the graphs at random: they mean nothing, in training or at test."""
    label_n = study.open(study.task.depths[0]).labels
    order = np.random.default_rng(seed).permutation(len(label_n))
    return study.judged([near(x_nD) for x_nD in study.vectors(seed, "fisher")], label_n[order])


def run_majority(study: Study, seed: int) -> Outcome:
    data = study.open(study.task.depths[0])
    return Outcome(arrays={"accuracy": np.array([majority(data.labels, fold) for fold in data.folds])})


RUN: dict[str, Callable[..., Outcome]] = {
    "atd": run_atd,
    "atd-plain": run_plain,
    "atd-unseen": run_unseen,
    "graph2vec": run_graph2vec,
    "graph2vec-in-order": partial(run_graph2vec, shuffled=False),
    "wl-histogram": run_histogram,
    "wl-kernel": run_kernel,
    "size": run_size,
    "shuffled": run_shuffled,
    "majority": run_majority,
}
