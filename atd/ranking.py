"""Sentences of several languages in one space: the ranking model of section 3.2, over unshared vocabularies.

B sentences, K word dim, D attribute dim, F factors, V_l words of language l, A languages, U distinct words of a batch.
`v(S) = Σ_w W_fv[l][w] · diag(W_fd x_l) · W_fk`, scaled to unit norm. The sum comes first: the gate and `W_fk` are
applied once per sentence, not once per word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from atd.attributes import AttributeTable
from atd.bags import Bags, bag_sum, bag_sum_of_rows, take
from atd.errors import AtdError
from atd.products import multiply
from atd.ragged import Ragged
from atd.spelling import Spelling

SHARING = ("shared", "separate")


class RankingModel(nn.Module):
    """One vocabulary and one vector x per language; `W_fk` and `W_fd` belong to all languages.

    `sharing="separate"` gives every language its own `W_fk` and `W_fd`: nothing is shared, the paper's baseline.
    With `spelling` a word's row is its own plus those of its character n-grams, so that rare words and cognates
    have a say; the n-gram rows are shared across languages exactly when the factors are.
    Word numbers are global: word w of language l is row `bounds[l] + w` of `W_fv`.
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        K: int = 40,
        D: int = 16,
        F: int = 64,
        sharing: str = "shared",
        activation: str = "relu",
        spelling: Spelling | None = None,
    ):
        super().__init__()
        if sharing not in SHARING:
            raise AtdError(f"sharing is one of {', '.join(SHARING)}, not {sharing!r}")
        self.languages = list(sizes)
        self.bounds = np.concatenate([[0], np.cumsum(list(sizes.values()))]).astype(np.int64)
        sets = 1 if sharing == "shared" else len(sizes)
        self.W_fk = nn.Parameter(torch.randn(sets, F, K) * F**-0.5)
        self.W_fv = nn.Parameter(torch.randn(int(self.bounds[-1]), F) * 0.1)
        self.attributes = AttributeTable(len(sizes), D, activation)
        mean = self.vectors().detach().mean().double()  # a tensor: the model may be built for its shapes alone
        self.W_fd = nn.Parameter((1 + 0.1 * torch.randn(sets, F, D)) / (D * mean))  # W_fd x ≈ 1: the gate starts open
        self.fixed_V: Tensor
        self.register_buffer("fixed_V", torch.zeros(len(self.W_fv), dtype=torch.bool))  # words that do not learn
        self.spelling = spelling
        self.W_fg = nn.Parameter(torch.zeros(spelling.buckets, F)) if spelling else None

    @property
    def L(self) -> nn.Parameter:
        return self.attributes.L

    def vectors(self) -> Tensor:
        """x of every language (A×D)."""
        return self.attributes.vectors()

    def language(self, name: str) -> int:
        if name not in self.languages:
            raise AtdError(f"the model has no language {name!r}; it knows {', '.join(self.languages)}")
        return self.languages.index(name)

    def gate(self, language: int) -> Tensor:
        """W_fd x_l (F)."""
        return self.W_fd[language % len(self.W_fd)] @ self.vectors()[language]

    def project(self, sums_BF: Tensor, language: int) -> Tensor:
        """From the sums of word rows to sentence vectors of unit norm (B×K)."""
        v_BK = multiply(sums_BF * self.gate(language), self.W_fk[language % len(self.W_fk)])
        return unit(v_BK)

    def rows(self, words_U: Tensor) -> Tensor:
        """The rows of distinct words in rising order (U×F), with their n-grams if there are any."""
        own = take(self.W_fv, words_U)
        if self.fixed_V.any():
            own = torch.where(self.fixed_V[words_U, None], own.detach(), own)
        if self.spelling is None or self.W_fg is None:
            return own
        grams = self.spelling.bags(words_U.cpu().numpy()).to(words_U.device)
        return own + bag_sum(take(self.W_fg, grams.rows), grams)

    def sums(self, bags: Bags) -> Tensor:
        """Σ_w W_fv[w] of each sentence (B×F)."""
        if self.spelling is None and not self.fixed_V.any():
            return bag_sum_of_rows(self.W_fv, bags)
        return bag_sum(self.rows(bags.rows), bags)

    def forward(self, bags: Bags, languages: tuple[int, int], first: int) -> tuple[Tensor, Tensor]:
        """v of the first `first` sentences, in one language, and of the others, in another."""
        sums_BF = self.sums(bags)
        sizes = [first, len(sums_BF) - first]
        sides = list(zip(sums_BF.split(sizes), languages, strict=True))
        if len(self.W_fk) > 1:
            source_BK, target_BK = (self.project(side_BF, language) for side_BF, language in sides)
        else:  # one product for both
            gates = (self.vectors() @ self.W_fd[0].T).unbind()
            gated_BF = torch.cat([side_BF * gates[language] for side_BF, language in sides])
            source_BK, target_BK = unit(multiply(gated_BF, self.W_fk[0])).split(sizes)
        return source_BK, target_BK

    @torch.no_grad()
    def sentences(self, texts: Ragged, language: int, weight_V: Tensor | None = None) -> Tensor:
        """v of many sentences given as local word numbers (n×K); `weight_V` weighs the words, say by idf."""
        parts = []
        for chosen in np.array_split(np.arange(len(texts)), -(-len(texts) // 4096) or 1):
            bags = Bags.of(texts.take(chosen), int(np.diff(self.bounds)[language]))
            rows_UF = self.rows(bags.rows.to(self.W_fv.device) + int(self.bounds[language]))
            if weight_V is not None:
                rows_UF = rows_UF * weight_V[bags.rows].to(rows_UF)[:, None]
            parts.append(self.project(bag_sum(rows_UF, bags.to(rows_UF.device)), language))
        return torch.cat(parts) if parts else self.W_fk.new_zeros(0, self.W_fk.shape[2])

    @torch.no_grad()
    def embeddings(self, language: int) -> Tensor:
        """T^l: the words of a language under its own vector (V_l×K), eq. 7. Not of unit norm."""
        words = torch.arange(*(int(b) for b in self.bounds[language : language + 2]), device=self.W_fv.device)
        return (self.rows(words) * self.gate(language)) @ self.W_fk[language % len(self.W_fk)]

    @torch.no_grad()
    def start_at(
        self, language: int, vectors_VE: Tensor, known_V: Tensor, rms: float = 0.3, fixed: bool = False
    ) -> None:
        """Start a language's known words at pretrained vectors: their first F principal components, at size `rms`.

        `fixed` keeps them there. The other languages then come to them, and words that training never meets stay in
        their place among the rest.
        """
        centred = vectors_VE[known_V] - vectors_VE[known_V].mean(0)
        components = torch.linalg.eigh(centred.T @ centred).eigenvectors.flip(1)[:, : self.W_fv.shape[1]]
        start = centred @ components
        words = int(self.bounds[language]) + torch.nonzero(known_V).flatten()
        self.fixed_V[words] = fixed
        self.W_fv[words] = 0.0
        self.W_fv[words, : start.shape[1]] = (start * (rms / start.std())).to(self.W_fv)


def unit(v_BK: Tensor) -> Tensor:
    """Each row scaled to length 1; a row of zeros stays one."""
    return _Unit.apply(v_BK)


class _Unit(torch.autograd.Function):
    """`functional.normalize`, whose gradient makes three times as many passes over the rows."""

    @staticmethod
    def forward(ctx: Any, v_BK: Tensor) -> Tensor:
        scale_B1 = torch.linalg.vector_norm(v_BK, dim=1, keepdim=True).clamp_(min=1e-12).reciprocal_()
        u_BK = v_BK * scale_B1
        ctx.save_for_backward(u_BK, scale_B1)
        return u_BK

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (g_BK,) = gradients
        u_BK, scale_B1 = ctx.saved_tensors
        return (g_BK - u_BK * (g_BK * u_BK).sum(1, keepdim=True)) * scale_B1
