"""Vectors for words the pretrained file lacks, from the company they keep in the corpus.

Khodak et al. (2018), "A la carte embedding": a linear map A, fitted on the words that have a vector, takes the
mean vector of a word's neighbours to its own vector; it is then applied to the words without one.
"""

from __future__ import annotations

import torch
from torch import Tensor


def induce(vectors_VK: Tensor, has_V: Tensor, tokens: Tensor, offsets: Tensor, reach: int = 4) -> Tensor:
    """`vectors_VK` with the rows of words that lack a vector, but occur in the texts, filled in."""
    V, K = vectors_VK.shape
    text = torch.repeat_interleave(torch.arange(len(offsets) - 1), offsets.diff())
    total, count = torch.zeros(V, K), torch.zeros(V)
    for d in range(1, reach + 1):
        pair = (text[d:] == text[:-d]).nonzero()[:, 0]
        for word, neighbour in ((tokens[pair], tokens[pair + d]), (tokens[pair + d], tokens[pair])):
            known = has_V[neighbour]
            total.index_add_(0, word[known], vectors_VK[neighbour[known]])
            count.index_add_(0, word[known], torch.ones(int(known.sum())))
    mean_VK = total / count.clamp(min=1)[:, None]
    fit = has_V & (count > 0)
    weight = (1 + count[fit]).log().sqrt()[:, None]
    A = torch.linalg.lstsq(weight * mean_VK[fit], weight * vectors_VK[fit], driver="gelsd").solution
    lacks = ~has_V & (count > 0)
    out = vectors_VK.clone()
    out[lacks] = mean_VK[lacks] @ A
    return out
