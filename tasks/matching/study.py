"""What every row is asked: scores of submissions for reviewers, and, to choose by without ratings, of held-out papers.

P papers, R reviewers, T papers asked for, k versions of the profiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from tasks.engine.rows import Outcome
from tasks.learning.corpora import open_corpus
from tasks.matching.loss import Ratings, costs, loss, own_above_others, pairs_right

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.readers.reviewers import Pool
    from datamodules.reviewers import Reviewers
    from tasks.matching.settings import Settings

Profiles: TypeAlias = list[list[int]]  # of each reviewer, his papers
Scorer: TypeAlias = Callable[[Profiles, np.ndarray], np.ndarray]  # (profiles, papers asked for) → scores (T×R)
CENTRED = ", centred"
FEWEST = 2  # papers of a reviewer of whom one may be held out


@dataclass(frozen=True)
class Fold:
    """Profiles without some papers, these papers, and who wrote which of them."""

    profiles: Profiles
    asked: np.ndarray
    own_TR: np.ndarray


@dataclass
class Study:
    cfg: DictConfig
    task: Settings

    def open(self, **changes: object) -> Reviewers:
        return cast("Reviewers", open_corpus(self.cfg, **changes))

    @cached_property
    def data(self) -> Reviewers:
        return self.open()

    @cached_property
    def pool(self) -> Pool:
        return self.data.pool

    @property
    def asked(self) -> np.ndarray:
        return np.array(self.pool.submissions)

    @cached_property
    def ratings(self) -> Ratings | None:
        return Ratings.of(self.pool.ratings, len(self.pool.reviewers)) if self.pool.ratings else None

    @cached_property
    def folds(self) -> list[Fold]:
        """Every paper of the first version is held out once, from all reviewers who have it."""
        profiles = self.pool.versions[0]
        papers = sorted({paper for own in profiles for paper in own})
        drawn = np.random.default_rng(0).permutation(len(papers)) % self.task.folds
        fold_of = dict(zip(papers, drawn.tolist(), strict=True))
        return [self.fold(profiles, {p for p in papers if fold_of[p] == k}) for k in range(self.task.folds)]

    def fold(self, profiles: Profiles, held: set[int]) -> Fold:
        """A reviewer all of whose papers are held out keeps them: nobody is without a profile."""
        kept = [[p for p in own if p not in held] or own for own in profiles]
        asked = np.array(sorted(held), dtype=np.int64)
        out = [{p for p in own if p in held} if len(own) >= FEWEST else set() for own in profiles]
        own_TR = np.array([[paper in mine for mine in out] for paper in asked.tolist()], bool)
        return Fold(kept, asked, own_TR.reshape(len(asked), len(profiles)))

    def held(self, scorer: Scorer) -> np.ndarray:
        """Scores of all held-out papers, fold after fold (P×R)."""
        return np.concatenate([scorer(fold.profiles, fold.asked) for fold in self.folds])

    @cached_property
    def own_PR(self) -> np.ndarray:
        """Who wrote which of them."""
        return np.concatenate([fold.own_TR for fold in self.folds])

    def proxy(self, held_PR: np.ndarray) -> float:
        """How often own papers are above others', in per cent: the mean over folds."""
        parts = np.split(held_PR, np.cumsum([len(fold.asked) for fold in self.folds])[:-1])
        found = [own_above_others(part, fold.own_TR) for part, fold in zip(parts, self.folds, strict=True)]
        return float(np.mean(found))

    def best(self, options: Mapping[str, Scorer]) -> Outcome:
        """The scores of the option that the proxy finds best, as it is or centred. No rating is looked at."""
        held = {name: self.held(scorer) for name, scorer in options.items()}
        held |= {name + CENTRED: centred(held_PR) for name, held_PR in held.items()}
        proxies = {name: self.proxy(held_PR) for name, held_PR in held.items()}
        name = max(proxies, key=lambda name: proxies[name])
        scorer = options[name.removesuffix(CENTRED)]
        score_kSR = np.stack([scorer(profiles, self.asked) for profiles in self.pool.versions])
        score_kSR = centred(score_kSR) if name.endswith(CENTRED) else score_kSR
        return self.outcome(score_kSR, held[name], proxies[name], {"chosen": name, "proxies": proxies})

    def outcome(self, score_kSR: np.ndarray, held_PR: np.ndarray, proxy: float, facts: dict) -> Outcome:
        """With the loss, if there are ratings."""
        scores = {"own_above_others": proxy}
        arrays = {"scores": score_kSR.astype(np.float32), "held": held_PR.astype(np.float32)}
        if self.ratings is not None:
            scores |= judged(self.ratings, [self.ratings.of_scores(score_SR) for score_SR in score_kSR])
            arrays["cost"] = cost_of(self.ratings, [self.ratings.of_scores(score_SR) for score_SR in score_kSR])
        return Outcome(scores, arrays, facts)


def centred(scores: np.ndarray) -> np.ndarray:
    """Less the mean over reviewers, the last axis: a paper that is near everyone says little of each."""
    return scores - scores.mean(-1, keepdims=True)


def cost_of(ratings: Ratings, said_kn: list[np.ndarray]) -> np.ndarray:
    """The cost of every reviewer, the mean over versions (R)."""
    return np.mean([costs(ratings, said_n)[0] for said_n in said_kn], axis=0)


def judged(ratings: Ratings, said_kn: list[np.ndarray]) -> dict[str, float]:
    """Loss and shares of pairs ordered rightly, means over versions; the loss with its deviation over versions."""
    losses = [loss(*costs(ratings, said_n)) for said_n in said_kn]
    right = [pairs_right(ratings, said_n) for said_n in said_kn]
    out = {"loss": float(np.mean(losses))}
    if len(losses) > 1:
        out["versions_sd"] = float(np.std(losses, ddof=1))
    return out | {kind: float(np.mean([one[kind] for one in right])) for kind in right[0]}
