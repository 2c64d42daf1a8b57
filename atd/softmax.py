"""The loss over the vocabulary: exact, or over a sample of noise words. Both are one pass over the same three products.

B batch, H hidden, V vocabulary, P columns; G groups of R rows of the batch, S candidates of each: all words (G = 1), or
the noise words that a group shares.

−log P(target) = log Z with Z = 1 + Σ_{s ≠ target} exp(h·w_s + b_s − goal), goal the target's logit. Nothing but the
products costs much: the bias and −goal are columns of the first product, the sum Z is a column of the second, and 1/Z
scales the rows of h in the third. What is left per logit is one exponential, in place, in a chunk that stays in cache:
a power of 2, a third of the cost of exp, W and b being in units of log 2 there.

Under bf16 autocast the products are in bf16; what would suffer, bias and goal, has two columns each, the number
rounded and what was lost by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from atd.noise import NoiseDraw

LOGITS = 5 * 2**20  # alive at once: 20 MB stay in cache and are not given back to the system between steps
BLOCK = 1024  # rows, and words, whose logits exist at once where only losses are wanted
ROWS = 128  # of the batch in a chunk, at least, and a multiple of: fewer make slow products
LOG2 = math.log(2)
HUGE = 1e30  # a sum of exponentials near the end of single precision


def exact_nll(h_BH: Tensor, W_VH: Tensor, b_V: Tensor, target_B: Tensor, reduction: str = "mean") -> Tensor:
    """Cross-entropy of the full softmax; the B×V logits never exist at once."""
    return _nll(h_BH, W_VH[None], b_V[None], None, None, target_B, reduction)


def sampled_nll(
    h_BH: Tensor,
    W_VH: Tensor,
    b_V: Tensor,
    target_B: Tensor,
    draw: NoiseDraw,
    reduction: str = "mean",
) -> Tensor:
    """Cross-entropy over the target and S noise words, each logit corrected by the log of what the word stands for.

    Without the correction frequent words, drawn often, would be pushed down; with it the estimate tends to
    the exact softmax as S grows. A noise word equal to the target is left out: it would be counted twice.
    """
    noise = draw.candidates(len(h_BH), b_V.device)
    ids_GS, added = noise.ids_GS, noise.filling
    target_B = functional.pad(target_B, added)
    column_B = columns(ids_GS, target_B.view(len(ids_GS), -1)).flatten()
    W, b = _rows(torch.cat([ids_GS.flatten(), target_B]), W_VH, b_V)
    (W, own_BH), (b, own_B) = (t.split([ids_GS.numel(), len(target_B)]) for t in (W, b))
    W_GSH, b_GS = W.unflatten(0, ids_GS.shape), b.view_as(ids_GS) + noise.log_weight_GS
    return _nll(h_BH, W_GSH, b_GS, own_BH, own_B, column_B, reduction, added)


def _rows(ids: Tensor, W_VH: Tensor, b_V: Tensor) -> tuple[Tensor, Tensor]:
    """Vectors and biases of some words."""
    return functional.embedding(ids, W_VH), functional.embedding(ids, b_V[:, None])[:, 0]


def columns(ids_GS: Tensor, target_GR: Tensor) -> Tensor:
    """Where each target is among the candidates of its group, or −1 (G×R)."""
    ids_GS, order_GS = ids_GS.sort(1)
    place_GR = torch.searchsorted(ids_GS, target_GR).clamp(max=ids_GS.shape[1] - 1)
    return order_GS.gather(1, place_GR).where(ids_GS.gather(1, place_GR) == target_GR, -1)


def _nll(
    h_BH: Tensor,
    W_GSH: Tensor,
    b_GS: Tensor,
    own_BH: Tensor | None,
    own_B: Tensor | None,
    column_B: Tensor,
    reduction: str,
    added: tuple[int, int] = (0, 0),
) -> Tensor:
    """The loss of h's rows. `added` rows before and after them fill the groups up, and count for nothing."""
    B, device = len(h_BH), h_BH.device.type
    bf16 = torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.bfloat16
    dtype = torch.bfloat16 if bf16 else W_GSH.dtype
    share = {"mean": 1 / max(B, 1), "sum": 1.0, "none": None}[reduction]
    weight_B = None if share is None else functional.pad(b_GS.new_full((B,), share), added)
    with torch.autocast(device, enabled=False):
        h_BH = functional.pad(h_BH.to(W_GSH.dtype), (0, 0, *added))
        nll = _SoftmaxNLL.apply(h_BH, W_GSH, b_GS, own_BH, own_B, column_B, weight_B, dtype)
    return nll[added[0] : added[0] + B] if share is None else nll


class _SoftmaxNLL(torch.autograd.Function):
    """Candidates (W, b), the targets' own rows and biases, and the column of each target among the candidates or −1.

    Where all targets are candidates the own rows can be None. With weights the loss is Σ weight·(−log P) and its
    gradients are made in the forward pass, from the same exponentials. Without them it is a loss per row, weighted
    only in the backward pass: that repeats the pass.
    """

    @staticmethod
    def forward(ctx, h, W, b, own, own_b, column, weight, dtype):
        ctx.weighted, ctx.dtype = weight is not None, dtype
        if weight is not None and any(ctx.needs_input_grad):
            nll_B, *gradients = _gradients(h, W, b, own, own_b, column, weight, dtype)
            ctx.save_for_backward(*gradients)
            return nll_B @ weight
        if weight is None:
            ctx.save_for_backward(h, W, b, own, own_b, column)
        nll_B = losses(h, Candidates(W, b, dtype), *_own(W, b, own, own_b, column), column)
        return nll_B if weight is None else nll_B @ weight

    @staticmethod
    def backward(ctx, gradient):
        if ctx.weighted:
            parts = [part if part is None or gradient == 1 else part * gradient for part in ctx.saved_tensors]
        else:
            _, *parts = _gradients(*ctx.saved_tensors, gradient, ctx.dtype)
        return *parts, None, None, None


def _own(W_GSH: Tensor, b_GS: Tensor, own_BH: Tensor | None, own_B: Tensor | None, column_B: Tensor):
    """Rows and biases of the targets: those given, or the only group's."""
    return (W_GSH[0].index_select(0, column_B), b_GS[0, column_B]) if own_BH is None else (own_BH, own_B)


def _gradients(h_BH, W_GSH, b_GS, own_BH, own_B, column_B, weight_B, dtype):
    """−log P and the gradients in h, W, b, own rows and own biases."""
    words = Candidates(W_GSH, b_GS, dtype)
    H, make = words.H, h_BH.new_empty if len(h_BH) else h_BH.new_zeros
    dW_GSP = make(words.W_GSP.shape)
    row_BH, bias_B = _own(W_GSH, b_GS, own_BH, own_B, column_B)
    nll_B, dh_BH, miss_B = softmax_pass(h_BH, words, row_BH, bias_B, column_B, weight_B, dW_GSP)
    dW_GSH, db_GS, drow_BH = dW_GSP[..., :H], dW_GSP[..., H], h_BH * -miss_B[:, None]
    if own_BH is not None:
        return nll_B, dh_BH, dW_GSH, db_GS, drow_BH, -miss_B
    dW_GSH[0].index_add_(0, column_B, drow_BH)
    db_GS[0].index_add_(0, column_B, -miss_B)
    return nll_B, dh_BH, dW_GSH, db_GS, None, None


class Candidates:
    """The words of each group as one table of P columns, [W, b, b's rest, 1, 1, 0 …], W and b in units of log 2: bias,
    shift and sum become part of the products, which are in `dtype`.

    P is a whole number of eights: with 102 columns the products are a third slower than with 104.
    """

    def __init__(self, W_GSH: Tensor, b_GS: Tensor, dtype: torch.dtype | None = None):
        """Without groups, W_SH and b_S, they are the candidates of all rows."""
        if W_GSH.dim() == 2:
            W_GSH, b_GS = W_GSH[None], b_GS[None]
        self.H = H = W_GSH.shape[-1]
        self.W_GSP = W_GSH.new_zeros(*b_GS.shape, -(-(H + 4) // 8) * 8, dtype=dtype)
        torch.mul(W_GSH, 1 / LOG2, out=self.W_GSP[..., :H])
        self.W_GSP[..., H + 2 : H + 4] = 1
        write_exactly(b_GS / LOG2, self.W_GSP, H)

    def choose(self, ids_GS: Tensor, b_GS: Tensor) -> Candidates:
        """Groups of some words of the only group, with biases of their own."""
        chosen = self._with(self.W_GSP[0].index_select(0, ids_GS.flatten()).unflatten(0, ids_GS.shape))
        write_exactly(b_GS / LOG2, chosen.W_GSP, self.H)
        return chosen

    def part(self, groups: slice) -> Candidates:
        return self if self.shared else self._with(self.W_GSP[groups])

    def select(self, groups: Tensor) -> Candidates:
        return self if self.shared else self._with(self.W_GSP.index_select(0, groups))

    @property
    def shared(self) -> bool:
        """Whether all rows have the same."""
        return len(self.W_GSP) == 1

    def _with(self, W_GSP: Tensor) -> Candidates:
        other = object.__new__(Candidates)
        other.H, other.W_GSP = self.H, W_GSP
        return other

    def rows(self) -> int:
        """Rows of every group whose logits exist at once."""
        G, S, _ = self.W_GSP.shape
        return max(LOGITS // (G * S) // ROWS, 1) * ROWS


def write_exactly(values: Tensor, table: Tensor, column: int) -> None:
    """Into two columns of a table: as far as its precision goes, and the rest."""
    table[..., column] = values
    table[..., column + 1] = values - table[..., column]


def softmax_pass(
    h_BH: Tensor,
    words: Candidates,
    own_BH: Tensor,
    own_B: Tensor,
    column_B: Tensor,
    weight_B: Tensor,
    dW_GSP: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """−log P (B) and the gradient of Σ weight·(−log P) in h (B×H) and, but for the sign, in the targets' biases (B);
    the gradient in the candidates' table is written to `dW_GSP`.

    Logits are counted from the target's own, so that Z = 1 + others.
    """
    h_GRP, goal_GR = _shifted(h_BH, words, own_BH, own_B)
    (G, S, _), (R, H), rows = words.W_GSP.shape, (goal_GR.shape[1], words.H), words.rows()
    own_GRH, column_GR = own_BH.view(G, R, H), column_B.view(G, R)
    buffer = h_GRP.new_empty(G, min(rows, R), S)
    nll_GR, miss_GR, dh_GRH = torch.empty_like(goal_GR), torch.empty_like(goal_GR), torch.empty_like(own_GRH)
    for i in range(0, R, rows):
        at = (slice(None), slice(i, i + rows))
        h = h_GRP[at]
        mass, others, Z, rise = predict(h, words, column_GR[at], goal_GR[at], buffer[:, : R - i])
        nll_GR[at] = Z.log() + rise * LOG2
        weight = weight_B.view(G, R)[at]
        scale, miss_GR[at] = (weight / Z)[..., None], weight * others / Z
        torch.mul(mass[..., :H], scale * LOG2, out=dh_GRH[at]).addcmul_(miss_GR[at][..., None], own_GRH[at], value=-1)
        if dW_GSP is not None:
            _add_product(dW_GSP, buffer[:, : R - i].mT, h * scale.to(h.dtype), first=i == 0)
    return nll_GR.flatten(), dh_GRH.flatten(0, 1), miss_GR.flatten()


def losses(h_BH: Tensor, words: Candidates, own_BH: Tensor, own_B: Tensor, column_B: Tensor) -> Tensor:
    """−log P (B) alone: one product with the table instead of three."""
    h_GRP, goal_GR = _shifted(h_BH, words, own_BH, own_B)
    column_GR, rise_GR = column_B.view(goal_GR.shape), torch.zeros_like(goal_GR)
    others_GR = _others(h_GRP, words, column_GR, goal_GR.dtype)
    if not (others_GR < HUGE).all():
        rise_GR = _highest(h_GRP, words).clamp(min=0).to(goal_GR.dtype)
        write_exactly(-goal_GR / LOG2 - rise_GR, h_GRP, words.H + 2)
        others_GR = _others(h_GRP, words, column_GR, goal_GR.dtype)
    return ((others_GR + (-rise_GR).exp2()).log() + rise_GR * LOG2).flatten()


def _shifted(h_BH: Tensor, words: Candidates, own_BH: Tensor, own_B: Tensor) -> tuple[Tensor, Tensor]:
    """[h, 1, 1, −goal, its rest, 0 …] (G×R×P), whose product with the table is the logits less the target's, and goal,
    the target's own logit (G×R)."""
    G, _, P = words.W_GSP.shape
    goal_GR = ((h_BH * own_BH).sum(1) + own_B).view(G, -1 if len(h_BH) else 0)
    h_GRP = words.W_GSP.new_zeros(*goal_GR.shape, P)
    h_GRP[..., : words.H], h_GRP[..., words.H : words.H + 2] = h_BH.view(*goal_GR.shape, words.H), 1
    write_exactly(-goal_GR / LOG2, h_GRP, words.H + 2)
    return h_GRP, goal_GR


def _others(h_GRP: Tensor, words: Candidates, column_GR: Tensor, dtype: torch.dtype) -> Tensor:
    """Σ 2^logit over all words but the target (G×R)."""
    sum_GR = h_GRP.new_zeros(column_GR.shape, dtype=dtype)
    for rows, first, logits in _blocks(h_GRP, words):
        place = column_GR[:, rows, None] - first
        elsewhere = (place < 0) | (place >= logits.shape[2])
        place = place.clamp(0, logits.shape[2] - 1)
        logits.exp2_().scatter_(2, place, logits.gather(2, place) * elsewhere)
        sum_GR[:, rows] += logits.sum(2, dtype=dtype)
    return sum_GR


def _highest(h_GRP: Tensor, words: Candidates) -> Tensor:
    """The likeliest word's logit (G×R)."""
    top_GR = h_GRP.new_full(h_GRP.shape[:2], -math.inf)
    for rows, _, logits in _blocks(h_GRP, words):
        top_GR[:, rows] = top_GR[:, rows].maximum(logits.amax(2))
    return top_GR


def _blocks(h_GRP: Tensor, words: Candidates) -> Iterator[tuple[slice, int, Tensor]]:
    """Some rows, the first of some words, and their logits, block after block."""
    (G, S, _), R = words.W_GSP.shape, h_GRP.shape[1]
    rows = max(1, BLOCK // G)
    buffer = h_GRP.new_empty(G * min(rows, R) * min(BLOCK, S))
    for i in range(0, R, rows):
        h = h_GRP[:, i : i + rows]
        for first in range(0, S, BLOCK):
            W = words.W_GSP[:, first : first + BLOCK]
            shape = G, h.shape[1], W.shape[1]
            yield slice(i, i + rows), first, torch.bmm(h, W.mT, out=buffer[: math.prod(shape)].view(shape))


def predict(
    h_GRP: Tensor, words: Candidates, column_GR: Tensor, goal_GR: Tensor, out_GRS: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Into `out` P·Z of every word but the target. Returns its product with the table, whose first H columns sum the
    words' vectors in units of log 2; the sum over the words; Z; and the power of 2 that all were divided by."""
    mass, rise = _exponentials(h_GRP, words.W_GSP, column_GR, out_GRS).to(goal_GR.dtype), torch.zeros_like(goal_GR)
    if not (mass[..., words.H + 2] < HUGE).all():  # a word is e^70 times likelier: count from the likeliest
        rise = torch.bmm(h_GRP, words.W_GSP.mT, out=out_GRS).amax(2).clamp(min=0).to(goal_GR.dtype)
        write_exactly(-goal_GR / LOG2 - rise, h_GRP, words.H + 2)
        mass = _exponentials(h_GRP, words.W_GSP, column_GR, out_GRS).to(goal_GR.dtype)
    others = mass[..., words.H + 2]
    return mass, others, others + (-rise).exp2(), rise


def _exponentials(h_GRP: Tensor, W_GSP: Tensor, column_GR: Tensor, out_GRS: Tensor) -> Tensor:
    """2 to the power of the shifted logits into `out`, 0 in the target's own column; returns out · W."""
    torch.bmm(h_GRP, W_GSP.mT, out=out_GRS).exp2_()
    place = column_GR.clamp(min=0)[..., None]
    out_GRS.scatter_(2, place, out_GRS.gather(2, place) * (column_GR < 0)[..., None])
    return out_GRS @ W_GSP


def _add_product(sum_GSP: Tensor, a_GSR: Tensor, b_GRP: Tensor, first: bool) -> None:
    """Add a · b, or with `first` write it: what was there before does not count."""
    if sum_GSP.dtype == a_GSR.dtype:
        torch.baddbmm(sum_GSP, a_GSR, b_GRP, beta=0 if first else 1, out=sum_GSP)
    elif first:
        sum_GSP.copy_(a_GSR @ b_GRP)
    else:
        sum_GSP += a_GSR @ b_GRP
