"""The nearest words under an attribute, against gensim's `most_similar`: the whole vocabulary ranked, exactly."""

from __future__ import annotations

import numpy as np
import torch

from atd.lm import MultiplicativeLM
from atd.neighbours import neighbours, unit
from tasks.benchmark.measure import Bench, alternate, slower

K, D, F, k = 100, 50, 100, 15


def against_gensim(bench: Bench) -> dict[str, dict[str, float]]:
    """Both have scaled their vectors before, gensim by `fill_norms`, we for the attribute; then query after query.

    `prepare_seconds` is what a new attribute costs: T_x of every word, scaled.
    """
    from gensim.models import KeyedVectors

    V = bench.size(100_000, 30_000)
    torch.manual_seed(0)
    model = MultiplicativeLM(V, K, D, F, 5, 10)
    x_D = model.vectors()[0].detach()
    with torch.inference_mode():
        unit_VK = unit(model.embeddings(x_D))
    rival = KeyedVectors(K)
    rival.add_vectors([f"w{i}" for i in range(V)], model.embeddings(x_D).detach().numpy())
    rival.fill_norms()
    words = np.random.default_rng(0).integers(0, V, 20).tolist()

    def ours() -> None:
        with torch.inference_mode():
            for w in words:
                neighbours(unit_VK, w, k, is_unit=True)

    def most_similar() -> None:
        for w in words:
            rival.most_similar(w, topn=k)

    def prepare() -> None:
        with torch.inference_mode():
            unit(model.embeddings(x_D))

    seconds = alternate({"ours": ours, "rival": most_similar, "prepare": prepare}, bench.rounds)
    return {"neighbours_vs_gensim": slower(seconds, 2, prepare_seconds=float(np.median(seconds["prepare"])))}
