"""Reviewers and papers in one model: each has a vector, inferred with the weights frozen, or one for each field.

The weights are learned from all papers, each an attribute of its own; who wrote which is not told. So a paper, a part
of a profile and a whole profile get their vectors in the same way: the one optimum of a convex problem.

P papers, T papers asked for, R reviewers, G groups of papers, J components, D attribute dim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from atd.encoded import EncodedCorpus
from atd.inference import infer
from atd.likelihood import log_likelihoods
from atd.lm import MultiplicativeLM
from atd.models import load
from atd.ragged import offsets_of
from atd.vocabulary import UNK_ID
from tasks.learning.checkpoints import BEST
from tasks.learning.controls import Variant
from tasks.learning.inference import options
from tasks.learning.language_model import language_model
from tasks.learning.training import fit
from tasks.matching.study import Profiles, Scorer

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.reviewers import Reviewers

Group: TypeAlias = tuple[int, ...]  # papers that share a vector


def learn(data: Reviewers, cfg: DictConfig, out: Path, name: str, seed: int, variant: Variant) -> None:
    """The language model of these papers, each an attribute, as a checkpoint."""
    module = language_model(variant.config, data, cfg, seed)
    variant.prepare(module.model)
    fit(module, data, cfg, out, name)


@dataclass
class Vectors:
    """What a trained model says of papers and of groups of them; no group is asked for twice."""

    model: MultiplicativeLM
    papers: EncodedCorpus
    options: dict[str, Any]
    found: dict[Group, np.ndarray] = field(default_factory=dict)
    likely: dict[tuple[bytes, Group], np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Reviewers, cfg: DictConfig, out: Path, name: str) -> Vectors:
        model = load(out / "checkpoints" / name / BEST).model
        assert isinstance(model, MultiplicativeLM)
        return cls(model.eval(), data.papers, options(cfg.inference))

    def inferred(self, groups: Sequence[Group]) -> np.ndarray:
        """x of groups of papers, each read as one text (G×D)."""
        new = [group for group in dict.fromkeys(groups) if group not in self.found]
        if new:
            tokens = np.concatenate([self.papers[paper] for group in new for paper in group])
            lengths = [sum(len(self.papers[paper]) for paper in group) for group in new]
            texts = torch.from_numpy(tokens.astype(np.int64)), torch.from_numpy(offsets_of(lengths))
            x_GD = infer(self.model, *texts, **self.options).x.double().numpy()
            self.found |= dict(zip(new, x_GD, strict=True))
        return np.stack([self.found[group] for group in groups])

    @cached_property
    def x_PD(self) -> np.ndarray:
        return self.inferred([(paper,) for paper in range(len(self.papers))])

    def log_ratios(self, asked: np.ndarray, groups: Sequence[Group], samples: int) -> np.ndarray:
        """log P(paper | x of a group) − log P(paper | x = 0), for a word on average (T×G)."""
        key = asked.tobytes()
        new = [group for group in dict.fromkeys(groups) if (key, group) not in self.likely]
        if new:
            texts = self.papers.take(asked)
            x_GD = self.inferred(new)
            x = torch.from_numpy(np.vstack([x_GD, np.zeros_like(x_GD[:1])])).to(self.model.b)
            log_p = log_likelihoods(self.model, texts, x, samples)
            known_T = np.bincount(texts.owner[texts.tokens != UNK_ID], minlength=len(texts))
            ratio_TG = (log_p[:, :-1] - log_p[:, -1:]) / np.maximum(known_T, 1)[:, None]
            self.likely |= {(key, group): ratio_TG[:, g] for g, group in enumerate(new)}
        return np.stack([self.likely[key, group] for group in groups], 1)

    def parts(self, own: Sequence[int], J: int) -> list[Group]:
        """A reviewer's papers in J groups by k-means of the directions of their vectors, fewer where he has few."""
        J = min(J, len(own))
        if J == 1:
            return [tuple(own)]
        from sklearn.cluster import KMeans

        part_n = KMeans(J, n_init=4, random_state=0).fit_predict(unit(self.x_PD[list(own)]))
        return [tuple(np.array(own)[part_n == j].tolist()) for j in np.unique(part_n)]


def unit(x_nD: np.ndarray) -> np.ndarray:
    return x_nD / np.maximum(np.linalg.norm(x_nD, axis=1, keepdims=True), 1e-300)


def by_components(vectors: Vectors, J: int, score_of: Callable[[np.ndarray, list[Group]], np.ndarray]) -> Scorer:
    """A reviewer as J vectors, of which the best counts; `score_of` papers and groups is T×G."""

    def score(profiles: Profiles, asked: np.ndarray) -> np.ndarray:
        parts = [vectors.parts(own, J) for own in profiles]
        score_TG = score_of(asked, [group for groups in parts for group in groups])
        ends = np.cumsum([len(groups) for groups in parts])[:-1]
        return np.stack([part_TJ.max(1) for part_TJ in np.split(score_TG, ends, axis=1)], 1)

    return score


def by_distance(vectors: Vectors, J: int) -> Scorer:
    """The cosine of the vector of a paper and that of a reviewer, or of the nearest of his components."""
    return by_components(vectors, J, lambda asked, groups: unit(vectors.x_PD[asked]) @ unit(vectors.inferred(groups)).T)


def by_likelihood(vectors: Vectors, J: int, samples: int) -> Scorer:
    """How much likelier a paper is under the reviewer, or the best of his components, than under no attribute."""
    return by_components(vectors, J, lambda asked, groups: vectors.log_ratios(asked, groups, samples))
