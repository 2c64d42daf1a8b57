"""What one would write without a second thought, and what our speed is compared with. Plain PyTorch, nothing clumsy.

B batch, N context size, K word dim, D attribute dim, F factors, V vocabulary, A attributes, T words of a sentence.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from atd.lm import MultiplicativeLM, NextWordModel
from atd.ragged import Ragged
from atd.vocabulary import BOS_ID
from atd.windows import WindowBatch


class NaiveLM(nn.Module):
    """The multiplicative model as a module of embeddings and linear layers, with full logits."""

    def __init__(self, V: int, K: int, D: int, F: int, N: int, A: int):
        super().__init__()
        self.words, self.attributes = nn.Embedding(V, F), nn.Embedding(A, D)
        self.factors, self.gate = nn.Linear(K, F, bias=False), nn.Linear(D, F, bias=False)
        self.contexts = nn.Linear(N * K, K, bias=False)
        self.bias = nn.Parameter(torch.zeros(V))

    @classmethod
    def like(cls, ours: MultiplicativeLM) -> NaiveLM:
        """With the weights of our model."""
        (V, F), (A, D), (N, K, _) = ours.W_fv.shape, ours.L.shape, ours.C.shape
        naive = cls(V, K, D, F, N, A).to(ours.b.device)
        with torch.no_grad():
            naive.words.weight.copy_(ours.W_fv)
            naive.attributes.weight.copy_(ours.L)
            naive.factors.weight.copy_(ours.W_fk)
            naive.gate.weight.copy_(ours.W_fd)
            naive.contexts.weight.copy_(ours.C.permute(1, 0, 2).flatten(1))
            naive.bias.copy_(ours.b)
        return naive

    def hidden(self, context_BN: Tensor, attribute_B: Tensor) -> Tensor:
        r_BK = self.contexts((self.words(context_BN) @ self.factors.weight).flatten(1))
        return self.factors(r_BK) * self.gate(self.attributes(attribute_B).relu())

    def forward(self, context_BN: Tensor, attribute_B: Tensor) -> Tensor:
        return functional.linear(self.hidden(context_BN, attribute_B), self.words.weight, self.bias)


def train_step(model: nn.Module, optimiser: torch.optim.Optimizer, batch: WindowBatch) -> None:
    optimiser.zero_grad()
    functional.cross_entropy(model(batch.context, batch.attribute), batch.target).backward()
    optimiser.step()


def sample_one_by_one(model: NextWordModel, x_BD: Tensor, length: int, generator: torch.Generator) -> Tensor:
    """One text after the other, one word after the other: softmax over the vocabulary, a draw, append."""
    N, texts = model.C.shape[0], []
    with torch.no_grad():
        for x_D in x_BD:
            text = [BOS_ID] * N
            for _ in range(length):
                logits_1V = model.logits(torch.tensor([text[-N:]]), x_D[None])
                text.append(int(torch.multinomial(logits_1V.softmax(1), 1, generator=generator)))
            texts.append(text[N:])
    return torch.tensor(texts)


class PaddedRanking(nn.Module):
    """Sentence vectors from padded batches: `nn.Embedding` with a padding word, summed over the words."""

    def __init__(self, sizes: tuple[int, int], K: int, D: int, F: int):
        super().__init__()
        self.words = nn.ModuleList(nn.Embedding(V + 1, F, padding_idx=V) for V in sizes)
        self.languages = nn.Embedding(2, D)
        self.gate, self.factors = nn.Linear(D, F, bias=False), nn.Linear(F, K, bias=False)

    def forward(self, sentences: list[Tensor], language: int) -> Tensor:
        table: Any = self.words[language]
        padded_BT = pad_sequence(sentences, batch_first=True, padding_value=table.padding_idx)
        gate_F = self.gate(self.languages.weight[language].relu())
        return functional.normalize(self.factors(table(padded_BT).sum(1) * gate_F), dim=1)


class BagRanking(nn.Module):
    """The same without padding: the words of a sentence summed by `nn.EmbeddingBag`."""

    def __init__(self, sizes: tuple[int, int], K: int, D: int, F: int):
        super().__init__()
        self.words = nn.ModuleList(nn.EmbeddingBag(V, F, mode="sum", sparse=True) for V in sizes)
        self.languages = nn.Embedding(2, D)
        self.gate, self.factors = nn.Linear(D, F, bias=False), nn.Linear(F, K, bias=False)

    def forward(self, sentences: Ragged, language: int) -> Tensor:
        words, offsets = sentences.flat
        gate_F = self.gate(self.languages.weight[language].relu())
        sums_BF = self.words[language](words, offsets[:-1])
        return functional.normalize(self.factors(sums_BF * gate_F), dim=1)


def ranking_step(
    model: PaddedRanking, optimiser: torch.optim.Optimizer, source: list[Tensor], target: list[Tensor], n: int = 5
) -> None:
    """The paper's hinge against n other sentences of the batch."""
    a_BK, b_BK = model(source, 0), model(target, 1)
    near_B = (a_BK - b_BK).square().sum(1)
    wrong = [b_BK.roll(int(k), 0) for k in torch.randint(1, len(b_BK), (n,))]
    loss = sum((1 + near_B - (a_BK - c_BK).square().sum(1)).clamp(min=0) for c_BK in wrong).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
