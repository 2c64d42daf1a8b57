"""The word vectors that the rows start from: pretrained ones, and for words without one a guess from their company."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from atd.a_la_carte import induce
from atd.errors import AtdError
from atd.pretrained import coverage, find_vectors
from atd.ragged import Ragged
from atd.vocabulary import Vocabulary

SPREAD = 0.4  # of the components of random vectors, about that of GloVe's


@dataclass(frozen=True)
class Words:
    vectors_VK: Tensor
    coverage: float  # share of the running words with a pretrained vector


def start_words(path: str | None, K: int, vocabulary: Vocabulary, sentences: Ragged) -> Words:
    """The vectors of a file, completed from the training sentences; without a file, random ones."""
    if path is None:
        generator = torch.Generator().manual_seed(0)
        return Words(SPREAD * torch.randn(len(vocabulary), K, generator=generator), 0.0)
    vectors_VK, has_V = find_vectors(path, vocabulary)
    if vectors_VK.shape[1] != K:
        raise AtdError(f"model.K={K}: {path} holds vectors of dimension {vectors_VK.shape[1]}")
    completed_VK = induce(vectors_VK, torch.from_numpy(has_V), *sentences.flat)
    return Words(completed_VK, coverage(has_V, vocabulary))
