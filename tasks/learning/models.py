"""From configuration and vocabulary to a model, and from a checkpoint file back to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from atd.errors import AtdError
from atd.lm import LogBilinearLM, MultiplicativeLM, NextWordModel, TensorLM, UnsharedLM
from atd.mixture_lm import MixtureLM
from atd.pretrained import read_vectors
from atd.vocabulary import Vocabulary

if TYPE_CHECKING:
    from omegaconf import DictConfig


def build(config: Mapping[str, Any], sizes: Sequence[int], A: int) -> NextWordModel:
    """The model that conf/model describes, for vocabularies of these sizes and A attributes."""
    config = dict(config)
    name, V, K, N = config["name"], sum(sizes), config["K"], config["context"]
    if name == "lbl":
        return LogBilinearLM(V, K, N)
    if name == "tensor":
        return TensorLM(V, K, config["D"], N, A, config["activation"])
    keys = ("activation", "gate_bias", "dropout", "additive", "sparse")
    options = {key: config[key] for key in keys}
    if name == "mixture":
        return MixtureLM(V, K, config["D"], config["F"], N, A, components=config["components"], **options)
    if name == "unshared":
        return UnsharedLM(sizes, K, config["D"], config["F"], N, A, **options)
    return MultiplicativeLM(V, K, config["D"], config["F"], N, A, **options)


def start(model: NextWordModel, config: Mapping[str, Any], vocabularies: Sequence[Vocabulary]) -> float | None:
    """Start b at the word frequencies and, when given, the words at pretrained vectors.

    Returns the share of running words that had a pretrained vector.
    """
    model.start_bias(torch.cat([torch.from_numpy(v.counts) for v in vocabularies]))
    if not config.get("vectors"):
        return None
    vectors, share = read_vectors(config["vectors"], vocabularies[0])
    if vectors.shape[1] != config["K"]:
        raise AtdError(f"model.K={config['K']}: {config['vectors']} holds vectors of dimension {vectors.shape[1]}")
    if not isinstance(model, LogBilinearLM | MultiplicativeLM) or len(vocabularies) > 1:
        raise AtdError("model.vectors: only model=atd and model=lbl with one vocabulary start from vectors")
    model.start_at(vectors)
    return share


@dataclass
class Trained:
    """A model out of a checkpoint, with the names that make its numbers readable."""

    model: NextWordModel
    vocabularies: list[Vocabulary]
    attributes: list[str]
    config: dict[str, Any]
    tokeniser: dict[str, Any] | None = None  # settings for `atd.tokeniser.Tokeniser`

    @property
    def vocabulary(self) -> Vocabulary:
        return self.vocabularies[0]


def load(path: str | Path) -> Trained:
    """Read a checkpoint file, or the best one of a run folder. Only plain values and tensors are accepted."""
    path = find_checkpoint(Path(path))
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        saved = content["atd"]
        vocabularies = [Vocabulary.from_state(state) for state in saved["vocabularies"]]
        model = build(saved["model"], [len(v) for v in vocabularies], len(saved["attributes"]))
        weights = {k.removeprefix("model."): v for k, v in content["state_dict"].items() if k.startswith("model.")}
        model.load_state_dict(weights)
    except Exception as error:
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise AtdError(
            f"{path}: not a checkpoint of this program ({reason}); give a file or run folder it wrote"
        ) from None
    names, tokeniser = list(saved["attributes"]), saved.get("tokeniser")
    return Trained(model.eval(), vocabularies, names, dict(saved["model"]), tokeniser)


def find_checkpoint(path: Path) -> Path:
    """The file itself, or inside a run folder the best checkpoint of its first (main) model."""
    if path.is_file():
        return path
    for pattern in ("checkpoints/atd/best.ckpt", "checkpoints/*/best.ckpt", "best.ckpt"):
        if found := sorted(path.glob(pattern)):
            return found[0]
    raise AtdError(f"checkpoint={path}: no such file, and no checkpoints/*/best.ckpt under it")


def trained_model(cfg: DictConfig) -> Trained:
    """The checkpoint's model, if it has attributes."""
    if cfg.checkpoint is None:
        raise AtdError(f"task={cfg.task.name}: needs checkpoint=, a run folder or checkpoint file of a trained model")
    trained = load(cfg.checkpoint)
    if isinstance(trained.model, LogBilinearLM):
        raise AtdError(f"checkpoint={cfg.checkpoint}: a log-bilinear model has no attributes; train model=atd")
    return trained
