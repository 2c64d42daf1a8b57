"""Bring up the corpus that conf/data names, and say what was read."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING

from tasks.engine import processes

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.corpus import Corpus


_said: set[str] = set()


def open_corpus(cfg: DictConfig, **overrides) -> Corpus:
    """Bring it up and say how much it holds."""
    corpus = opened(cfg, **overrides)
    say_once(corpus.contents())
    return corpus


def opened(cfg: DictConfig, **overrides) -> Corpus:
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


def say_once(line: str) -> None:
    """Rows open the same corpus again, and in processes of their own."""
    if line not in _said and multiprocessing.current_process().name == "MainProcess" and processes.rank() == 0:
        print(line, flush=True)
    _said.add(line)
