"""Graphs as texts: the words of a graph are its Weisfeiler–Lehman labels, and the graph is the attribute."""

from __future__ import annotations

import copy
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.ragged import offsets_of
from atd.settings import whole
from atd.vocabulary import UNK, UNK_ID, Vocabulary
from datamodules.corpus import Corpus, sample_folder
from datamodules.readers.graphs import Graph, find_graphs, read_graphs

FOLDS = 10
FEWEST = 6  # graphs of a class


class Graphs(Corpus):
    """Every graph is a document and an attribute of its own. Nobody looks at its class but the classifier.

    A node has depth + 1 labels: its tag, or without tags its number of neighbours; then, again and again, its own label
    with those of its neighbours. A document has them node by node, each node opened by `<unk>`, which inference never
    predicts. So with a context of one word the label of a node is predicted from its label one step shallower, and the
    order of the nodes does not matter.

    - `dataset`: the name of the set, as its files have it.
    - `depth`: how many times labels are gathered from neighbours.
    - `min_count`: a label of fewer graphs is unknown.
    - `sample`: shapes of our own making, in place of the files under `path`.
    """

    def __init__(self, *, dataset: str, depth: Annotated[int, whole(0)] = 2, sample: bool = False, **common: Any):
        super().__init__(**common)
        self.dataset = dataset
        self.depth = depth
        self.path = sample_folder(self.cache) / "graphs" if sample else self.path

    def inputs(self) -> list[Path]:
        return [place.path for place in find_graphs(self.path, self.dataset)]

    def settings(self) -> dict[str, Any]:
        return {"dataset": self.dataset, "depth": self.depth}

    def build(self) -> EncodedCorpus:
        graphs, folds = read_graphs(self.path, self.dataset)
        texts = labels_of(graphs, self.depth)
        counts = Counter(word for text in texts for word in text if word != UNK)
        graphs_of = Counter(word for text in texts for word in set(text))
        counts = Counter({word: n for word, n in counts.items() if graphs_of[word] >= self.min_count})
        vocabulary = Vocabulary.from_counts(counts, max_size=self.max_size)
        ids = [vocabulary.index.get(word, UNK_ID) for text in texts for word in text]
        classes, label_n = np.unique([graph.label for graph in graphs], return_inverse=True)
        check_classes(self.dataset, classes, label_n)
        return EncodedCorpus(
            tokens=np.array(ids, np.int32),
            offsets=offsets_of([len(text) for text in texts]),
            attributes=np.arange(len(graphs), dtype=np.int32),
            columns={"label": label_n.astype(np.int32)},
            meta={
                "vocabulary": vocabulary.state(),
                "attributes": [str(i) for i in range(len(graphs))],
                "column": "graph",
                "classes": [str(c) for c in classes],
                "folds": folds or drawn_folds(label_n),
            },
        )

    def setup(self, stage: str | None = None) -> None:
        """All graphs are learned from, as in graph2vec: their classes are not. Epochs are compared on the same ones."""
        if not self.encoded:
            whole = self._open(rebuild=False)
            self.encoded = {"train": whole, "val": whole}

    def part(self, rows: np.ndarray) -> Graphs:
        """Some graphs to learn from. `encoded["all"]` has all graphs; a label that none of those has is unknown."""
        whole = self.encoded["train"]
        graphs = whole.take(rows)
        count_V = np.bincount(graphs.tokens, minlength=len(self.vocabulary))
        vocabulary = Vocabulary(self.vocabulary.words, count_V)
        meta = {**whole.meta, "vocabulary": vocabulary.state(), "attributes": [self.attributes[i] for i in rows]}
        graphs = replace(graphs, attributes=np.arange(len(rows), dtype=np.int32), meta=meta)
        other = copy.copy(self)
        known = replace(whole, tokens=np.where(count_V[whole.tokens] > 0, whole.tokens, UNK_ID))
        other.encoded = {"train": graphs, "val": graphs, "all": known}
        return other

    @property
    def labels(self) -> np.ndarray:
        """The class of every graph (n)."""
        return np.asarray(self.encoded["train"].columns["label"])

    @property
    def sizes(self) -> np.ndarray:
        """The number of nodes of every graph (n)."""
        return np.diff(self.encoded["train"].offsets) // (self.depth + 2)

    @property
    def folds(self) -> list[np.ndarray]:
        """The graphs that are held out in each fold."""
        return [np.array(fold) for fold in self.encoded["train"].meta["folds"]]


def labels_of(graphs: Sequence[Graph], depth: int) -> list[list[str]]:
    """The Weisfeiler–Lehman labels of every graph, node by node; a label's name does not depend on other graphs."""
    tagged = len({tag for graph in graphs for tag in graph.tags}) > 1
    return [one_graph(graph, depth, tagged) for graph in graphs]


def one_graph(graph: Graph, depth: int, tagged: bool) -> list[str]:
    first = graph.tags if tagged else [len(near) for near in graph.neighbours]
    levels = [[f"0:{tag}" for tag in first]]
    for d in range(1, depth + 1):
        last = levels[-1]
        gathered = (" ".join([last[v], *sorted(last[u] for u in near)]) for v, near in enumerate(graph.neighbours))
        levels.append([f"{d}:{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}" for text in gathered])
    return [word for node in zip(*levels, strict=True) for word in (UNK, *node)]


def check_classes(dataset: str, classes: np.ndarray, label_n: np.ndarray) -> None:
    """Folds, and folds within them, need some graphs of each class."""
    count = np.bincount(label_n)
    if len(classes) < 2:
        raise AtdError(f"data.dataset={dataset}: all graphs are of one class; there is nothing to tell apart")
    if count.min() < FEWEST:
        rare = classes[count.argmin()]
        few = f"class {rare} has {count.min()} graphs"
        raise AtdError(f"data.dataset={dataset}: {few}; a class needs at least {FEWEST}, leave the others out")


def drawn_folds(label_n: np.ndarray) -> list[list[int]]:
    """Ten folds in which classes have equal shares, always the same; fewer where a class has fewer graphs."""
    from sklearn.model_selection import StratifiedKFold

    folds = max(2, min(FOLDS, int(np.bincount(label_n).min())))
    parts = StratifiedKFold(folds, shuffle=True, random_state=0).split(label_n, label_n)
    return [test.tolist() for _, test in parts]
