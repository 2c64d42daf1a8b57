"""From configuration to a model: its start, and the trained one that a task asks for.

`atd.models` builds and loads; its names are passed on here, beside what only a configuration can say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atd.errors import AtdError
from atd.lm import LogBilinearLM, MultiplicativeLM, NextWordModel
from atd.models import Trained, build, find_checkpoint, load
from atd.pretrained import read_vectors
from atd.vocabulary import Vocabulary

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.corpus import Corpus

__all__ = ["Trained", "build", "find_checkpoint", "load", "load_for", "start_at_vectors", "trained_model"]


def start_at_vectors(
    model: NextWordModel, config: Mapping[str, Any], vocabularies: Sequence[Vocabulary]
) -> float | None:
    """Start the words at pretrained vectors, where the configuration names some.

    Returns the share of running words that had one.
    """
    if not config.get("vectors"):
        return None
    vectors, share = read_vectors(config["vectors"], vocabularies[0])
    if vectors.shape[1] != config["K"]:
        raise AtdError(f"model.K={config['K']}: {config['vectors']} holds vectors of dimension {vectors.shape[1]}")
    if not isinstance(model, LogBilinearLM | MultiplicativeLM) or len(vocabularies) > 1:
        raise AtdError("model.vectors: only model=atd and model=lbl with one vocabulary start from vectors")
    model.start_at(vectors)
    return share


def trained_model(cfg: DictConfig) -> Trained:
    """The checkpoint's model, if it has attributes."""
    if cfg.checkpoint is None:
        raise AtdError(f"task={cfg.task.name}: needs checkpoint=, a run folder or checkpoint file of a trained model")
    trained = load(cfg.checkpoint)
    if isinstance(trained.model, LogBilinearLM):
        raise AtdError(f"checkpoint={cfg.checkpoint}: a log-bilinear model has no attributes; train model=atd")
    return trained


def load_for(data: Corpus, path: str | Path) -> Trained:
    """A checkpoint whose words and attributes are those of this corpus."""
    trained = load(path)
    if trained.vocabulary != data.vocabulary or trained.attributes != list(data.attributes):
        raise AtdError(f"checkpoint={path}: trained on another corpus than data={data.name}")
    return trained
