"""Text from a batch of samples at once, against the best loop over batches in plain PyTorch and one word at a time.

B texts, N context size, H hidden, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from atd.generate import folded_hidden, generate
from atd.lm import MultiplicativeLM
from atd.vocabulary import BOS_ID
from tasks.benchmark import synthetic
from tasks.benchmark.measure import Bench, alternate, faster
from tasks.benchmark.naive import sample_one_by_one
from tasks.benchmark.rivals import at_medium_precision

V, K, D, F, N = 20_000, 100, 50, 100, 5
B = 256
BLOCK = 125  # words; a whole number of blocks is the vocabulary
ONE = 2  # texts in a timing of the loop that writes one text after the other


def batched(bench: Bench) -> dict[str, dict[str, float]]:
    """Loops over batches draw in different ways; `torch.compile` makes none of them faster.

    `blocks_medium` lets PyTorch take its products from oneDNN instead of MKL: on AMD's processors, all lanes of them.
    """
    length = bench.size(20, 8)
    torch.manual_seed(0)
    model = MultiplicativeLM(V, K, D, F, N, 10)
    model.start_bias(torch.from_numpy(synthetic.word_counts(V)))
    x_BD = model.vectors().detach()[torch.arange(B) % 10]
    generator = torch.Generator().manual_seed(0)
    ways = {"blocks": by_blocks, "cumulative": by_cumulative_sum, "multinomial": by_multinomial}
    functions: dict[str, Callable[[], object]] = {
        name: partial(loop, model, x_BD, length, generator, way) for name, way in ways.items()
    }
    functions["blocks_medium"] = at_medium_precision(functions["blocks"])
    functions["ours"] = lambda: generate(model, x_BD, [BOS_ID], length, generator=generator)
    functions["alone"] = lambda: sample_one_by_one(model, x_BD[:ONE], length, generator)
    seconds = alternate(functions, bench.rounds)
    each = {name: times / ((ONE if name == "alone" else B) * length) for name, times in seconds.items()}
    rate: dict[str, Any] = {"words_per_second": 1 / float(np.median(each["ours"]))}
    return {
        "generate_batched": faster(each, 2, (*ways, "blocks_medium"), **rate),
        "generate_one_by_one": faster(each, 20, ("alone",), **rate),
    }


@torch.inference_mode()
def loop(
    model: MultiplicativeLM,
    x_BD: Tensor,
    length: int,
    generator: torch.Generator,
    way: Callable[[Tensor, Tensor, torch.Generator], Tensor],
) -> Tensor:
    """All texts word by word: contexts folded, the bias a row of the output layer, memory for logits kept."""
    hidden = folded_hidden(model)
    W_VH, b_V = model.output()
    W_HV = torch.cat([W_VH.T, b_V[None]])
    logits_BV, weight_BV = torch.empty(2, len(x_BD), len(b_V))
    text = torch.full((len(x_BD), N + length), BOS_ID)
    for t in range(N, N + length):
        h_BH = functional.pad(hidden(text[:, t - N : t], x_BD), (0, 1), value=1)
        torch.mm(h_BH, W_HV, out=logits_BV)
        torch.softmax(logits_BV, 1, out=weight_BV)
        text[:, t] = way(weight_BV, logits_BV, generator)
    return text[:, N:]


def by_multinomial(weight_BV: Tensor, spare_BV: Tensor, generator: torch.Generator) -> Tensor:
    return torch.multinomial(weight_BV, 1, generator=generator)[:, 0]


def by_cumulative_sum(weight_BV: Tensor, spare_BV: Tensor, generator: torch.Generator) -> Tensor:
    return inverted(torch.cumsum(weight_BV, 1, out=spare_BV), generator)


def by_blocks(weight_BV: Tensor, spare_BV: Tensor, generator: torch.Generator) -> Tensor:
    """First a block of words, then a word of it: two short cumulative sums."""
    blocks = weight_BV.unflatten(1, (-1, BLOCK))
    block_B = inverted(blocks.sum(2).cumsum(1), generator)
    word_B = inverted(blocks[torch.arange(len(blocks)), block_B].cumsum(1), generator)
    return block_B * BLOCK + word_B


def inverted(cumulative: Tensor, generator: torch.Generator) -> Tensor:
    u_B1 = torch.rand(len(cumulative), 1, generator=generator)
    column_B = torch.searchsorted(cumulative, u_B1 * cumulative[:, -1:], right=True)[:, 0]
    return column_B.clamp(max=cumulative.shape[1] - 1)
