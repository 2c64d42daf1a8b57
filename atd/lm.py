"""Next-word models: log-bilinear (section 2.1), multiplicative (2.3), with unshared vocabularies (2.4).

B batch, N context size, K word dim, D attribute dim, F factors, V vocabulary, A attributes, H hidden (K or F).
Every model is a hidden vector and an output layer: `logits_BV = h_BH W_VHᵀ + b_V`. That is all the softmax,
the sampler, inference and generation need to know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from atd.attributes import AttributeTable, Blend
from atd.noise import NoiseDraw
from atd.products import multiply
from atd.softmax import SampledWords, exact_nll, rows_of, sampled_nll
from atd.tensor import FactoredTensor


class NextWordModel(nn.Module):
    """What all next-word models share. Subclasses give `hidden` and `output`."""

    C: nn.Parameter
    b: nn.Parameter
    kept: Mapping[str, tuple[Tensor, Tensor]] = {}  # rows of parameters that do not learn, and their values

    def hidden(self, context_BN: Tensor, attribute: Tensor | Blend | None = None, language: int = 0) -> Tensor:
        raise NotImplementedError

    def output(self, language: int = 0) -> tuple[Tensor, Tensor]:
        """The output layer (W_VH, b_V)."""
        raise NotImplementedError

    def embeddings(self, x_D: Tensor | None = None) -> Tensor:
        """Word vectors (V×K), under attribute vector x when given."""
        raise NotImplementedError

    def vectors(self) -> Tensor:
        """x of every attribute (A×D), of models that have attributes."""
        raise NotImplementedError

    def logits(self, context_BN: Tensor, attribute: Tensor | Blend | None = None, language: int = 0) -> Tensor:
        W, b = self.output(language)
        return functional.linear(self.hidden(context_BN, attribute, language), W, b)

    def nll(
        self,
        context_BN: Tensor,
        target_B: Tensor,
        attribute: Tensor | Blend | None = None,
        language: int = 0,
        reduction: str = "mean",
    ) -> Tensor:
        """Exact negative log-likelihood −log P(w_n | w_1:n−1, x) in nats."""
        W, b = self.output(language)
        return exact_nll(self.hidden(context_BN, attribute, language), W, b, target_B, reduction)

    def sampled_nll(
        self,
        context_BN: Tensor,
        target_B: Tensor,
        draw: NoiseDraw,
        attribute: Tensor | Blend | None = None,
        language: int = 0,
    ) -> Tensor:
        """A cheap estimate for training: the softmax over the target and the noise words of this step."""
        W, b = self.output(language)
        h_BH = self.hidden(context_BN, attribute, language)
        return sampled_nll(h_BH, W, b, target_B, draw)

    def shrinkage(self) -> Tensor | float:
        """What is added to the mean loss in training, to hold rare attributes near the average text."""
        return 0.0

    def start_bias(self, counts_V: Tensor) -> None:
        """Start b at the unigram log-probabilities, so that training need not learn word frequency."""
        p = (counts_V.double() + 1).to(self.b.device)
        with torch.no_grad():
            self.b.copy_((p / p.sum()).log())


class ConditionedModel(NextWordModel):
    """A next-word model that takes attributes: they have a table."""

    attributes: AttributeTable

    @property
    def L(self) -> nn.Parameter:
        return self.attributes.L

    def vectors(self) -> Tensor:
        """x of every attribute (A×D)."""
        return self.attributes.vectors()

    def blended(self, shares_PA: Tensor) -> Tensor:
        """x of profiles in which every attribute has a share (P×D)."""
        return self.attributes.blended(shares_PA)


def predict(r_BNK: Tensor, C: Tensor) -> Tensor:
    """r̂ = Σᵢ C⁽ⁱ⁾ r_{wᵢ} (eqs. 1 and 4), as one product over the concatenated context."""
    B, N, K = r_BNK.shape
    return r_BNK.reshape(B, N * K) @ C.transpose(1, 2).reshape(N * K, K)


class LogBilinearLM(NextWordModel):
    """The log-bilinear model of Mnih and Hinton: r̂ = Σ C⁽ⁱ⁾ r_{wᵢ}, logits = R r̂ + b. Ignores attributes."""

    def __init__(self, V: int, K: int, N: int, dropout: float = 0.0):
        super().__init__()
        self.dropout = dropout  # on r̂
        self.R = nn.Parameter(torch.empty(V, K))
        self.C = nn.Parameter(torch.empty(N, K, K))
        self.b = nn.Parameter(torch.zeros(V))
        nn.init.normal_(self.R, std=K**-0.5)
        start_contexts(self.C)

    def hidden(self, context_BN: Tensor, attribute: Tensor | Blend | None = None, language: int = 0) -> Tensor:
        r_BK = predict(rows_of(self.R, context_BN), self.C)
        return dropped(r_BK, self.dropout) if self.training else r_BK

    def output(self, language: int = 0) -> tuple[Tensor, Tensor]:
        return self.R, self.b

    def embeddings(self, x_D: Tensor | None = None) -> Tensor:
        return self.R

    @torch.no_grad()
    def start_at(self, vectors_VK: Tensor) -> None:
        self.R.copy_(vectors_VK)


class MultiplicativeLM(FactoredTensor, ConditionedModel):
    """The paper's model: f = (W_fk r̂) ∘ (W_fd x), logits = W_fvᵀ f + b (eqs. 4–6).

    The folded E is never built in a step: context words are gathered as F-vectors and pushed through W_fk.
    `dropout` acts on f. Two ablations: `gate_bias` is added to the gate, `additive` adds W_fa x to f.
    """

    c: nn.Parameter | None  # a constant part of r̂ (K), in models that have one
    gated = True

    def __init__(
        self,
        V: int,
        K: int,
        D: int,
        F: int,
        N: int,
        A: int,
        activation: str = "relu",
        gate_bias: float = 0.0,
        dropout: float = 0.0,
        additive: bool = False,
        sparse: bool = False,
    ):
        super().__init__(V, K, D, F, gate_bias)
        self.C = nn.Parameter(torch.empty(N, K, K))
        self.b = nn.Parameter(torch.zeros(V))
        self.attributes = AttributeTable(A, D, activation, sparse)
        self.register_parameter("c", None)
        self.W_fa = nn.Parameter(torch.zeros(F, D)) if additive else None
        self.dropout = dropout
        start_contexts(self.C)

    def context(self, context_BN: Tensor) -> Tensor:
        """W_fk r̂ before the gate (B×F): all of the model that does not depend on x."""
        return self.context_of(rows_of(self.W_fv, context_BN))

    def context_of(self, E_BNF: Tensor) -> Tensor:
        """The same from the rows of the context's words.

        W_fk C⁽ⁱ⁾ W_fkᵀ is multiplied out when that takes less work than pushing every word through the three.
        """
        (B, N, F), K = E_BNF.shape, self.W_fk.shape[1]
        folded, pushed = N * F * (B * F + K * (K + F)), B * K * (N * F + N * K + F)
        if folded < pushed:
            r_BF = multiply(E_BNF.flatten(1), self.folded_contexts())
        else:
            r_BF = predict(E_BNF @ self.W_fk, self.C) @ self.W_fk.T
        constant_F = self.constant()
        return r_BF if constant_F is None else r_BF + constant_F

    def constant(self) -> Tensor | None:
        """W_fk c (F), the part of `W_fk r̂` that is the same in every context."""
        return None if self.c is None else self.W_fk @ self.c

    def folded_contexts(self) -> Tensor:
        """The matrices W_fk C⁽ⁱ⁾ᵀ W_fkᵀ one below the other (NF×F): `W_fk r̂` from the rows of the context's words."""
        return (self.W_fk @ self.C.transpose(1, 2) @ self.W_fk.T).flatten(0, 1)

    def hidden(self, context_BN: Tensor, attribute: Tensor | Blend | None = None, language: int = 0) -> Tensor:
        """f_BF (eq. 5). With no attribute the gate is left out: the unconditioned model."""
        return self.hidden_of(rows_of(self.W_fv, context_BN), attribute)

    def hidden_of(self, E_BNF: Tensor, attribute: Tensor | Blend | None) -> Tensor:
        """The same from the rows of the context's words."""
        f_BF = self.context_of(E_BNF)
        if attribute is not None:
            f_BF = self.condition(f_BF, self.attributes(attribute))
        return dropped(f_BF, self.dropout) if self.training else f_BF

    def sampled_nll(
        self,
        context_BN: Tensor,
        target_B: Tensor,
        draw: NoiseDraw,
        attribute: Tensor | Blend | None = None,
        language: int = 0,
    ) -> Tensor:
        """As in every model, with one look-up for the words of context, noise and target: a look-up has a gradient of
        V×F, and two of them would be added up."""
        words = SampledWords.of(draw, target_B)
        ids = torch.cat([context_BN.flatten(), words.ids]) + self.first_word(language)
        context, others = rows_of(self.W_fv, ids).split([context_BN.numel(), len(words.ids)])
        f_BF = self.hidden_of(context.unflatten(0, context_BN.shape), attribute)
        return words.nll(f_BF, others, self.output(language)[1])

    def first_word(self, language: int) -> int:
        """The row of W_fv where the language's words begin."""
        return 0

    def condition(self, r: Tensor, x: Tensor) -> Tensor:
        """f of `W_fk r̂` (…×F) under x (…×D). It is affine in x, so that inference is convex."""
        if self.gated:
            r = r * self.gate(x)
        shift = self.shift(x)
        return r if shift is None else r + shift

    def gate(self, x: Tensor) -> Tensor:
        return super().gate(x) if self.gated else x.new_ones(*x.shape[:-1], len(self.W_fk))

    def shift(self, x: Tensor) -> Tensor | None:
        """W_fa x (…×F), what the attribute adds to the factors whatever the context."""
        return None if self.W_fa is None else x @ self.W_fa.T

    def output(self, language: int = 0) -> tuple[Tensor, Tensor]:
        return self.W_fv, self.b

    def embeddings(self, x_D: Tensor | None = None) -> Tensor:
        return self.unconditional() if x_D is None else self.conditional(x_D)


class UnsharedLM(MultiplicativeLM):
    """Words belong to one language each: `W_fv[l]` (V_l×F) and `b[l]` are slices of one table (eq. 7).

    Word ids are local to their language; a batch holds one language, which is also its attribute.
    """

    def __init__(self, sizes: Sequence[int], K: int, D: int, F: int, N: int, A: int, **options):
        super().__init__(sum(sizes), K, D, F, N, A, **options)
        self.bounds = [0]
        for size in sizes:
            self.bounds.append(self.bounds[-1] + size)

    def first_word(self, language: int) -> int:
        return self.bounds[language]

    def words(self, language: int) -> slice:
        """Rows of `W_fv` and `b` that belong to the language."""
        return slice(self.bounds[language], self.bounds[language + 1])

    def hidden(self, context_BN: Tensor, attribute: Tensor | Blend | None = None, language: int = 0) -> Tensor:
        return super().hidden(context_BN + self.first_word(language), attribute)

    def output(self, language: int = 0) -> tuple[Tensor, Tensor]:
        rows = self.words(language)
        return self.W_fv[rows], self.b[rows]


def dropped(f: Tensor, share: float) -> Tensor:
    """`functional.dropout` in training, by uniform numbers, which are made in a third of the time of its own."""
    if not share:
        return f
    return f * (torch.rand_like(f) >= share).to(f.dtype).div_(1 - share)


def start_contexts(C: Tensor) -> None:
    """0.01·N(0,1), the start used in the first author's code for the image-gated sibling of this model."""
    nn.init.normal_(C, std=0.01)
