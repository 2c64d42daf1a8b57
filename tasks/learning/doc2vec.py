"""gensim's paragraph vectors (DBOW), the same in every process.

D length of a vector.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from atd.errors import AtdError

if TYPE_CHECKING:
    from gensim.models.doc2vec import Doc2Vec


def check_gensim(rows: Iterable[str]) -> None:
    """Before anything is trained: it is no part of the platform, since its licence is not as permissive."""
    if (row := next(iter(rows), None)) is not None and find_spec("gensim") is None:
        raise AtdError(f"the row {row} needs gensim; pip install gensim, or leave the row out")


def train_dbow(texts: Sequence[list[str]], D: int, window: int, min_count: int, epochs: int, seed: int) -> Doc2Vec:
    """Trained on tokenised texts."""
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    logging.getLogger("gensim").setLevel(logging.WARNING)
    return Doc2Vec(
        [TaggedDocument(text, [i]) for i, text in enumerate(texts)],
        vector_size=D,
        window=window,
        min_count=min_count,
        dm=0,
        dbow_words=0,
        negative=5,
        sample=1e-3,
        epochs=epochs,
        workers=1,
        seed=seed + 1,
        hashfxn=stable_hash,
    )


def stable_hash(text: str) -> int:
    """The same in every process; Python's own hash is not."""
    return zlib.crc32(text.encode())


def infer_document(model: Doc2Vec, words: list[str], epochs: int) -> np.ndarray:
    """`model.infer_vector` with a start that is the same in every process: gensim's own heeds no `hashfxn`."""
    from gensim.models.doc2vec import train_document_dbow

    D = model.vector_size
    generator = np.random.default_rng(stable_hash(" ".join(words)))
    x_1D = ((generator.random((1, D)) - 0.5) / D).astype(np.float32)
    for alpha in np.linspace(model.alpha, model.min_alpha, epochs):
        train_document_dbow(
            model,
            words,
            [0],
            float(alpha),
            np.zeros(D, dtype=np.float32),
            learn_words=False,
            learn_hidden=False,
            doctag_vectors=x_1D,
            doctags_lockf=np.ones(1, dtype=np.float32),
        )
    return x_1D[0]
