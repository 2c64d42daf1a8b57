"""Vectors of graphs: ours, inferred, and those of graph2vec.

n graphs, D length of a vector.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from atd.encoded import EncodedCorpus
from atd.inference import infer
from atd.inference.effect import Effect
from atd.inference.preconditioner import typical_curvature
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

RIDGE = 1e-3  # of the largest eigenvalue: directions in which x says next to nothing are not blown up


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


def in_fisher_metric(model: MultiplicativeLM, x_nD: np.ndarray) -> np.ndarray:
    """I^(−1/2) x (n×D), where I is the Fisher information of a label about x, at x = 0.

    At the optimum l2·x is the gradient of the log-likelihood, the score of the graph. Products of scores in the metric
    I⁻¹ are the Fisher kernel of the model (Jaakkola and Haussler 1999): it is the same in whatever coordinates x is.
    """
    with torch.no_grad():
        folded_NFF = model.folded_contexts().unflatten(0, (model.C.shape[0], -1))
        information_DD = typical_curvature(*model.output(), folded_NFF, model.constant(), Effect.of(model))
        value_D, vector_DD = np.linalg.eigh(information_DD.double().numpy())
    value_D = np.maximum(value_D, 0) + RIDGE * value_D.max()
    return x_nD @ (vector_DD / np.sqrt(value_D))


def difference(model: MultiplicativeLM, graphs: EncodedCorpus, x_nD: np.ndarray, cfg: DictConfig) -> float:
    """How far any number of any vector moves when the graphs come in another order, to a solver of another seed."""
    order = np.random.default_rng(1).permutation(len(graphs))
    again_nD = inferred(model, graphs.take(order), cfg, seed=1)
    return float(np.abs(again_nD - x_nD[order]).max())


def graph2vec(graphs: EncodedCorpus, settings: Doc2Vec, seed: int, shuffled: bool) -> np.ndarray:
    """gensim's DBOW on the same labels (n×D): graph2vec.

    Its weights drift while it goes from graph to graph, and every vector keeps a trace of when its graph was met. Where
    a file is sorted by class, that trace tells the class; so graphs are `shuffled` first.
    """
    from tasks.learning.doc2vec import train_dbow

    order = np.arange(len(graphs))
    if shuffled:
        order = np.random.default_rng(seed).permutation(order)
    words = np.array(graphs.vocabulary.words)
    texts = [words[graphs[i][graphs[i] != UNK_ID]].tolist() for i in order.tolist()]
    model = train_dbow(texts, settings.D, window=1, min_count=1, epochs=settings.epochs, seed=seed)
    return np.asarray(model.dv.vectors[order.argsort()], np.float64)


def histogram(graphs: EncodedCorpus) -> csr_matrix:
    """How often each known label occurs in each graph (n×V)."""
    from tasks.learning.tfidf import count_table

    return count_table(graphs, len(graphs.vocabulary)).astype(np.float64)[:, UNK_ID + 1 :]
