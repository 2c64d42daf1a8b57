"""Vectors of unseen texts: against the paper's SGD on the same objective, and against gensim's Doc2Vec."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from atd.infer import infer, windows
from atd.lm import MultiplicativeLM
from atd.softmax import Noise
from tasks.benchmarks import synthetic
from tasks.benchmarks.measure import Bench, alternate, faster

K, F, D, N, A, WORDS = 100, 100, 100, 5, 200, 20
GAP = 1e-3  # SGD may stop when it has made all but this share of the possible progress
SAMPLES = 128  # words of the fixed subset (gensim: 5 negative ones per word); see docs/speed.md for what it costs
FAST = {"samples": SAMPLES, "tolerance": 0.03}  # the distance to the optimum is below that which the subset costs


@dataclass
class Texts:
    """A model trained for a while on some texts, and others it has not seen."""

    model: MultiplicativeLM
    train: tuple[np.ndarray, np.ndarray]
    tokens: torch.Tensor
    offsets: torch.Tensor


@cache
def trained(V: int, n: int, steps: int) -> Texts:
    torch.manual_seed(0)
    tokens, offsets, attribute = synthetic.texts(10_000, WORDS, V, A)
    model = MultiplicativeLM(V, K, D, F, N, A)
    counts = torch.from_numpy(synthetic.word_counts(V))
    model.start_bias(counts)
    noise, optimiser = Noise(counts), torch.optim.Adam(model.parameters(), lr=0.003, fused=True)
    flat, bounds = torch.from_numpy(tokens), torch.from_numpy(offsets)
    owner = torch.from_numpy(np.repeat(attribute, np.diff(offsets)))
    for _ in range(steps):
        where = torch.randint(len(flat), (1024,))
        loss = model.sampled_nll(
            windows(flat, bounds, where, N), flat[where], noise, 512, torch.default_generator, owner[where]
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    unseen, unseen_offsets, _ = synthetic.texts(n, WORDS, V, A, seed=1)
    return Texts(model, (tokens, offsets), torch.from_numpy(unseen), torch.from_numpy(unseen_offsets))


def against_sgd(bench: Bench) -> dict[str, dict[str, float]]:
    """The exact objective on both sides. The convex solver runs to its end, SGD to within `GAP` of that.

    SGD gets the best of three step sizes and as few passes as suffice, found beforehand and not timed.
    """
    texts = trained(bench.size(10_000, 2000), bench.size(200, 60), bench.size(300, 150))
    given = (texts.model, texts.tokens, texts.offsets)
    best, start = infer(*given).objective.sum(), infer(*given, iterations=0).objective.sum()
    lr, epochs, gap = _passes(given, float(best), float(start))
    functions = {
        "ours": lambda: infer(*given),
        "rival": lambda: infer(*given, method="sgd", lr=lr, epochs=epochs),
    }
    seconds = alternate(functions, bench.rounds)
    return {"infer_vs_sgd": faster(seconds, 10, sgd_passes=epochs, sgd_gap=gap)}


def _passes(given: tuple, best: float, start: float) -> tuple[float, int, float]:
    """(step size, passes, share of the progress not made) of the SGD that gets there first."""
    for epochs in (10, 20, 40, 80, 160, 320, 640):
        gaps = {}
        for lr in (0.03, 0.1, 0.3):
            found = float(infer(*given, method="sgd", lr=lr, epochs=epochs).objective.sum())
            gaps[lr] = (found - best) / (start - best)
        lr = min(gaps, key=lambda lr: gaps[lr])
        if gaps[lr] <= GAP:
            break
    return lr, epochs, gaps[lr]


def against_gensim(bench: Bench) -> dict[str, dict[str, float]]:
    """Texts per second on one thread, which is all that `infer_vector` uses; ours with the softmax over a fixed subset.

    `exact_ratio` is ours with the whole vocabulary, `cosine` how well the subset's vectors agree with it: the mean
    cosine of x − prior.
    """
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    texts = trained(bench.size(20_000, 5000), bench.size(4000, 1000), bench.size(300, 100))
    documents = [TaggedDocument(words, [i]) for i, words in enumerate(synthetic.strings(*texts.train))]
    rival = Doc2Vec(documents, vector_size=D, min_count=1, workers=1)
    unseen = synthetic.strings(texts.tokens.numpy(), texts.offsets.numpy())
    few = len(unseen) // 20
    some = (texts.model, texts.tokens[: texts.offsets[few]], texts.offsets[: few + 1])
    functions = {
        "ours": lambda: infer(texts.model, texts.tokens, texts.offsets, **FAST),
        "rival": lambda: [rival.infer_vector(words) for words in unseen],
        "exact": lambda: infer(*some),
    }
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        seconds = alternate(functions, bench.rounds)
    finally:
        torch.set_num_threads(threads)
    each = {name: float(np.median(s)) / (few if name == "exact" else len(unseen)) for name, s in seconds.items()}
    prior = texts.model.attributes.vectors().mean(0).detach()
    moves = [infer(*some, **settings).x - prior for settings in (FAST, {})]
    cosine = float(torch.nn.functional.cosine_similarity(*moves).mean())
    rates = {"texts_per_second": 1 / each["ours"], "rival_texts_per_second": 1 / each["rival"]}
    more = {**rates, "exact_ratio": each["rival"] / each["exact"], "cosine": cosine}
    return {"infer_vs_gensim": faster(seconds, 2, **more)}
