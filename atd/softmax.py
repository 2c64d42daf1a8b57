"""The loss over the vocabulary: exact, or over a sample of noise words. Both are one pass over the same three products.

B batch, H hidden, V vocabulary, S candidates (all words, or the noise words shared by the batch), P columns.

−log P(target) = log Z with Z = 1 + Σ_{s ≠ target} exp(h·w_s + b_s − goal), goal the target's logit. Nothing but the
products costs much: the bias and −goal are two more columns of the first product, the sum Z is a column of the second,
and 1/Z scales the rows of h in the third. What is left per logit is one exp, in place, in a chunk that stays in cache.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

LOGITS = 5 * 2**20  # alive at once: 20 MB stay in cache and are not given back to the system between steps
ROWS = 128  # of the batch in a chunk, at least, and a multiple of: fewer make slow products
HUGE = 1e30  # a sum of exponentials near the end of single precision


def exact_nll(h_BH: Tensor, W_VH: Tensor, b_V: Tensor, target_B: Tensor, reduction: str = "mean") -> Tensor:
    """Cross-entropy of the full softmax; the B×V logits never exist at once."""
    if torch.is_autocast_enabled(h_BH.device.type):
        options = nn.LinearCrossEntropyOptions(batch_chunk_size=512, chunking_method=None)
        return functional.linear_cross_entropy(
            h_BH, W_VH, target_B, linear_bias=b_V, reduction=reduction, options=options
        )
    own_BH, own_B = functional.embedding(target_B, W_VH), functional.embedding(target_B, b_V[:, None])[:, 0]
    return _SoftmaxNLL.apply(h_BH, W_VH, b_V, own_BH, own_B, target_B, _weight(reduction, len(h_BH)))


class Shares:
    """Words in order of falling share q of a distribution, for choosing S of them that stand for all.

    Words so likely that they would be drawn more than once are taken for certain and count once; the others lie one
    behind the other, each as long as its share, and every (S−k)-th part of that line is stuck at the same `offset`.
    So all are distinct and a word comes with probability min(1, c·q): a sum over the vocabulary is estimated without
    bias by Σ weight·value, with far less variance than by S independent draws.
    """

    def __init__(self, q_V: Tensor):
        q_V, self.order_V = q_V.double().sort(descending=True, stable=True)
        self.q_V = q_V / q_V.sum()
        self.end_V = self.q_V.cumsum(0)
        self.certain: dict[int, int] = {}

    def to(self, device: torch.device) -> Shares:
        self.order_V, self.q_V, self.end_V = (t.to(device) for t in (self.order_V, self.q_V, self.end_V))
        return self

    def head(self, samples: int) -> int:
        """k, the number of words taken for certain: the first that leaves every other word a probability below 1."""
        if samples >= len(self.q_V):
            return len(self.q_V)
        if samples not in self.certain:
            k_S = torch.arange(samples, device=self.q_V.device)
            rest_S = 1 - self.end_V[k_S] + self.q_V[k_S]
            fits_S = (samples - k_S) * self.q_V[k_S] < rest_S
            self.certain[samples] = int(fits_S.int().argmax()) if fits_S.any() else samples
        return self.certain[samples]

    def choose(self, samples: int, offset: float | Tensor) -> tuple[Tensor, Tensor]:
        """(ids, log weight) of `samples` words, or of all if they are fewer; `offset` is uniform on [0, 1)."""
        k = self.head(samples)
        n = min(samples, len(self.q_V)) - k
        before = self.end_V[k - 1] if k else 0.0
        part = (1 - before) / max(n, 1)
        place = torch.searchsorted(self.end_V, before + (torch.arange(n, device=self.end_V.device) + offset) * part)
        place = place.clamp(k, len(self.q_V) - 1)
        log_weight = torch.cat([self.q_V.new_zeros(k), (part / self.q_V[place]).log()])
        return torch.cat([self.order_V[:k], self.order_V[place]]), log_weight.float()


class Noise(nn.Module):
    """What noise words are drawn by: unigram counts raised to `power`."""

    def __init__(self, counts: Sequence[int] | Tensor, power: float = 0.75):
        super().__init__()
        self.shares = Shares(torch.as_tensor(counts, dtype=torch.float64).clamp(min=1).pow(power))

    def candidates(self, samples: int, generator: torch.Generator, device: torch.device) -> tuple[Tensor, Tensor]:
        """Distinct words (S) and the logs of how many words each stands for (S)."""
        offset = torch.rand((), dtype=torch.float64, generator=generator, device=generator.device)
        if self.shares.q_V.device != device:
            self.shares.to(device)
        return self.shares.choose(samples, offset.to(device))


def sampled_nll(
    h_BH: Tensor,
    W_VH: Tensor,
    b_V: Tensor,
    target_B: Tensor,
    noise: Noise,
    samples: int,
    generator: torch.Generator,
    reduction: str = "mean",
) -> Tensor:
    """Cross-entropy over the target and S noise words, each logit corrected by the log of what the word stands for.

    Without the correction frequent words, drawn often, would be pushed down; with it the estimate tends to
    the exact softmax as S grows. A noise word equal to the target is left out: it would be counted twice.
    """
    ids_S, correction_S = noise.candidates(samples, generator, b_V.device)
    column_V = torch.full((len(b_V),), -1, device=ids_S.device)
    column_V[ids_S] = torch.arange(len(ids_S), device=ids_S.device)
    rows, S = torch.cat([ids_S, target_B]), len(ids_S)
    W, b = functional.embedding(rows, W_VH), functional.embedding(rows, b_V[:, None])[:, 0]
    with torch.autocast(h_BH.device.type, enabled=False):
        return _SoftmaxNLL.apply(
            h_BH.to(W.dtype), W[:S], b[:S] + correction_S, W[S:], b[S:], column_V[target_B],
            _weight(reduction, len(h_BH)),
        )


def _weight(reduction: str, B: int) -> float | None:
    return {"mean": 1 / max(B, 1), "sum": 1.0, "none": None}[reduction]


class _SoftmaxNLL(torch.autograd.Function):
    """Candidates (W, b), the targets' own rows and biases, and the column of each target among the candidates or −1.

    With a weight the loss is weight·Σ and its gradients are made in the forward pass, from the same exponentials.
    Without one it is a loss per row, whose weights are known only in the backward pass: that repeats the pass.
    """

    @staticmethod
    def forward(ctx, h, W, b, own, own_b, column, weight):
        ctx.weight, words = weight, Candidates(W, b)
        if weight is None:
            ctx.save_for_backward(h, W, b, own, own_b, column)
            return softmax_pass(h, words, own, own_b, column)[0]
        if not any(ctx.needs_input_grad):
            return softmax_pass(h, words, own, own_b, column)[0].sum() * weight
        nll_B, *gradients = _gradients(h, words, own, own_b, column, h.new_full((len(h),), weight))
        ctx.save_for_backward(*gradients)
        return nll_B.sum() * weight

    @staticmethod
    def backward(ctx, gradient):
        if ctx.weight is None:
            h, W, b, *rest = ctx.saved_tensors
            _, *parts = _gradients(h, Candidates(W, b), *rest, gradient)
        else:
            parts = [part if gradient == 1 else part * gradient for part in ctx.saved_tensors]
        return *parts, None, None


def _gradients(h_BH: Tensor, words: Candidates, own_BH: Tensor, own_B: Tensor, column_B: Tensor, weight_B: Tensor):
    """−log P and the gradients in h, W, b, own rows and own biases."""
    dW_SP = torch.zeros_like(words.W_SP)
    nll_B, dh_BH, miss_B = softmax_pass(h_BH, words, own_BH, own_B, column_B, weight_B, dW_SP)
    return nll_B, dh_BH, dW_SP[:, : words.H], dW_SP[:, words.H], h_BH * -miss_B[:, None], -miss_B


class Candidates:
    """S words as one table of P columns, [W, b, 1, 0 …]: bias, shift and sum become part of the products.

    P is a whole number of eights: with 102 columns the products are a third slower than with 104.
    """

    def __init__(self, W_SH: Tensor, b_S: Tensor):
        self.H = W_SH.shape[1]
        self.W_SP = W_SH.new_zeros(len(b_S), -(-(self.H + 2) // 8) * 8)
        self.W_SP[:, : self.H], self.W_SP[:, self.H], self.W_SP[:, self.H + 1] = W_SH, b_S, 1

    def rows(self) -> int:
        """Rows of the batch whose logits exist at once."""
        return max(LOGITS // len(self.W_SP) // ROWS, 1) * ROWS


def softmax_pass(
    h_BH: Tensor,
    words: Candidates,
    own_BH: Tensor,
    own_B: Tensor,
    column_B: Tensor,
    weight_B: Tensor | None = None,
    dW_SP: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """−log P (B) and, with weights, the gradient of Σ weight·(−log P) in h (B×H) and, but for the sign, in the targets'
    biases (B); the gradient in the candidates' table is added to `dW_SP`.

    Logits are counted from the target's own, so that Z = 1 + others.
    """
    (B, H), rows = h_BH.shape, words.rows()
    goal_B = (h_BH * own_BH).sum(1) + own_B
    h_BP = h_BH.new_zeros(B, words.W_SP.shape[1])
    h_BP[:, :H], h_BP[:, H], h_BP[:, H + 1] = h_BH, 1, -goal_B
    buffer = h_BH.new_empty(min(rows, B), len(words.W_SP))
    nll_B, miss_B, dh_BH = torch.empty_like(goal_B), torch.empty_like(goal_B), torch.empty_like(h_BH)
    for i in range(0, B, rows):
        at = slice(i, i + rows)
        out, column = buffer[: min(rows, B - i)], column_B[at, None]
        mass, rise = _exponentials(h_BP[at], words.W_SP, column, out), torch.zeros_like(goal_B[at])
        if not (mass[:, H + 1] < HUGE).all():  # a word is exp(70) times likelier: count from the likeliest
            rise = torch.mm(h_BP[at], words.W_SP.T, out=out).amax(1).clamp(min=0)
            h_BP[at, H + 1] -= rise
            mass = _exponentials(h_BP[at], words.W_SP, column, out)
        others = mass[:, H + 1]
        Z = others + (-rise).exp()
        nll_B[at] = Z.log() + rise
        if weight_B is None:
            continue
        scale, miss_B[at] = (weight_B[at] / Z)[:, None], weight_B[at] * others / Z
        torch.mul(mass[:, :H], scale, out=dh_BH[at]).addcmul_(miss_B[at, None], own_BH[at], value=-1)
        if dW_SP is not None:
            dW_SP.addmm_(out.T, h_BP[at] * scale)
    return nll_B, dh_BH, miss_B


def _exponentials(h_BP: Tensor, W_SP: Tensor, column_B1: Tensor, out_BS: Tensor) -> Tensor:
    """exp of the shifted logits into `out`, 0 in the target's own column; returns out · W_SP."""
    torch.mm(h_BP, W_SP.T, out=out_BS).exp_()
    place = column_B1.clamp(min=0)
    out_BS.scatter_(1, place, out_BS.gather(1, place) * (column_B1 < 0))
    return out_BS @ W_SP
