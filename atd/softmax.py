"""The loss over the vocabulary: exact, or over the target and a sample of noise words.

Both are one autograd function over a table of candidates: all words, or the noise words that a group of rows shares.
With a "mean" or "sum" the gradients are made in the forward pass, from the same exponentials as the loss. The kernel is
`atd.softmax_kernel`; nothing here is larger than the batch or the vocabulary.

B batch, H hidden, V vocabulary, P columns of the table of candidates; G groups of R rows of the batch with S candidates
each: all words (G = 1, S = V), or noise words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from atd.candidates import Candidates, locate
from atd.noise import NoiseDraw, NoiseWords
from atd.softmax_kernel import Targets, losses, softmax_pass


def exact_nll(h_BH: Tensor, W_VH: Tensor, b_V: Tensor, target_B: Tensor, reduction: str = "mean") -> Tensor:
    """Cross-entropy of the full softmax; the B×V logits never exist at once."""
    return _nll(_Inputs(h_BH, W_VH[None], b_V[None], None, None, target_B), reduction)


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
    words = SampledWords.of(draw, target_B)
    return words.nll(h_BH, rows_of(W_VH, words.ids), b_V, reduction)


@dataclass
class SampledWords:
    """The words that a sampled softmax needs rows of: the noise words of every group, then the targets."""

    noise: NoiseWords
    target_B: Tensor  # with the filling of the first and the last group

    @classmethod
    def of(cls, draw: NoiseDraw, target_B: Tensor) -> SampledWords:
        noise = draw.candidates(len(target_B), target_B.device)
        return cls(noise, functional.pad(target_B, noise.filling))

    @property
    def ids(self) -> Tensor:
        return torch.cat([self.noise.ids_GS.flatten(), self.target_B])

    def nll(self, h_BH: Tensor, rows: Tensor, b_V: Tensor, reduction: str = "mean") -> Tensor:
        """The loss; `rows` are the vectors of `ids`."""
        ids_GS = self.noise.ids_GS
        slot_B = locate(ids_GS, self.target_B.view(len(ids_GS), -1)).flatten()
        parts = [ids_GS.numel(), len(self.target_B)]
        W, own_BH = rows.split(parts)  # the gradients of slices would be zero-filled arrays of the whole
        b, own_B = rows_of(b_V[:, None], self.ids)[:, 0].split(parts)
        W_GSH = W.unflatten(0, ids_GS.shape)
        b_GS = b.view_as(ids_GS) + self.noise.log_weight_GS
        return _nll(_Inputs(h_BH, W_GSH, b_GS, own_BH, own_B, slot_B), reduction, self.noise.filling)


def rows_of(table: Tensor, ids: Tensor) -> Tensor:
    """The rows of some words, as `functional.embedding` gives them.

    On a CPU the gradient of `index_select` takes two thirds of the time; on a GPU it would not be the same every time.
    """
    if table.device.type != "cpu":
        return functional.embedding(ids, table)
    return table.index_select(0, ids.flatten()).unflatten(0, ids.shape)


class _Inputs(NamedTuple):
    """What the loss is a function of."""

    h_BH: Tensor
    W_GSH: Tensor  # the candidates'
    b_GS: Tensor
    own_BH: Tensor | None  # the targets' own rows and biases; None where all targets are candidates
    own_B: Tensor | None
    slot_B: Tensor  # of the targets among the candidates

    def targets(self) -> Targets:
        """The targets, with the rows and biases given, or those of the only group."""
        if self.own_BH is not None and self.own_B is not None:
            return Targets(self.own_BH, self.own_B, self.slot_B)
        return Targets(self.W_GSH[0].index_select(0, self.slot_B), self.b_GS[0, self.slot_B], self.slot_B)


def _nll(inputs: _Inputs, reduction: str, filling: tuple[int, int] = (0, 0)) -> Tensor:
    """The loss of h's rows. `filling` rows before and after them fill the groups up, and count for nothing."""
    B = len(inputs.h_BH)
    share = {"mean": 1 / max(B, 1), "sum": 1.0, "none": None}[reduction]
    weight_B = None if share is None else functional.pad(inputs.b_GS.new_full((B,), share), filling)
    device = inputs.h_BH.device.type
    dtype = _dtype_of_products(device, inputs.W_GSH.dtype)
    with torch.autocast(device, enabled=False):
        h_BH = functional.pad(inputs.h_BH.to(inputs.W_GSH.dtype), (0, 0, *filling))
        nll = _SoftmaxNLL.apply(weight_B, dtype, *inputs._replace(h_BH=h_BH))
    before, _ = filling
    return nll[before : before + B] if share is None else nll


def _dtype_of_products(device: str, dtype: torch.dtype) -> torch.dtype:
    """bf16 under bf16 autocast, else the weights' own."""
    bf16 = torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.bfloat16
    return torch.bfloat16 if bf16 else dtype


class _SoftmaxNLL(torch.autograd.Function):
    """−log P of every row, or with weights Σ weight·(−log P); the products are in `dtype`.

    With weights the gradients are made in the forward pass and kept. Without them the backward pass, which brings the
    weights, repeats the forward pass.
    """

    @staticmethod
    def forward(ctx: Any, weight_B: Tensor | None, dtype: torch.dtype, *tensors: Any) -> Tensor:
        inputs = _Inputs(*tensors)
        ctx.weighted = weight_B is not None
        ctx.dtype = dtype
        if weight_B is not None and any(ctx.needs_input_grad):
            nll_B, gradients = _gradients(inputs, weight_B, dtype)
            ctx.save_for_backward(*gradients)
            return nll_B @ weight_B
        if weight_B is None:
            ctx.save_for_backward(*inputs)
        nll_B = losses(inputs.h_BH, Candidates.of(inputs.W_GSH, inputs.b_GS, dtype), inputs.targets())
        return nll_B if weight_B is None else nll_B @ weight_B

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        if ctx.weighted:
            saved = ctx.saved_tensors
            parts = tuple(part if part is None or gradient == 1 else part * gradient for part in saved)
        else:
            _, parts = _gradients(_Inputs(*ctx.saved_tensors), gradient, ctx.dtype)
        return None, None, *parts, None


def _gradients(inputs: _Inputs, weight_B: Tensor, dtype: torch.dtype) -> tuple[Tensor, tuple[Tensor | None, ...]]:
    """−log P, and the gradients of Σ weight·(−log P) in h, W, b, the targets' own rows and their biases."""
    h_BH = inputs.h_BH
    words = Candidates.of(inputs.W_GSH, inputs.b_GS, dtype)
    make = h_BH.new_empty if len(h_BH) else h_BH.new_zeros
    dtable_GSP = make(words.table_GSP.shape)
    found = softmax_pass(h_BH, words, inputs.targets(), weight_B, dtable_GSP)
    dW_GSH = dtable_GSP[..., words.columns.vector]
    db_GS = dtable_GSP[..., words.columns.bias][..., 0]
    down_BH = h_BH * -found.miss_B[:, None]
    down_B = -found.miss_B
    if inputs.own_BH is not None:
        return found.nll_B, (found.dh_BH, dW_GSH, db_GS, down_BH, down_B)
    dW_GSH[0].index_add_(0, inputs.slot_B, down_BH)
    db_GS[0].index_add_(0, inputs.slot_B, down_B)
    return found.nll_B, (found.dh_BH, dW_GSH, db_GS, None, None)
