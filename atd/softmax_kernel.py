"""−log P of the targets and its gradients: a chunked cross-entropy, counted from the target's own logit.

With goal = h·w + b of the target,

    −log P(target) = log Z,    Z = 1 + Σ_{s ≠ target} exp(h·w_s + b_s − goal).

A loss near 0 is thus exact, and no largest logit has to be found before the exponentials. Z would overflow only where
some word is e⁷⁰ times as likely as the target; then the largest logit is found, and the chunk is repeated with all
logits lowered by it (`rise`).

A few rows of the batch at a time, so that their logits stay in cache, three products do the work:

1. table · positionsᵀ gives the shifted logits. They become powers of 2 in place; the target's own is set to 0.
2. tableᵀ · powers gives Σ power·w, the gradient in h but for the factor 1/Z, and Σ power, which is Z − 1.
3. powers · (positions / Z) gives the gradient in the table.

`atd.candidates` explains how bias, shift and sums came to be columns of the products. What is left to do per logit is
one power of 2. Logits lie word after word (S×R), not row after row: so none of the three products has to turn its large
side around, which would cost a tenth of the time in fp32, a third in bf16.

B rows of the batch in G groups of R; S candidates of each group, H hidden, P columns of the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from atd.candidates import LOG2, Candidates
from atd.products import product

LOGITS = 5 * 2**20  # alive at once: 20 MB stay in cache and are not given back to the system between steps
ROWS = 128  # of the batch in a chunk, at least, and a multiple of: fewer make slow products
BLOCK = 1024  # rows, and words, whose logits exist at once where only losses are wanted
HUGE = 1e30  # a sum of powers near the end of single precision
OWN = 1.0  # the target's own shifted logit is 0 but for rounding, which in huge logits may be anything
SURE = 64.0  # a logit that was lowered is 0 at most, and above this it is nothing but rounding


@dataclass
class Targets:
    """The words that came, one for each row of the batch."""

    row_BH: Tensor
    bias_B: Tensor
    slot_B: Tensor  # where it is among the candidates of its group, or −1


@dataclass
class RowGradients:
    """What a pass finds for each row of the batch."""

    nll_B: Tensor  # −log P(target)
    dh_BH: Tensor  # gradient of Σ weight·nll in h
    miss_B: Tensor  # weight·(1 − P(target)): the gradient in the target's bias but for the sign


@dataclass
class Powers:
    """What the powers of 2 of all candidates but the target add up to."""

    sums_GRP: Tensor  # tableᵀ · powers: in the columns `vector` Σ power·w / log 2
    others_GR: Tensor  # Σ power
    Z_GR: Tensor  # Σ power, the target's included
    rise_GR: Tensor  # the logits were lowered by this, so all of the above was divided by 2 to it

    def log_Z(self) -> Tensor:
        return self.Z_GR.log() + self.rise_GR * LOG2


def rows_at_once(words: int) -> int:
    """Rows of every group in a chunk, the groups having so many words in all."""
    return max(LOGITS // words // ROWS, 1) * ROWS


def softmax_pass(
    h_BH: Tensor,
    words: Candidates,
    targets: Targets,
    weight_B: Tensor,
    dtable_GSP: Tensor | None = None,
) -> RowGradients:
    """−log P and the gradients of Σ weight·(−log P); that in the table is written to `dtable_GSP`."""
    h_GRP, goal_GR = _positions(h_BH, words, targets)
    G, R = goal_GR.shape
    row_GRH = targets.row_BH.view(G, R, h_BH.shape[1])
    slot_GR = targets.slot_B.view(G, R)
    weight_GR = weight_B.view(G, R)
    nll_GR = torch.empty_like(goal_GR)
    miss_GR = torch.empty_like(goal_GR)
    dh_GRH = torch.empty_like(row_GRH)
    rows = rows_at_once(G * words.S)
    buffer = h_GRP.new_empty(G * words.S * min(rows, R))
    for i in range(0, R, rows):
        at = (slice(None), slice(i, i + rows))
        h = h_GRP[at]
        weight = weight_GR[at]
        powers = buffer[: G * words.S * h.shape[1]].view(G, words.S, -1)
        found = sum_powers(h, words, slot_GR[at], goal_GR[at], powers)
        nll_GR[at] = found.log_Z()
        miss_GR[at] = weight * found.others_GR / found.Z_GR
        scale = (weight / found.Z_GR)[..., None]
        torch.mul(found.sums_GRP[..., words.columns.vector], scale * LOG2, out=dh_GRH[at])
        dh_GRH[at].addcmul_(miss_GR[at][..., None], row_GRH[at], value=-1)
        if dtable_GSP is not None:
            _add_product(dtable_GSP, powers, h * scale.to(h.dtype), first=i == 0)
    return RowGradients(nll_GR.flatten(), dh_GRH.flatten(0, 1), miss_GR.flatten())


def losses(h_BH: Tensor, words: Candidates, targets: Targets) -> Tensor:
    """−log P alone (B): one product with the table instead of three."""
    h_GRP, goal_GR = _positions(h_BH, words, targets)
    slot_GR = targets.slot_B.view(goal_GR.shape)
    rise_GR = torch.zeros_like(goal_GR)
    others_GR = _others(h_GRP, words, slot_GR, goal_GR.dtype)
    if not (others_GR < HUGE).all():
        rise_GR = _highest(h_GRP, words, slot_GR).clamp(min=0).to(goal_GR.dtype)
        words.lower(h_GRP, goal_GR, rise_GR)
        others_GR = _others(h_GRP, words, slot_GR, goal_GR.dtype, most=SURE)
    Z_GR = (others_GR + (-rise_GR).exp2()).clamp(min=1 / HUGE)
    return (Z_GR.log() + rise_GR * LOG2).flatten()


def sum_powers(h_GRP: Tensor, words: Candidates, slot_GR: Tensor, goal_GR: Tensor, out_GSR: Tensor) -> Powers:
    """Into `out` the powers of 2 of the shifted logits, 0 in the target's own slot. Returns what they add up to."""
    rise_GR = torch.zeros_like(goal_GR)
    sums_GRP = _powers(h_GRP, words, slot_GR, out_GSR).to(goal_GR.dtype)
    if not (sums_GRP[..., words.columns.total] < HUGE).all():
        product(words.table_GSP, h_GRP.mT, out_GSR)
        rise_GR = _target_at_most(OWN, out_GSR, slot_GR).amax(1).clamp(min=0).to(goal_GR.dtype)
        words.lower(h_GRP, goal_GR, rise_GR)
        sums_GRP = _powers(h_GRP, words, slot_GR, out_GSR, most=SURE).to(goal_GR.dtype)
    others_GR = sums_GRP[..., words.columns.total]
    own_GR = (-rise_GR).exp2()
    return Powers(sums_GRP, others_GR, (others_GR + own_GR).clamp(min=1 / HUGE), rise_GR)


def _positions(h_BH: Tensor, words: Candidates, targets: Targets) -> tuple[Tensor, Tensor]:
    """The positions' rows for the products (G×R×P), and goal, the target's own logit (G×R)."""
    goal_B = (h_BH * targets.row_BH).sum(1) + targets.bias_B
    goal_GR = goal_B.view(words.G, -1 if len(h_BH) else 0)
    h_GRP = words.positions(goal_GR)
    h_GRP[..., words.columns.vector] = h_BH.view(*goal_GR.shape, h_BH.shape[1])
    return h_GRP, goal_GR


def _powers(h_GRP: Tensor, words: Candidates, slot_GR: Tensor, out_GSR: Tensor, most: float | None = None) -> Tensor:
    """Into `out` 2 to the power of the shifted logits, 0 in the target's own slot; returns their sums (G×R×P).

    `most` is what no logit can be above, but for rounding.
    """
    product(words.table_GSP, h_GRP.mT, out_GSR)
    if most is not None:
        out_GSR.clamp_(max=most)
    return product(_target_at_most(0.0, out_GSR.exp2_(), slot_GR).mT, words.table_GSP)


def _target_at_most(most: float, out_GSR: Tensor, slot_GR: Tensor) -> Tensor:
    """Lower the number in the target's own slot to `most`; slots outside of the words are none."""
    G, S, R = out_GSR.shape
    near_GR = slot_GR.clamp(0, S - 1)
    group_G1 = torch.arange(G, device=slot_GR.device)[:, None]
    place_GR = (group_G1 * S + near_GR) * R + torch.arange(R, device=slot_GR.device)
    own_GR = out_GSR.take(place_GR)
    out_GSR.put_(place_GR, own_GR.where(slot_GR != near_GR, own_GR.clamp(max=most)))  # scatter_ of bf16 copies it all
    return out_GSR


def _others(h_GRP: Tensor, words: Candidates, slot_GR: Tensor, dtype: torch.dtype, most: float | None = None) -> Tensor:
    """Σ 2^logit over all words but the target (G×R); `most` is what no logit can be above, but for rounding."""
    sum_GR = h_GRP.new_zeros(slot_GR.shape, dtype=dtype)
    for block in _blocks(h_GRP, words):
        logits = block.logits if most is None else block.logits.clamp_(max=most)
        powers = _target_at_most(0.0, logits.exp2_(), slot_GR[:, block.rows] - block.first)
        sum_GR[:, block.rows] += powers.sum(1, dtype=dtype)
    return sum_GR


def _highest(h_GRP: Tensor, words: Candidates, slot_GR: Tensor) -> Tensor:
    """The likeliest word's shifted logit (G×R)."""
    top_GR = h_GRP.new_full(h_GRP.shape[:2], -math.inf)
    for block in _blocks(h_GRP, words):
        logits = _target_at_most(OWN, block.logits, slot_GR[:, block.rows] - block.first)
        top_GR[:, block.rows] = top_GR[:, block.rows].maximum(logits.amax(1))
    return top_GR


@dataclass
class _Block:
    """The shifted logits of some words, the first of which is number `first`, and some rows of every group."""

    rows: slice
    first: int
    logits: Tensor


def _blocks(h_GRP: Tensor, words: Candidates) -> Iterator[_Block]:
    """All logits, block after block in one buffer."""
    R = h_GRP.shape[1]
    rows = max(1, BLOCK // words.G)
    buffer = h_GRP.new_empty(words.G * min(rows, R) * min(BLOCK, words.S))
    for i in range(0, R, rows):
        h = h_GRP[:, i : i + rows].mT.contiguous().mT
        for first in range(0, words.S, BLOCK):
            table = words.table_GSP[:, first : first + BLOCK]
            shape = (words.G, table.shape[1], h.shape[1])
            out = buffer[: math.prod(shape)].view(shape)
            yield _Block(slice(i, i + rows), first, product(table, h.mT, out))


def _add_product(sum_GSP: Tensor, a_GSR: Tensor, b_GRP: Tensor, first: bool) -> None:
    """Add a · b, or with `first` write it: what was there before does not count."""
    if sum_GSP.dtype == a_GSR.dtype:
        product(a_GSR, b_GRP, sum_GSP, add=not first)
    elif first:
        sum_GSP.copy_(a_GSR @ b_GRP)
    else:
        sum_GSP += a_GSR @ b_GRP
