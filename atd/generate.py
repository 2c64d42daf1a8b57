"""Sampling text from a next-word model, a whole batch at a time.

B samples, T words to produce, N context size, V vocabulary, H hidden, D attribute dim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from atd.errors import AtdError
from atd.lm import MultiplicativeLM, NextWordModel
from atd.vocabulary import BOS_ID
from atd.vocabulary_kernel import SoftmaxTable, library

BLOCK = 128  # words per block of the two-level draw
COLD = 1e-20  # below this temperature logits would leave the range of a float: as good as 0


@torch.inference_mode()
def generate(
    model: NextWordModel,
    x: Tensor | None,
    start: Tensor | Sequence[int],
    length: int,
    *,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    forbid: Sequence[int] = (),
    language: int = 0,
) -> Tensor:
    """Continue `start` by `length` words: ids B×T.

    `x` is an attribute vector for all (D), one per sample (B×D), or one per step (T×B×D or T×1×D, Mad Libs).
    `start` is shared by all samples (S) or one per sample (B×S); B is whichever of the two says more. Words
    in `forbid` are never produced. `temperature` 0 takes the likeliest word; `top_k`, then `top_p`, cut the
    tail off. The same generator state gives the same text.
    """
    _check(length, temperature, top_k, top_p)
    start_BS = torch.atleast_2d(torch.as_tensor(start, dtype=torch.long, device=model.C.device))
    x_TBD = None if x is None else x.reshape((1,) * (3 - x.dim()) + x.shape).expand(length, -1, -1)
    B = max(len(start_BS), 1 if x_TBD is None else x_TBD.shape[1])
    N = model.C.shape[0]
    text = torch.full((B, N + start_BS.shape[1] + length), BOS_ID, device=model.C.device)
    text[:, N : N + start_BS.shape[1]] = start_BS
    hidden = folded_hidden(model, language)
    choose = _choice(*_output(model, language, forbid), generator, temperature, top_k, top_p)
    for t in range(length):
        at = text.shape[1] - length + t
        h_BH = hidden(text[:, at - N : at], None if x_TBD is None else x_TBD[t])
        text[:, at] = choose(h_BH)
    return text[:, text.shape[1] - length :].clone()


def folded_hidden(model: NextWordModel, language: int = 0) -> Callable[[Tensor, Tensor | None], Tensor]:
    """`model.hidden` with W_fk C⁽ⁱ⁾ᵀ W_fkᵀ multiplied out once: a third of the work while weights are frozen."""
    if not isinstance(model, MultiplicativeLM) or type(model).hidden is not MultiplicativeLM.hidden:
        return lambda context, x: model.hidden(context, x, language)
    fold = model.folded_contexts()
    constant_F = model.constant()

    def hidden(context_BN: Tensor, x_BD: Tensor | None) -> Tensor:
        r_BF = functional.embedding(context_BN, model.W_fv).flatten(1) @ fold
        if constant_F is not None:
            r_BF += constant_F
        return r_BF if x_BD is None else model.condition(r_BF, x_BD)

    return hidden


def _output(model: NextWordModel, language: int, forbid: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The output layer (V×H, V), with words that cannot be drawn."""
    W_VH, b_V = model.output(language)
    if not len(forbid):
        return W_VH, b_V
    return W_VH, b_V.index_fill(0, torch.as_tensor(list(forbid), device=b_V.device), -torch.inf)


def _choice(
    W_VH: Tensor, b_V: Tensor, generator: torch.Generator, temperature: float, top_k: int | None, top_p: float | None
) -> Callable[[Tensor], Tensor]:
    """The function that takes hidden vectors (B×H) to words (B). Where no tail is cut off, C needs no logits for it."""
    passes = library(W_VH)
    if passes and temperature >= COLD and top_k is None and top_p in (None, 1):
        table = SoftmaxTable(passes, W_VH, b_V, temperature)
        return lambda h_BH: table.draw(h_BH, _uniform(len(h_BH), generator).to(h_BH.device))
    pad = -len(b_V) % BLOCK  # to whole blocks, with words that cannot be drawn
    b_V = functional.pad(b_V, (0, pad), value=-torch.inf)
    W_HV = functional.pad(W_VH, (0, 0, 0, pad)).T
    return lambda h_BH: draw(torch.addmm(b_V, h_BH, W_HV), generator, temperature, top_k, top_p)


def draw(
    logits_BV: Tensor,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """One word per row with probability softmax(logits / temperature), cut to top-k and then top-p (B).

    V is a whole number of blocks. Overwrites the logits.
    """
    if temperature < COLD:
        return logits_BV.argmax(1)
    if temperature != 1:
        logits_BV /= temperature
    if top_k is not None:
        values, ids = logits_BV.topk(min(top_k, logits_BV.shape[1]))
        weight = functional.pad(values.softmax(1), (0, -values.shape[1] % BLOCK))
        return ids.gather(1, _nucleus(weight, top_p, generator)[:, None])[:, 0]
    return _nucleus(logits_BV.softmax(1), top_p, generator)


def _nucleus(weight_BV: Tensor, top_p: float | None, generator: torch.Generator) -> Tensor:
    """A column per row in proportion to its weight, among the fewest heaviest whose share reaches p.

    By rejection, which needs no sorting: a column lies in the nucleus if those before it, the heavier ones, do
    not reach p. One that does not takes all later columns out with it, so a few rounds suffice.
    """
    column_B = _pick(weight_BV, generator)
    if top_p is None or top_p == 1:
        return column_B
    goal_B = top_p * weight_BV.sum(1)
    index_V = torch.arange(weight_BV.shape[1], device=weight_BV.device)
    rows = torch.arange(len(weight_BV), device=weight_BV.device)
    while len(rows):
        weight, column = weight_BV[rows], column_B[rows, None]
        own = weight.gather(1, column)
        before = weight.masked_fill((weight < own) | ((weight == own) & (index_V >= column)), 0)
        outside = before.sum(1) >= goal_B[rows]
        rows = rows[outside]
        weight_BV[rows] = before[outside]
        column_B[rows] = _pick(before[outside], generator)
    return column_B


def _pick(weight_BV: Tensor, generator: torch.Generator) -> Tensor:
    """A column per row in proportion to its weight: first a block of columns, then one inside it."""
    u_B = _uniform(len(weight_BV), generator)
    blocks = weight_BV.unflatten(1, (-1, BLOCK))
    block_B, rest_B = invert(blocks.sum(2), u_B.to(weight_BV.device))
    inside_B, _ = invert(blocks[torch.arange(len(blocks), device=blocks.device), block_B], rest_B)
    return block_B * BLOCK + inside_B


def _uniform(B: int, generator: torch.Generator) -> Tensor:
    return torch.rand(B, dtype=torch.float64, generator=generator, device=generator.device)


def invert(weight: Tensor, u_B: Tensor) -> tuple[Tensor, Tensor]:
    """The column where the cumulative weight of each row passes u·total, and how far u lies inside it (0–1).

    In double precision, and never on a column of zero weight.
    """
    cumulative = weight.double().cumsum(1)
    goal = (u_B * cumulative[:, -1] * (1 - 1e-12))[:, None]
    column = torch.searchsorted(cumulative, goal, right=True)
    own = weight.gather(1, column).double()
    inside = (goal - (cumulative.gather(1, column) - own)) / own
    return column[:, 0], inside[:, 0].clamp(0, 1 - 1e-12)


def _check(length: int, temperature: float, top_k: int | None, top_p: float | None) -> None:
    if length < 1:
        raise AtdError(f"length={length}: ask for at least one word")
    if not 0 <= temperature < float("inf"):
        raise AtdError(f"temperature={temperature}: give a number from 0 (likeliest word) upwards")
    if top_k is not None and top_k < 1:
        raise AtdError(f"top_k={top_k}: give a whole number from 1 upwards, or None for all words")
    if top_p is not None and not 0 < top_p <= 1:
        raise AtdError(f"top_p={top_p}: give a share above 0 and at most 1, or None for all words")
