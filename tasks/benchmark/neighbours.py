"""The nearest words under an attribute, the whole vocabulary ranked exactly: one query, and a thousand at once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from atd.lm import MultiplicativeLM
from atd.neighbours import Space, unit
from tasks.benchmark.measure import Bench, alternate, faster

K, D, F, k = 100, 50, 100, 15
MANY = 1000
CHUNK = 32  # queries of the rival's product at a time: faster than 100, 256 or all at once
CHECKED = 100  # queries whose answers are compared with a product in double precision

Ways = dict[str, Callable[[Tensor], object]]


def ranked(bench: Bench) -> dict[str, dict[str, float]]:
    """All have scaled their vectors before: we for the attribute, gensim by `fill_norms`, faiss by taking them scaled.

    `prepare_seconds` is what a new attribute costs us: T_x of every word, scaled, with its coarse copy.
    """
    V = bench.size(100_000, 30_000)
    torch.manual_seed(0)
    model = MultiplicativeLM(V, K, D, F, 5, 10)
    x_D = model.vectors()[0].detach()
    words = torch.from_numpy(np.random.default_rng(0).permutation(V)[:MANY])
    with torch.inference_mode():
        vectors_VK = model.embeddings(x_D)
        space = Space(vectors_VK)
        agree = same_words(space, words[:CHECKED])
        ways: Ways = {"ours": space.of_words, "faiss": faiss(vectors_VK), "torch": product(vectors_VK)}
        alone: Ways = {"gensim": gensim(vectors_VK), "prepare": lambda words: Space(model.embeddings(x_D))}
        one = timed(ways | alone, words[:1], bench.rounds)
        many = timed(ways, words, bench.rounds)
    prepare = float(np.median(one["prepare"]))
    return {
        "neighbours": faster(one, 1, ("faiss", "torch", "gensim"), ok=agree, prepare_seconds=prepare),
        "neighbours_1000": faster(many, 1, ("faiss", "torch"), ok=agree),
    }


def timed(ways: Ways, words: Tensor, rounds: int) -> dict[str, np.ndarray]:
    return alternate({name: partial(way, words) for name, way in ways.items()}, rounds)


def same_words(space: Space, words: Tensor) -> bool:
    """Whether we give the words that a product in double precision gives."""
    cosine_QV = space.unit_VK[words].double() @ space.unit_VK.double().T
    cosine_QV[torch.arange(len(words)), words] = -torch.inf
    return torch.equal(cosine_QV.topk(k).indices, space.of_words(words, k)[0])


def faiss(vectors_VK: Tensor) -> Callable[[Tensor], object]:
    """A flat index. Many queries go by products of BLAS, five times as fast as its default; one is faster by that."""
    logging.getLogger("faiss.loader").setLevel(logging.ERROR)  # would tell of every library it tries
    import faiss

    faiss.omp_set_num_threads(torch.get_num_threads())
    one_by_one, rows_VK = faiss.cvar.distance_compute_blas_threshold, unit(vectors_VK).numpy()
    index = faiss.IndexFlatIP(K)
    index.add(rows_VK)

    def search(words: Tensor) -> None:
        faiss.cvar.distance_compute_blas_threshold = 20 if len(words) > 1 else one_by_one
        index.search(rows_VK[words.numpy()], k + 1)

    return search


def product(vectors_VK: Tensor) -> Callable[[Tensor], object]:
    unit_VK = unit(vectors_VK)
    unit_KV = unit_VK.T.contiguous()  # twice as fast for one query, and no slower for many
    return lambda words: [(unit_VK[part] @ unit_KV).topk(k + 1) for part in words.split(CHUNK)]


def gensim(vectors_VK: Tensor) -> Callable[[Tensor], object]:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(K)
    vectors.add_vectors([f"w{i}" for i in range(len(vectors_VK))], vectors_VK.numpy())
    vectors.fill_norms()

    def most_similar(words: Tensor) -> None:
        for word in words:
            vectors.most_similar(int(word), topn=k)

    return most_similar
