"""Training sentence vectors on pairs: beside gensim's Word2Vec in words, beside PyTorch, with bags or padded, in pairs.

The rival with bags is what a competent user of PyTorch would run: the same model and loss, `nn.EmbeddingBag` with
sparse gradients, and `torch.optim.Adagrad`, which takes them. It has the same vectorised batches, without `Bags`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import torch

from atd.contrast import hinge, turned
from atd.optim import RowAdaGrad
from atd.ragged import Ragged
from atd.ranking import RankingModel
from datamodules.pairs import PairLoader, Pairs
from tasks.benchmark import synthetic
from tasks.benchmark.measure import Bench, alternate, faster
from tasks.benchmark.naive import BagRanking, PaddedRanking, ranking_step

V, K, D, F, WORDS, B = 60_000, 100, 16, 100, 25, 512  # words per language and batch as with Europarl


def pairs(n: int, V: int = V) -> Pairs:
    sides = [Ragged(*synthetic.texts(n, WORDS, V, 4, seed)[:2]) for seed in (0, 1)]
    return Pairs((0, 1), *sides)


def our_epoch(data: Pairs, V: int = V, F: int = F, B: int = B) -> Callable[[], None]:
    """All pairs once, batches made on the way."""
    torch.manual_seed(0)
    model = RankingModel({"a": V, "b": V}, K, D, F)
    optimiser = RowAdaGrad(model.parameters(), lr=0.1)
    loader = PairLoader([data], model.bounds, B, seed=0)

    def epoch() -> None:
        for batch in loader:
            a_BK, b_BK = model(batch.bags, batch.languages, batch.size)
            optimiser.zero_grad()
            hinge(a_BK, b_BK, turned(a_BK, b_BK, 5)).backward()
            optimiser.step()

    return epoch


def against_gensim(bench: Bench) -> dict[str, dict[str, float]]:
    from gensim.models import Word2Vec

    data = pairs(bench.size(20_000, 4000))
    sentences = list(itertools.chain(*(synthetic.strings(s.tokens, s.offsets) for s in (data.source, data.target))))
    words = sum(map(len, sentences))
    rival = Word2Vec(vector_size=K, workers=torch.get_num_threads(), min_count=1)
    rival.build_vocab(sentences)

    def word2vec() -> None:
        rival.train(sentences, total_examples=len(sentences), epochs=1)

    seconds = alternate({"ours": our_epoch(data), "rival": word2vec}, bench.rounds)
    rate = words / float(np.median(seconds["ours"]))
    return {"ranking_vs_gensim": faster(seconds, 3, words_per_second=rate)}


def against_embedding_bag(bench: Bench) -> dict[str, dict[str, float]]:
    data = pairs(bench.size(16 * B, 4 * B))
    torch.manual_seed(0)
    model = BagRanking((V, V), K, D, F)
    optimiser = torch.optim.Adagrad(model.parameters(), lr=0.1)

    def bags() -> None:
        for chosen in np.array_split(np.random.default_rng(0).permutation(len(data)), len(data) // B):
            batch = data.take(chosen)
            a_BK, b_BK = model(batch.source, 0), model(batch.target, 1)
            optimiser.zero_grad()
            hinge(a_BK, b_BK, turned(a_BK, b_BK, 5)).backward()
            optimiser.step()

    seconds = alternate({"ours": our_epoch(data), "rival": bags}, bench.rounds)
    rate = len(data) / float(np.median(seconds["ours"]))
    return {"ranking_vs_embedding_bag": faster(seconds, 3, pairs_per_second=rate)}


def against_padding(bench: Bench) -> dict[str, dict[str, float]]:
    data = pairs(bench.size(16 * B, 4 * B))
    torch.manual_seed(0)
    model = PaddedRanking((V, V), K, D, F)
    optimiser = torch.optim.Adagrad(model.parameters(), lr=0.1)
    sides = [[torch.from_numpy(t) for t in np.split(s.tokens, s.offsets[1:-1])] for s in (data.source, data.target)]

    def padded() -> None:
        order = torch.randperm(len(data)).tolist()
        for i in range(0, len(order), B):
            source, target = ([side[j] for j in order[i : i + B]] for side in sides)
            ranking_step(model, optimiser, source, target)

    seconds = alternate({"ours": our_epoch(data), "rival": padded}, bench.rounds)
    rate = len(data) / float(np.median(seconds["ours"]))
    return {"ranking_vs_padded": faster(seconds, 5, pairs_per_second=rate)}
