"""Bring up the corpus that conf/data names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.corpus import Corpus


def open_corpus(cfg: DictConfig, **overrides) -> Corpus:
    """Instantiate, prepare (parse and cache, once) and open it."""
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    from atd.errors import AtdError

    try:
        corpus = instantiate(cfg.data, **overrides)
    except InstantiationException as error:
        if isinstance(error.__cause__, AtdError):
            raise error.__cause__ from None
        raise
    corpus.prepare_data()
    corpus.setup("fit")
    return corpus
