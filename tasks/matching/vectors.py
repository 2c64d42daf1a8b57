"""Reviewers and papers in one model: each has a vector, inferred with the weights frozen, or one for each field.

The weights are learned from all papers, each an attribute of its own; who wrote which is not told. With the weights
frozen a paper has one vector, the optimum of a convex problem, and papers together have one, too.

P papers, T papers asked for, G groups of papers, J components, D attribute dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from atd.encoded import EncodedCorpus
from atd.inference import infer
from atd.inference.effect import Effect
from atd.inference.preconditioner import typical_curvature
from atd.lm import MultiplicativeLM
from atd.models import load
from atd.vocabulary import UNK_ID
from tasks.learning.checkpoints import BEST
from tasks.learning.controls import Variant
from tasks.learning.inference import options
from tasks.learning.language_model import language_model
from tasks.learning.training import fit
from tasks.matching.parts import Group, by_parts, unit
from tasks.matching.study import Scorer

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.reviewers import Reviewers


def learn(data: Reviewers, cfg: DictConfig, out: Path, name: str, seed: int, variant: Variant) -> None:
    """The language model of these papers, each an attribute, as a checkpoint."""
    module = language_model(variant.config, data, cfg, seed)
    variant.prepare(module.model)
    fit(module, data, cfg, out, name)


@dataclass
class Vectors:
    """What a trained model says of papers, of groups of them, and of each under the other.

    The optimum x of a paper of n words tells its log-likelihood to second order: with the information I of a word, the
    slope at 0 is (l2 + n I) x, and the curvature n I. Groups and likelihoods need no more than these. On 58 reviewers
    they order submissions as vectors inferred from joined texts do (rank correlation 0.99), and as sampled likelihoods
    (0.995), in no time.
    """

    model: MultiplicativeLM
    papers: EncodedCorpus
    options: dict[str, Any]

    @classmethod
    def of(cls, data: Reviewers, cfg: DictConfig, out: Path, name: str) -> Vectors:
        model = load(out / "checkpoints" / name / BEST).model
        assert isinstance(model, MultiplicativeLM)
        return cls(model.eval(), data.papers, options(cfg.inference))

    @cached_property
    def x_PD(self) -> np.ndarray:
        """The vector of every paper."""
        return infer(self.model, *self.papers.flat, **self.options).x.double().numpy()

    @cached_property
    def words_P(self) -> np.ndarray:
        """Known words of every paper."""
        known = self.papers.owner[self.papers.tokens != UNK_ID]
        return np.maximum(np.bincount(known, minlength=len(self.papers)), 1)

    @cached_property
    def information_DD(self) -> np.ndarray:
        """What a word of text tells of x on average, at x = 0."""
        model = self.model
        with torch.no_grad():
            folded_NFF = model.folded_contexts().unflatten(0, (model.C.shape[0], -1))
            information_DD = typical_curvature(*model.output(), folded_NFF, model.constant(), Effect.of(model))
        return information_DD.double().numpy()

    @cached_property
    def slope_PD(self) -> np.ndarray:
        """Of the log-likelihood of every paper at x = 0."""
        return self.options["l2"] * self.x_PD + self.words_P[:, None] * (self.x_PD @ self.information_DD)

    def joint(self, groups: Sequence[Group]) -> np.ndarray:
        """x of groups of papers (G×D): (l2 + n I)⁻¹ of the sum of their slopes, n their words together."""
        value_D, vector_DD = np.linalg.eigh(self.information_DD)
        slope_GD = np.stack([self.slope_PD[list(group)].sum(0) for group in groups])
        words_G1 = np.array([[self.words_P[list(group)].sum()] for group in groups])
        return slope_GD @ vector_DD / (self.options["l2"] + words_G1 * np.maximum(value_D, 0)) @ vector_DD.T

    def log_ratios(self, asked: np.ndarray, groups: Sequence[Group]) -> np.ndarray:
        """log P(paper | x of a group) − log P(paper | x = 0), for a word on average (T×G)."""
        x_GD = self.joint(groups)
        slope_TD = self.slope_PD[asked] / self.words_P[asked][:, None]
        return slope_TD @ x_GD.T - 0.5 * ((x_GD @ self.information_DD) * x_GD).sum(1)


def by_distance(vectors: Vectors, J: int) -> Scorer:
    """The cosine of the vector of a paper and that of a reviewer, or of the nearest of his components."""

    def cosines(asked: np.ndarray, groups: list[Group]) -> np.ndarray:
        return unit(vectors.x_PD[asked]) @ unit(vectors.joint(groups)).T

    return by_parts(lambda: vectors.x_PD, J, cosines)


def by_likelihood(vectors: Vectors, J: int) -> Scorer:
    """How much likelier a paper is under the reviewer, or the best of his components, than under no attribute."""
    return by_parts(lambda: vectors.x_PD, J, vectors.log_ratios)
