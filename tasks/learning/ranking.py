"""Sentence ranking: the LightningModule that trains on pairs and validates by retrieval, and models to and from files.

B pairs of a batch, n contrastive sentences of a pair, K dim of a sentence vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

import lightning
import torch
from torch import Tensor

from atd import checkpoint
from atd.checkpoint import rebuilt, weights_of
from atd.contrast import LOSSES, cosines, hardest, hinge, precision_at_1, softmax, turned
from atd.errors import AtdError, reason_of
from atd.optim import RowAdaGrad
from atd.ranking import RankingModel
from atd.settings import number, one_of, whole
from atd.spelling import Spelling
from atd.vocabulary import Vocabulary
from datamodules.pairs import PairBatch
from tasks.engine.groups import RowSteps
from tasks.engine.seeding import seed_step
from tasks.learning.training import LOGGED


@dataclass(frozen=True)
class Objective:
    """What a pair is compared with, and how: `task.objective`, and the loss itself."""

    loss: Annotated[str, one_of(*LOSSES)] = "hinge"
    alpha: Annotated[float, number(0, open_low=True)] = 1.0  # margin of hinge and hardest
    contrastive: Annotated[int, whole(1)] = 5  # sentences a pair is compared with, of hinge and hardest
    temperature: Annotated[float, number(0, open_low=True)] = 0.1  # of softmax

    def __call__(self, a_BK: Tensor, b_BK: Tensor, c_BnK: Tensor | None = None) -> Tensor:
        """`c_BnK`: contrastive sentences drawn for the pairs; without them the hinge turns the batch."""
        if self.loss == "softmax":
            return softmax(a_BK, b_BK, self.temperature)
        if self.loss == "hardest":
            return hardest(a_BK, b_BK, self.contrastive, self.alpha)
        wrong_Bn = turned(a_BK, b_BK, self.contrastive) if c_BnK is None else cosines(a_BK, c_BnK)
        return hinge(a_BK, b_BK, wrong_Bn, self.alpha)


class Ranking(lightning.LightningModule):
    """Row-wise AdaGrad on all tables, its step falling linearly to zero over `steps`."""

    def __init__(
        self,
        model: RankingModel,
        vocabularies: Sequence[Vocabulary],
        objective: Objective,
        optim: RowSteps,
        steps: int,
        config: Mapping[str, Any],
        seed: int = 0,
    ):
        super().__init__()
        self.model = model
        self.vocabularies = list(vocabularies)
        self.objective = objective
        self.optim = optim
        self.steps = steps
        self.config = dict(config)  # conf/model as plain values: a checkpoint rebuilds the model from it
        self.seed = seed

    def training_step(self, batch: PairBatch, batch_idx: int) -> Tensor:
        seed_step((self.seed * 1_000_003 + self.global_step) * 1024 + self.global_rank, self.device)
        a_BK, b_BK = self.model(batch.bags, batch.languages, batch.size)
        drawn = b_BK[batch.size :]
        c_BnK = drawn.view(batch.size, -1, drawn.shape[1]) if len(drawn) else None
        loss = self.objective(a_BK, b_BK[: batch.size], c_BnK)
        if self.global_step % LOGGED == 0:
            self.log("train/loss", loss, batch_size=batch.size)
        return loss

    def validation_step(self, batch: PairBatch, batch_idx: int) -> None:
        a_BK, b_BK = self.model(batch.bags, batch.languages, batch.size)
        both = (precision_at_1(a_BK, b_BK) + precision_at_1(b_BK, a_BK)) / 2
        self.log("val/retrieval", both, batch_size=batch.size)

    def configure_optimizers(self):
        tables = [p for p in (self.model.W_fv, self.model.W_fg) if p is not None]
        factors = [self.model.W_fk, self.model.W_fd, self.model.L]
        groups = [{"params": tables, "lr": self.optim.lr}, {"params": factors, "lr": self.optim.lr_factors}]
        optimiser = RowAdaGrad(groups, weight_decay=self.optim.weight_decay)
        fall = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: max(0.0, 1 - step / self.steps))
        return [optimiser], [{"scheduler": fall, "interval": "step"}]

    def on_save_checkpoint(self, checkpoint: dict) -> None:
        """All that is needed to rebuild the model from this one file, as plain values."""
        checkpoint["atd"] = {
            "format": 1,
            "model": self.config,
            "vocabularies": [v.state() for v in self.vocabularies],
            "attributes": self.model.languages,
            "objective": asdict(self.objective),
        }


def build_ranking(
    config: Mapping[str, Any], languages: Sequence[str], vocabularies: Sequence[Vocabulary]
) -> RankingModel:
    """The model that conf/model/ranking.yaml describes, one vocabulary for each language; not started at vectors."""
    return RankingModel(
        dict(zip(languages, map(len, vocabularies), strict=True)),
        K=config["K"],
        D=config["D"],
        F=config["F"],
        sharing=config["sharing"],
        activation=config["activation"],
        spelling=spelling_of(config, languages, vocabularies) if config["ngrams"] else None,
    )


def spelling_of(config: Mapping[str, Any], languages: Sequence[str], vocabularies: Sequence[Vocabulary]) -> Spelling:
    """The n-grams of the words of all languages; shared across them exactly when the factors are."""
    words = [word for v in vocabularies for word in v.words]
    owners = [language for language, v in zip(languages, vocabularies, strict=True) for _ in v.words]
    salts = owners if config["sharing"] == "separate" else None
    return Spelling(words, list(config["ngrams"]), config["buckets"], salts)


def load_ranking(path: str | Path) -> RankingModel:
    """The model of a checkpoint file that `Ranking` wrote. Only plain values and tensors are accepted."""
    content = checkpoint.read(path)
    try:
        saved = content["atd"]
        vocabularies = [Vocabulary.from_state(state) for state in saved["vocabularies"]]
        build = partial(build_ranking, saved["model"], saved["attributes"], vocabularies)
        return cast(RankingModel, rebuilt(build, weights_of(content)))
    except Exception as error:
        problem = f"not a checkpoint of a ranking model ({reason_of(error)})"
        raise AtdError(f"{path}: {problem}; give a file it wrote") from None
