"""Text from a batch of samples at once, against one word of one text at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from atd.generate import generate
from atd.lm import MultiplicativeLM
from atd.vocabulary import BOS_ID
from tasks.benchmark import synthetic
from tasks.benchmark.measure import Bench, alternate, row
from tasks.benchmark.naive import sample_one_by_one

V, K, D, F, N = 20_000, 100, 50, 100, 5


def batched(bench: Bench) -> dict[str, dict[str, float]]:
    B, length = 256, bench.size(20, 8)
    torch.manual_seed(0)
    model = MultiplicativeLM(V, K, D, F, N, 10)
    model.start_bias(torch.from_numpy(synthetic.word_counts(V)))
    x_BD = model.vectors().detach()[torch.arange(B) % 10]
    generator = torch.Generator().manual_seed(0)
    one = 2  # texts of the rival in a timing

    def ours() -> None:
        generate(model, x_BD, [BOS_ID], length, generator=generator)

    def rival() -> None:
        sample_one_by_one(model, x_BD[:one], length, generator)

    seconds = alternate({"ours": ours, "rival": rival}, bench.rounds)
    ours_each, rival_each = seconds["ours"] / (B * length), seconds["rival"] / (one * length)
    rate, rival_rate = (1 / float(np.median(each)) for each in (ours_each, rival_each))
    more: dict[str, Any] = {"words_per_second": rate, "rival_words_per_second": rival_rate}
    return {"generate_batched": row(rival_each / ours_each, 50, **more)}
