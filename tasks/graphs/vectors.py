"""Vectors of graphs: ours, inferred, and those of graph2vec.

n graphs, D length of a vector.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from atd.encoded import EncodedCorpus
from atd.inference import infer
from atd.lm import MultiplicativeLM
from atd.vocabulary import UNK_ID
from tasks.learning.inference import options
from tasks.learning.language_model import language_model
from tasks.learning.training import fit

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from scipy.sparse import csr_matrix

    from datamodules.graphs import Graphs
    from tasks.graphs.settings import Doc2Vec


def learned(data: Graphs, cfg: DictConfig, out: Path, name: str, seed: int) -> MultiplicativeLM:
    """The language model of the labels of these graphs; each graph is an attribute."""
    module = language_model(dict(cfg.model), data, cfg, seed)
    fit(module, data, cfg, out, name)
    assert isinstance(module.model, MultiplicativeLM)
    return module.model


def inferred(model: MultiplicativeLM, graphs: EncodedCorpus, cfg: DictConfig, seed: int = 0) -> np.ndarray:
    """x of every graph with all weights frozen (n×D), in double precision; in training or unseen, all alike."""
    found = infer(model.double(), *graphs.flat, **options(cfg.inference, seed))
    return found.x.numpy()


def difference(model: MultiplicativeLM, graphs: EncodedCorpus, x_nD: np.ndarray, cfg: DictConfig) -> float:
    """How far any number of any vector moves when the graphs come in another order, to a solver of another seed."""
    order = np.random.default_rng(1).permutation(len(graphs))
    again_nD = inferred(model, graphs.take(order), cfg, seed=1)
    return float(np.abs(again_nD - x_nD[order]).max())


def graph2vec(graphs: EncodedCorpus, settings: Doc2Vec, seed: int) -> np.ndarray:
    """gensim's DBOW on the same labels (n×D): graph2vec."""
    from tasks.learning.doc2vec import train_dbow

    words = np.array(graphs.vocabulary.words)
    texts = [words[graphs[i][graphs[i] != UNK_ID]].tolist() for i in range(len(graphs))]
    model = train_dbow(texts, settings.D, window=1, min_count=1, epochs=settings.epochs, seed=seed)
    return np.asarray(model.dv.vectors[: len(graphs)], np.float64)


def histogram(graphs: EncodedCorpus) -> csr_matrix:
    """How often each known label occurs in each graph, to unit norm (n×V)."""
    from sklearn.preprocessing import normalize

    from tasks.learning.tfidf import count_table

    return normalize(count_table(graphs, len(graphs.vocabulary)).astype(np.float64)[:, UNK_ID + 1 :])
