"""Vectors for words the pretrained file lacks, from the company they keep in the corpus.

The method is *à la carte embedding* (Khodak et al., 2018). A linear map A, fitted on the words that have a vector,
takes the mean vector of a word's neighbours to the word's own vector; it is then applied to the words without one. In
the fit a word with `count` known neighbours weighs log(1 + count), because means over few neighbours are noisy.

V vocabulary, K word dim.
"""

from __future__ import annotations

import torch
from torch import Tensor


def induce(vectors_VK: Tensor, has_V: Tensor, tokens: Tensor, offsets: Tensor, reach: int = 4) -> Tensor:
    """`vectors_VK` with the rows of words that lack a vector, but occur in the texts, filled in.

    `has_V` says which words have one, `tokens` and `offsets` are the texts, and neighbours are at most `reach` words
    away.
    """
    mean_VK, count_V = _company(vectors_VK, has_V, tokens, offsets, reach)
    fit = has_V & (count_V > 0)
    root_weight = (1 + count_V[fit]).log().sqrt()[:, None]
    A = torch.linalg.lstsq(root_weight * mean_VK[fit], root_weight * vectors_VK[fit], driver="gelsd").solution
    lacks = ~has_V & (count_V > 0)
    out = vectors_VK.clone()
    out[lacks] = mean_VK[lacks] @ A
    return out


def _company(vectors_VK: Tensor, has_V: Tensor, tokens: Tensor, offsets: Tensor, reach: int) -> tuple[Tensor, Tensor]:
    """The mean vector of each word's neighbours that have one (V×K), and how many these are (V)."""
    V, K = vectors_VK.shape
    total_VK = torch.zeros(V, K)
    count_V = torch.zeros(V)
    text = torch.repeat_interleave(torch.arange(len(offsets) - 1), offsets.diff())
    for distance in range(1, reach + 1):
        first = (text[distance:] == text[:-distance]).nonzero()[:, 0]  # of two words of one text so far apart
        left = tokens[first]
        right = tokens[first + distance]
        for word, neighbour in ((left, right), (right, left)):
            known = has_V[neighbour]
            total_VK.index_add_(0, word[known], vectors_VK[neighbour[known]])
            count_V.index_add_(0, word[known], torch.ones(int(known.sum())))
    return total_VK / count_V.clamp(min=1)[:, None], count_V
