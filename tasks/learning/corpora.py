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
    if hasattr(corpus, "encoded"):  # pairs of sentences have no texts
        say_once(sizes(corpus))
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


def sizes(corpus: Corpus) -> str:
    """How many texts there are, and how much to learn from, in a line."""
    texts = ", ".join(f"{name} {len(part):,}" for name, part in corpus.encoded.items())
    return f"{corpus.name}: texts: {texts}; to learn from {len(corpus.encoded['train'].tokens):,} tokens"


def say_once(line: str) -> None:
    """Rows open the same corpus again, and in processes of their own."""
    if line not in _said and multiprocessing.current_process().name == "MainProcess" and processes.rank() == 0:
        print(line, flush=True)
    _said.add(line)
