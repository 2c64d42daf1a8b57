"""What conf/task/sentiment.yaml holds, and what the task works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from atd.errors import AtdError
from atd.settings import listed, number, one_of, some_of, whole
from tasks.engine.check import LANGUAGE_MODELS, Fits
from tasks.engine.groups import PROCESSES

if TYPE_CHECKING:
    from omegaconf import DictConfig

FITS = Fits(data=("Treebank",), models=("paper", "atd"), optims=LANGUAGE_MODELS)
STACKED = ("word-average", "mlp", "binb", "doc2vec", "lbl", "atd", "atd-labels", "atd-context")
ROWS = (*STACKED, "atd-paper", "atd-joint", "atd-tree", "atd-refined", "atd-best")
ONCE = ("word-average", "binb")  # rows without chance


@dataclass(frozen=True)
class Encoder:
    """A supervised encoder."""

    D: Annotated[int, whole(1)]
    F: Annotated[int, whole(0)]  # factors of the tensor, or feature maps per width
    dropout: Annotated[float, number(0, 0.99)]
    word_dropout: Annotated[float, number(0, 0.99)]
    lr: Annotated[float, number(0, open_low=True)]
    word_lr: Annotated[float, number(0)]  # relative to lr
    decay: Annotated[float, number(0)]
    batch_size: Annotated[int, whole(1)]
    epochs: Annotated[int, whole(1)]
    sentence: Annotated[float, number(0)]  # weight of a whole sentence; a phrase inside weighs 1
    polarity: Annotated[float, number(0)]  # weight of the positive/negative loss beside the five-way one
    average: Annotated[float, number(0, 1)]  # decay of the running mean of the weights that is evaluated


@dataclass(frozen=True)
class Tree(Encoder):
    """The encoder that follows the parse."""


@dataclass(frozen=True)
class Context(Encoder):
    """The encoder that pools context products."""

    context: Annotated[int, whole(1)]  # widest convolution


@dataclass(frozen=True)
class Labels:
    """The optimiser of the model whose attributes are the labels, where it differs."""

    lr: Annotated[float, number(0, open_low=True)]
    lr_shift: Annotated[float, number(0, open_low=True)]


@dataclass(frozen=True)
class Doc2Vec:
    epochs: Annotated[int, whole(1)]
    infer_epochs: Annotated[int, whole(1)]


@dataclass(frozen=True)
class Settings:
    name: str
    rows: Annotated[list[str], some_of(*ROWS)]
    stack: Annotated[list[str], listed(one_of(*STACKED))]  # those of `rows` that dev may add to atd-best
    seeds: Annotated[int, whole(1)]
    workers: Annotated[int, PROCESSES]  # rows run side by side, one thread each
    members: Annotated[int, whole(1)]  # tree encoders per seed in the ensemble
    tree: Tree
    context: Context
    labels: Labels
    doc2vec: Doc2Vec

    def __post_init__(self) -> None:
        for row in ("atd-refined", "atd-best"):
            if row in self.rows and "atd-tree" not in self.rows:
                raise AtdError(f"task.rows: {row} starts from atd-tree; name both")


def check_protocol(cfg: DictConfig, rows: Sequence[str]) -> None:
    """What the rows that learn x and weights together need. `atd-paper` is what the paper says, or not that row."""
    model, optim, inference = cfg.model, cfg.optim, cfg.inference
    needed = {
        "inference=sgd": inference.name == "sgd",
        "inference.samples=null": inference.samples is None,
    }
    paper = {
        "optim=sgd": optim.name == "sgd",
        "optim.samples=0": optim.samples == 0,
        "model=paper": model.name == "paper",
        "model.context=8": model.context == 8,
        "model.activation=relu": model.get("activation") == "relu",
        "model.gate_bias=0": model.get("gate_bias") == 0,
        "model.additive=false": not model.additive,
    }
    for row, settings in {"atd-joint": needed, "atd-paper": needed | paper}.items():
        missing = [setting for setting, given in settings.items() if not given]
        if row in rows and missing:
            raise AtdError(f"task.rows: {row} needs {', '.join(missing)}; experiment=sentiment_paper has them")
