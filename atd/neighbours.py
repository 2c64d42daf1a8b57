"""Conditional word similarity: how the neighbours of words change with the attribute (section 3.4).

V vocabulary, K word dim, D attribute dim, A attributes, Q query words, k neighbours kept. Similarity is the
cosine; every answer is exact and ranks the whole vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from atd.lm import NextWordModel
from atd.vocabulary_kernel import CodedWords, library

CHUNK = 256  # query words per slab of cosines: 256 × V numbers


def unit(vectors: Tensor) -> Tensor:
    """Rows scaled to unit norm; a zero row stays zero."""
    return torch.nn.functional.normalize(vectors, dim=-1, eps=1e-12)


def query_vector(vectors_VK: Tensor, query: int | Sequence[int] | Tensor) -> Tensor:
    """A word's vector, a phrase's (the sum of its words' vectors), or a vector as given; of unit norm (K)."""
    if isinstance(query, Tensor) and query.is_floating_point():
        return unit(query)
    return unit(vectors_VK[_ids(query)].sum(0))


def neighbours(
    vectors_VK: Tensor,
    query: int | Sequence[int] | Tensor,
    k: int = 15,
    exclude: Sequence[int] | None = None,
    *,
    is_unit: bool = False,
) -> tuple[Tensor, Tensor]:
    """The k words with the highest cosine to the query: (ids, cosines), best first.

    `query` is a word id, the ids of a phrase, or a vector (K). The query's own words are left out, unless
    `exclude` says otherwise. `is_unit` promises rows of unit norm. For more than one query, make a `Space`.
    """
    if exclude is None:
        exclude = () if isinstance(query, Tensor) and query.is_floating_point() else _ids(query)
    unit_VK = vectors_VK if is_unit else unit(vectors_VK)
    k = min(k, len(unit_VK) - len(set(exclude)))
    ids_k, cosine_k = nearest(unit_VK, query_vector(vectors_VK, query), k, exclude)
    return ids_k, cosine_k.to(unit_VK.dtype)


def nearest(unit_VK: Tensor, unit_K: Tensor, k: int, exclude: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
    """The k words with the highest cosine, of equal ones the lower id first: (ids, cosines in double precision).

    Single precision chooses those that may be among them, with room for its rounding; double precision ranks them.
    """
    rough_V = unit_VK @ unit_K
    rough_V[list(exclude)] = -torch.inf
    rounding = 2 * (len(unit_K) + 8) * torch.finfo(rough_V.dtype).eps
    likely = (rough_V >= rough_V.topk(max(k, 1)).values[-1:] - rounding).nonzero()[:, 0]
    cosine = (unit_VK[likely].double() * unit_K.double()).sum(1)
    best = cosine.argsort(descending=True, stable=True)[:k]
    return likely[best], cosine[best]


class Space:
    """Words made ready for many queries: of unit norm and, where there is a compiler, with a coarse copy beside them.

    Every answer is the exact ranking of the whole vocabulary, of equal cosines the lower id first.
    """

    def __init__(self, vectors_VK: Tensor):
        self.unit_VK = unit(vectors_VK.detach())
        passes = library(self.unit_VK)
        self.coded = CodedWords(passes, self.unit_VK) if passes else None

    def of_words(self, ids: Sequence[int] | Tensor, k: int = 15) -> tuple[Tensor, Tensor]:
        """The k nearest of each word, which is not its own neighbour: (ids Q×k, cosines Q×k), best first."""
        own_Q = torch.as_tensor(ids, device=self.unit_VK.device)
        k = min(k, len(self.unit_VK) - 1)
        found_Qk, cosine_Qk = self._ranked(self.unit_VK[own_Q], k + 1)
        other = found_Qk != own_Q[:, None]
        other[other.all(1), -1] = False  # where k + 1 others are as near as the word itself
        return found_Qk[other].view(len(other), k), cosine_Qk[other].view(len(other), k)

    def of_vectors(self, vectors_QK: Tensor, k: int = 15, exclude: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        """The k nearest of each vector, without the words of `exclude`: (ids Q×k, cosines Q×k), best first."""
        left_out = torch.as_tensor(sorted(set(exclude)), device=self.unit_VK.device)
        k = min(k, len(self.unit_VK) - len(left_out))
        found_Qm, cosine_Qm = self._ranked(unit(vectors_QK), k + len(left_out))
        kept = ~torch.isin(found_Qm, left_out)
        kept &= kept.cumsum(1) <= k
        return found_Qm[kept].view(len(kept), k), cosine_Qm[kept].view(len(kept), k)

    def _ranked(self, unit_QK: Tensor, k: int) -> tuple[Tensor, Tensor]:
        if self.coded:
            found_Qk, cosine_Qk = self.coded.nearest(unit_QK, k)
        else:
            rows = [nearest(self.unit_VK, unit_K, k) for unit_K in unit_QK]
            found_Qk, cosine_Qk = (torch.stack(column) for column in zip(*rows, strict=True))
        return found_Qk, cosine_Qk.to(self.unit_VK.dtype)


@dataclass
class Comparison:
    """Neighbours of one query under A and B. Lists hold word ids, best first."""

    near_a: list[int]
    near_b: list[int]
    cosine_a: list[float]
    cosine_b: list[float]
    common: list[int]
    unique_a: list[int]
    unique_b: list[int]
    rank_in_b: list[int]  # where the words of near_a stand under B, counted from 1
    rank_in_a: list[int]


def compare(
    model: NextWordModel,
    query: int | Sequence[int],
    x_a: Tensor,
    x_b: Tensor,
    k: int = 15,
    exclude: Sequence[int] = (),
) -> Comparison:
    """Top-k neighbours under each attribute vector: common to both, only A's, only B's (table 5 of the paper).

    Common words are ordered by the sum of their two ranks.
    """
    cosine_a, cosine_b = (_cosines(model, query, x, exclude) for x in (x_a, x_b))
    k = min(k, int(cosine_a.isfinite().sum()))
    best_a, best_b = cosine_a.topk(k), cosine_b.topk(k)
    near_a, near_b = best_a.indices.tolist(), best_b.indices.tolist()
    in_a, in_b = set(near_a), set(near_b)
    return Comparison(
        near_a=near_a,
        near_b=near_b,
        cosine_a=best_a.values.tolist(),
        cosine_b=best_b.values.tolist(),
        common=sorted(in_a & in_b, key=lambda w: (near_a.index(w) + near_b.index(w), near_a.index(w))),
        unique_a=[w for w in near_a if w not in in_b],
        unique_b=[w for w in near_b if w not in in_a],
        rank_in_b=ranks(cosine_b[None], best_a.indices[None])[0].tolist(),
        rank_in_a=ranks(cosine_a[None], best_b.indices[None])[0].tolist(),
    )


def ranks(cosine_QV: Tensor, words_Qk: Tensor) -> Tensor:
    """The rank of given words in each row, counted from 1 (Q×k)."""
    values = cosine_QV.gather(1, words_Qk)
    columns = [(cosine_QV > values[:, j : j + 1]).sum(1) for j in range(values.shape[1])]
    return torch.stack(columns, 1) + 1


def rank_shift(unit_a_VK: Tensor, unit_b_VK: Tensor, words_Q: Tensor, k: int = 15) -> Tensor:
    """How far the neighbourhoods of words move between A and B (Q): 0 when the k nearest stay the k nearest.

    The mean over both directions of log(rank in the other list / k), ranks within the top k counting as k.
    A shift of 1 says a neighbour under one attribute stands typically e·k places down under the other.
    """
    k = min(k, len(unit_a_VK) - 1)
    shifts = []
    for words in words_Q.split(CHUNK):
        cosines = [u[words] @ u.T for u in (unit_a_VK, unit_b_VK)]
        for cosine in cosines:
            cosine.scatter_(1, words[:, None], -torch.inf)
        near_a, near_b = (cosine.topk(k, sorted=False).indices for cosine in cosines)
        down = torch.cat([ranks(cosines[1], near_a), ranks(cosines[0], near_b)], 1)
        shifts.append((down.float() / k).clamp(min=1).log().mean(1))
    return torch.cat(shifts)


def attribute_shift(model: NextWordModel, query: int, x_AD: Tensor, x_D: Tensor, k: int = 15) -> Tensor:
    """How far each attribute moves one word's neighbourhood away from where it is under x (A)."""
    base = unit(model.embeddings(x_D))
    word = torch.tensor([query], device=base.device)
    return torch.cat([rank_shift(base, unit(model.embeddings(x)), word, k) for x in x_AD])


def _cosines(model: NextWordModel, query: int | Sequence[int], x_D: Tensor, exclude: Sequence[int]) -> Tensor:
    vectors_VK = model.embeddings(x_D).detach()
    cosine_V = unit(vectors_VK) @ query_vector(vectors_VK, query)
    cosine_V[[*_ids(query), *exclude]] = -torch.inf
    return cosine_V


def _ids(query: int | Sequence[int] | Tensor) -> list[int]:
    return torch.as_tensor(query).reshape(-1).tolist()
