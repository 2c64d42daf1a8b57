"""The loss over the vocabulary: exact, or over a sample of noise words. Both are one pass over the same three products.

B batch, H hidden, V vocabulary, S candidates (all words, or the noise words shared by the batch), P columns.

−log P(target) = log Z − goal with Z = exp(goal) + Σ_{s ≠ target} exp(h·w_s + b_s). Nothing but the products costs much:
the bias and a shift against overflow are two more columns of the first product, the sum Z is a column of the second,
and 1/Z scales the rows of h in the third. What is left per logit is one exp, in place, in a chunk that stays in cache.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

LOGITS = 5 * 2**20  # alive at once: 20 MB stay in cache and are not given back to the system between steps
ROWS = 128  # of the batch in a chunk, at least, and a multiple of: fewer make slow products
FREQUENT = 64  # words whose logits stand for the largest one
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


class Noise(nn.Module):
    """The distribution noise words are drawn from: unigram counts raised to `power`."""

    log_q: Tensor
    cumulative: Tensor

    def __init__(self, counts: Sequence[int] | Tensor, power: float = 0.75):
        super().__init__()
        q = torch.as_tensor(counts, dtype=torch.float64).clamp(min=1).pow(power)
        q = q / q.sum()
        self.register_buffer("log_q", q.log().float(), persistent=False)
        self.register_buffer("cumulative", q.cumsum(0), persistent=False)

    def draw(self, samples: int, generator: torch.Generator) -> Tensor:
        """`samples` word ids with replacement, by inverting the cumulative distribution."""
        u = torch.rand(samples, dtype=torch.float64, generator=generator, device=generator.device)
        ids = torch.searchsorted(self.cumulative, u.to(self.cumulative.device))
        return ids.clamp(max=len(self.cumulative) - 1)

    def candidates(self, samples: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The distinct words of a draw (S) and log(times drawn / (samples·q)), what each stands for (S)."""
        times_V = torch.bincount(self.draw(samples, generator), minlength=len(self.log_q))
        ids_S = times_V.nonzero()[:, 0]
        return ids_S, (times_V[ids_S] / samples).log() - self.log_q[ids_S]


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
    """Cross-entropy over the target and S noise words, each logit corrected by −log(S·q).

    Without the correction frequent words, drawn often, would be pushed down; with it the estimate tends to
    the exact softmax as S grows. A noise word equal to the target is left out: it would be counted twice.
    """
    ids_S, correction_S = noise.candidates(samples, generator)
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
        ctx.weight = weight
        if weight is None:
            ctx.save_for_backward(h, W, b, own, own_b, column)
            return softmax_pass(h, W, b, own, own_b, column)[0]
        weight_B = h.new_full((len(h),), weight) if any(ctx.needs_input_grad) else None
        nll_B, gradients = softmax_pass(h, W, b, own, own_b, column, weight_B)
        ctx.save_for_backward(*gradients)
        return nll_B.sum() * weight

    @staticmethod
    def backward(ctx, gradient):
        if ctx.weight is None:
            _, parts = softmax_pass(*ctx.saved_tensors, gradient)
        else:
            parts = [part if gradient == 1 else part * gradient for part in ctx.saved_tensors]
        return *parts, None, None


def softmax_pass(
    h_BH: Tensor,
    W_SH: Tensor,
    b_S: Tensor,
    own_BH: Tensor,
    own_B: Tensor,
    column_B: Tensor,
    weight_B: Tensor | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """−log P (B) and, with weights, the gradients of Σ weight·(−log P) in h, W, b, own rows and own biases."""
    (B, H), S = h_BH.shape, len(b_S)
    goal_B = (h_BH * own_BH).sum(1) + own_B
    frequent = b_S.topk(min(FREQUENT, S)).indices
    shift_B = torch.maximum(torch.addmm(b_S[frequent], h_BH, W_SH[frequent].T).amax(1), goal_B)
    P = -(-(H + 2) // 8) * 8  # whole vectors of eight: 102 columns are a third slower than 104
    W_SP, h_BP = W_SH.new_zeros(S, P), h_BH.new_zeros(B, P)
    W_SP[:, :H], W_SP[:, H], W_SP[:, H + 1] = W_SH, b_S, 1
    h_BP[:, :H], h_BP[:, H], h_BP[:, H + 1] = h_BH, 1, -shift_B
    rows = min(max(LOGITS // S // ROWS, 1) * ROWS, max(B, 1))
    buffer = h_BH.new_empty(rows, S)
    nll_B = torch.empty_like(goal_B)
    dh_BH, dW_SP, miss_B = torch.empty_like(h_BH), torch.zeros_like(W_SP), torch.empty_like(goal_B)
    for i in range(0, B, rows):
        at = slice(i, i + rows)
        out, column = buffer[: min(rows, B - i)], column_B[at, None]
        mass = _exponentials(h_BP[at], W_SP, column, out)
        if not (mass[:, H + 1] < HUGE).all():  # some logit is far above the frequent words': shift by the largest
            rise = torch.mm(h_BP[at], W_SP.T, out=out).amax(1).clamp(min=0)
            shift_B[at] += rise
            h_BP[at, H + 1] -= rise
            mass = _exponentials(h_BP[at], W_SP, column, out)
        others = mass[:, H + 1]
        Z = others + (goal_B[at] - shift_B[at]).exp()
        nll_B[at] = Z.log() + shift_B[at] - goal_B[at]
        if weight_B is None:
            continue
        scale, miss_B[at] = (weight_B[at] / Z)[:, None], weight_B[at] * others / Z
        dh_BH[at] = torch.addcmul(mass[:, :H] * scale, miss_B[at, None], own_BH[at], value=-1)
        dW_SP.addmm_(out.T, h_BP[at] * scale)
    if weight_B is None:
        return nll_B, []
    return nll_B, [dh_BH, dW_SP[:, :H], dW_SP[:, H], h_BH * -miss_B[:, None], -miss_B]


def _exponentials(h_BP: Tensor, W_SP: Tensor, column_B1: Tensor, out_BS: Tensor) -> Tensor:
    """exp of the shifted logits into `out`, 0 in the target's own column; returns out · W_SP."""
    torch.mm(h_BP, W_SP.T, out=out_BS).exp_()
    place = column_B1.clamp(min=0)
    out_BS.scatter_(1, place, out_BS.gather(1, place) * (column_B1 < 0))
    return out_BS @ W_SP
