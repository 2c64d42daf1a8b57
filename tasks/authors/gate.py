"""The multiplicative model as a judge of authors, with and without a memory of what each author wrote.

n texts, A authors, D attribute dim, B words of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from atd.encoded import EncodedCorpus
from atd.likelihood import of_words
from atd.lm import MultiplicativeLM
from atd.own_counts import OwnCounts
from atd.ragged import Ragged
from datamodules.table import TableCorpus
from tasks.authors.study import JUDGED, Study, authors_of
from tasks.engine.rows import Outcome
from tasks.learning.language_model import language_model, optim_of
from tasks.learning.training import fit

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from tasks.authors.settings import Settings

VECTORS = "atd-vectors"  # the row without the memory
TUNING = 200_000  # words of validation text by which the memory's share is found


def by_gate(study: Study, cfg: DictConfig, task: Settings, out: Path, shuffled: bool, seed: int) -> Outcome:
    """log P(text | author) of every part, by the model with its memory; and by its vectors alone.

    `shuffled`: the authors of the training texts are dealt at random, for vectors and memory alike.
    """
    study.open()
    name = checkpoint_of("shuffled" if shuffled else "atd", seed, task)
    judge, curve = learned(study, study.training(seed if shuffled else None), cfg, task, out, name, seed)
    arrays = {}
    for part in JUDGED:
        arrays[part], arrays[alone(part)] = judge.scores(study.part("words", part))
    return Outcome(arrays=arrays, facts={"curve": curve, "share": judge.memory.share_A.tolist()})


@dataclass(frozen=True)
class Judge:
    """A trained model, the authors' vectors and their memory."""

    model: MultiplicativeLM
    memory: OwnCounts
    x_AD: Tensor
    samples: int

    def scores(self, texts: Ragged) -> tuple[np.ndarray, np.ndarray]:
        """log P(text | author) (n×A) with the memory, and without."""
        owner = torch.from_numpy(texts.owner)
        with_nA, without_nA = (torch.zeros(len(texts), len(self.x_AD), dtype=torch.float64) for _ in range(2))
        for at, log_q_BA in of_words(self.model, texts, self.x_AD, self.samples):
            log_p_BA = self.memory.over(texts.windows(self.memory.N, at), words_at(texts, at), log_q_BA)
            with_nA.index_add_(0, owner[at], torch.from_numpy(log_p_BA))
            without_nA.index_add_(0, owner[at], torch.from_numpy(log_q_BA))
        return with_nA.float().numpy(), without_nA.float().numpy()


def learned(
    study: Study, data: TableCorpus, cfg: DictConfig, task: Settings, out: Path, name: str, seed: int
) -> tuple[Judge, list[dict[str, float]]]:
    """(what the training texts of `data` make of all authors, the learning curve)."""
    module = language_model(cfg.model, data, cfg, seed, optim_of(cfg))
    curve = fit(module, data, cfg, out, name)
    model = module.model.eval()
    assert isinstance(model, MultiplicativeLM)
    x_AD = study.vectors(model)
    memory = remembered(study, data.encoded["train"], task.order.words)
    tune(memory, model, study, x_AD, task.samples)
    return Judge(model, memory, x_AD, task.samples), curve


def checkpoint_of(name: str, seed: int, task: Settings) -> str:
    return name if task.seeds == 1 else f"{name}-seed{seed}"


def best_of(out: Path, seed: int, task: Settings) -> Path:
    """The model of a finished row."""
    return out / "checkpoints" / checkpoint_of("atd", seed, task) / "best.ckpt"


def alone(part: str) -> str:
    """The name of a part's scores by the vectors alone."""
    return f"{part} {VECTORS}"


def without_memory(outcome: Outcome) -> Outcome:
    """What the vectors alone found."""
    return Outcome(arrays={part: outcome.arrays[alone(part)] for part in JUDGED})


def remembered(study: Study, train: EncodedCorpus, order: int) -> OwnCounts:
    """What each author wrote in the training texts."""
    memory = OwnCounts(len(study.corpora["words"].vocabulary), len(study.authors), order)
    author_T = study.place[authors_of(train)][train.owner]
    return memory.fit(train.windows(memory.N), train.tokens.astype(np.int64), author_T)


def tune(memory: OwnCounts, model: MultiplicativeLM, study: Study, x_AD: Tensor, samples: int) -> None:
    """Find the memory's shares by some validation texts."""
    val = study.part("words", "val")
    order = np.random.default_rng(0).permutation(len(val))
    some = order[np.cumsum(val.lengths[order]) <= TUNING]
    texts = val.take(some)
    author_T = study.labels("val")[some][texts.owner]
    places, log_q = [], []
    for at, log_q_BA in of_words(model, texts, x_AD, samples):
        places.append(at)
        log_q.append(log_q_BA[np.arange(len(at)), author_T[at]])
    if places:
        at = np.concatenate(places)
        memory.tune(texts.windows(memory.N, at), words_at(texts, at), author_T[at], np.concatenate(log_q))


def words_at(texts: Ragged, at: np.ndarray) -> np.ndarray:
    return texts.tokens[at].astype(np.int64)
