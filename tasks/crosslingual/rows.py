"""A row of the results: the configuration as it stands, changed by what `task.changes` says of the row.

A row of `task.rows` is a ranking model, trained and judged once for each of its seeds; one of `task.controls` is judged
by the same measures, once, since chance has no part in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from atd.errors import AtdError, reason_of
from atd.pretrained import read_vectors
from atd.ranking import RankingModel
from atd.vocabulary import BOS_ID
from tasks.crosslingual.controls import CONTROLS
from tasks.crosslingual.dictionary import Dictionary, find_dictionary
from tasks.crosslingual.evaluation import evaluate
from tasks.crosslingual.settings import RANKING, Settings
from tasks.crosslingual.spaces import ModelSpace, Space
from tasks.engine.check import check
from tasks.engine.explanation import unknown_key
from tasks.engine.groups import RowSteps
from tasks.engine.rows import Outcome
from tasks.engine.settings import typed
from tasks.learning.checkpoints import BEST, whole_or_none
from tasks.learning.corpora import open_corpus
from tasks.learning.ranking import Ranking, build_ranking, load_ranking
from tasks.learning.training import fit

if TYPE_CHECKING:
    from datamodules.europarl_rcv import EuroparlRCV

GLOVE = 100  # dimension of the vectors that `glove` names; F principal components of them are used


@dataclass
class ConfiguredRow:
    """A row with its own settings and corpus."""

    name: str
    cfg: DictConfig  # with the row's changes
    out: Path
    dictionary: Callable[[], Dictionary | None] = lambda: None  # of words to translate, the same for all rows

    @cached_property
    def task(self) -> Settings:
        return typed(Settings, self.cfg.task)

    @cached_property
    def data(self) -> EuroparlRCV:
        """Opened once, when it is first needed: a row that a resumed run takes from the disk needs none."""
        data = cast("EuroparlRCV", open_corpus(self.cfg))
        objective = self.task.objective
        data.draws = objective.contrastive if self.task.draw and objective.loss == "hinge" else 0
        return data

    @property
    def seeds(self) -> range:
        return range(self.cfg.seed, self.cfg.seed + 1)

    def run(self, seed: int) -> Outcome:
        raise NotImplementedError

    def whole(self, seed: int) -> bool:
        """Whether what a finished row left besides its outcome can be read."""
        return True

    def judged(self, space: Space, **facts: Any) -> Outcome:
        """Topics are judged on the same documents whatever the seed of training."""
        dictionary = self.dictionary()
        found = evaluate(space, self.task, dictionary, self.cfg.seed)
        facts["verdicts"] = [asdict(verdict) for verdict in found.verdicts]
        facts["items"] = found.items
        facts["dictionary"] = [dictionary.name, len(dictionary.entries)] if dictionary else None
        return Outcome(found.scores, facts=facts)


class ControlRow(ConfiguredRow):
    """Nothing is trained: a space of `CONTROLS`."""

    def run(self, seed: int) -> Outcome:
        return self.judged(CONTROLS[self.task.method](self.data))


class RankingRow(ConfiguredRow):
    """A ranking model."""

    @property
    def seeds(self) -> range:
        return range(self.cfg.seed, self.cfg.seed + self.task.seeds)

    def label(self, seed: int) -> str:
        """The name of a seed's checkpoints and learning curve."""
        return self.name if self.task.seeds == 1 else f"{self.name}-seed{seed}"

    def run(self, seed: int) -> Outcome:
        """Train and judge."""
        module, curve = self.train(seed)
        return self.judged(ModelSpace(module.model.eval(), self.data), curve=curve)

    def train(self, seed: int) -> tuple[Ranking, list[dict[str, float]]]:
        """The trained model of a seed, at its best epoch, and its learning curve."""
        torch.manual_seed(seed)
        self.data.seed = seed
        config = cast("dict[str, Any]", OmegaConf.to_container(self.cfg.model, resolve=True))
        module = Ranking(
            started(config, self.data),
            self.data.vocabularies,
            self.task.objective,
            typed(RowSteps, self.cfg.optim, "optim"),
            len(self.data.train_dataloader()) * self.cfg.trainer.max_epochs,
            config,
            seed,
        )
        curve = fit(module, self.data, self.cfg, self.out, self.label(seed), monitor="val/retrieval", mode="max")
        return module, curve

    def checkpoint(self, seed: int) -> Path:
        return self.out / "checkpoints" / self.label(seed) / BEST

    def whole(self, seed: int) -> bool:
        return whole_or_none(self.checkpoint(seed)) is not None

    def model(self, seed: int) -> RankingModel:
        """The trained model of a seed, out of its checkpoint."""
        return load_ranking(self.checkpoint(seed))


def rows_of(cfg: DictConfig, out: Path) -> tuple[dict[str, RankingRow], dict[str, ControlRow]]:
    """What `task.rows` and `task.controls` name, all of it checked before the first one starts."""
    if not cfg.task.rows:
        raise AtdError(f"task.rows: name at least one of {', '.join(cfg.task.changes)}")
    dictionary = cache(lambda: find_dictionary(cfg.task.dictionary, whole_text(cfg), bool(cfg.data.get("sample"))))
    rows = {name: RankingRow(name, named(cfg, "rows", name), out, dictionary) for name in cfg.task.rows}
    controls = {name: ControlRow(name, named(cfg, "controls", name), out, dictionary) for name in cfg.task.controls}
    return rows, controls


def whole_text(cfg: DictConfig) -> EuroparlRCV:
    """The corpus as it stands before any row changes it: its words are those that are asked for."""
    return cast("EuroparlRCV", open_corpus(cfg))


def named(cfg: DictConfig, key: str, name: str) -> DictConfig:
    """The configuration of a row that `task.rows` or `task.controls` names; each takes its own kind."""
    if name not in cfg.task.changes:
        raise AtdError(f"task.{key}={name}: no such row; task.changes has {', '.join(cfg.task.changes)}")
    row = changed(cfg, name)
    if (row.task.method == RANKING) != (key == "rows"):
        other = "rows" if key == "controls" else "controls"
        raise AtdError(f"task.{key}={name}: its method is {row.task.method}; name it in task.{other}")
    sides = row.data.get("sides")  # the languages of a user's own text
    if sides and (strange := [pair for pair in row.task.pairs if not {*pair.split("-")} <= {*sides}]):
        there = f"data.sides has {', '.join(sides)}"
        raise AtdError(f"task.{key}={name}: learns from {strange[0]}, and {there}; set task.pairs or leave the row out")
    return row


def changed(cfg: DictConfig, name: str) -> DictConfig:
    """The configuration of a row; what is wrong in it is said in one line that names the row."""
    where = f"task.changes.{name}"
    changes = cfg.task.changes[name] or {}
    for group, values in changes.items():
        if group not in cfg:
            raise AtdError(unknown_key(f"{where}.{group}", list(cfg)))
        if isinstance(cfg[group], DictConfig) and not isinstance(values, DictConfig):
            raise AtdError(f"{where}.{group}={values}: must be a mapping")
    try:
        with open_dict(cfg):  # unknown keys may come in: the check names them
            row = cast("DictConfig", OmegaConf.merge(cfg, changes))
        for key in {"pairs", "limit"} & set(changes.get("task", {})):
            row.data[key] = row.task[key]  # by itself in conf/data, but the saved configuration of a run has values
        check(row)
    except (AtdError, OmegaConfBaseException) as error:
        raise AtdError(f"{where}: {reason_of(error, 1000)}") from None
    resolve_vectors(row)
    return row


def resolve_vectors(row: DictConfig) -> None:
    """`glove` becomes the path of the file, found or downloaded. A sample's words are few: it starts without."""
    for group in (row.model, row.data):
        if group.vectors == "glove" and row.data.get("sample"):
            group.vectors = None
        elif group.vectors == "glove":
            from datamodules.vectors import find_glove

            group.vectors = str(find_glove(row.paths.data, GLOVE))


def started(config: dict[str, Any], data: EuroparlRCV) -> RankingModel:
    """The model that conf/model/ranking.yaml describes, started at pretrained vectors if it names some."""
    model = build_ranking(config, data.languages, data.vocabularies)
    if model.spelling:
        with torch.no_grad():
            model.W_fv[torch.from_numpy(~data.trained())] = 0  # a word never trained is its n-grams alone
    if config["vectors"]:
        vectors, _ = read_vectors(config["vectors"], data.vocabularies[0])
        known = (vectors != vectors[BOS_ID]).any(1)  # a word without a vector shares the default row
        model.start_at(0, vectors, known, fixed=config["fixed"])
    return model
