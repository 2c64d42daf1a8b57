"""How likely a text is under each of many attribute vectors.

n texts, T their words, N context, A attribute vectors, D attribute dim, F factors, B words at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from atd.lm import MultiplicativeLM
from atd.noise import Shares
from atd.ragged import Ragged
from atd.vocabulary import UNK_ID

LOGITS = 2**22  # alive at once
ROWS = (64, 1024)  # words that share what stands for the vocabulary, at least and at most
COMBS = 64  # for the words of all texts, if they are few
POWER = 0.75  # of the words' frequency: how likely each is to be drawn
ASKED = 64  # attributes, at most, whose frequencies are averaged for that
STEP = (5**0.5 - 1) / 2  # of one comb against the one before: multiples of it are spread evenly


class Normaliser:
    """The softmax's denominator over `samples` words: the frequent ones for certain, others by a comb (`atd.noise`).

    All attributes are judged by the same words. Still one that makes a word frequent suffers where the comb hits that
    word. So such words are likelier to be drawn, every batch has a comb of its own, and the words of a text are spread
    over many batches.
    """

    def __init__(self, model: MultiplicativeLM, x_AD: Tensor, samples: int, seed: int):
        self.W, self.b = (t.detach() for t in model.output())
        self.shares = Shares(frequencies(model, x_AD).pow(POWER))
        self.samples = min(samples, len(self.b))
        self.start = float(np.random.default_rng(seed).random())

    def comb(self, i: int) -> tuple[Tensor, Tensor]:
        """Rows of W and biases of the words that stand for all in batch i; a bias holds how many they stand for."""
        words, log_weight = self.shares.choose(self.samples, (self.start + i * STEP) % 1)
        return self.W[words], self.b[words] + log_weight


def log_likelihoods(
    model: MultiplicativeLM,
    texts: Ragged,
    x_AD: Tensor,
    samples: int = 1000,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> np.ndarray:
    """log P(text | attribute) of every text under every attribute vector (n×A).

    `samples` words stand for the vocabulary; if it has no more, likelihoods are exact. Unknown words are context, but
    not counted: which attribute has more of them says little about style. `progress` is told how many words are done.
    """
    owner = torch.from_numpy(texts.owner)
    out = torch.zeros(len(texts), len(x_AD), dtype=torch.float64)
    for at, log_p_BA in of_words(model, texts, x_AD, samples, seed):
        out.index_add_(0, owner[at], torch.from_numpy(log_p_BA))
        if progress is not None:
            progress(len(at))
    return out.numpy()


def frequencies(model: MultiplicativeLM, x_AD: Tensor) -> Tensor:
    """How frequent each word is under the attributes, on average and whatever the context (V)."""
    W, b = model.output()
    constant_F = model.constant()
    r_F = W.new_zeros(W.shape[1]) if constant_F is None else constant_F
    some = torch.linspace(0, len(x_AD) - 1, min(ASKED, len(x_AD))).long()
    mean_V = torch.zeros_like(b)
    for x_D in x_AD[some]:
        mean_V += (W @ model.condition(r_F, x_D) + b).softmax(0)
    return mean_V / len(some)


@torch.inference_mode()
def of_words(
    model: MultiplicativeLM, texts: Ragged, x_AD: Tensor, samples: int = 1000, seed: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(places of known words, the log-probability of each under every attribute (B×A)), part after part.

    The context of a word is computed once for all attributes. So time is linear in attributes, and memory flat.
    """
    known = np.random.default_rng(seed).permutation(np.flatnonzero(texts.tokens != UNK_ID))
    normaliser = Normaliser(model, x_AD, samples, seed)
    W, b = normaliser.W, normaliser.b
    rows = int(np.clip(len(known) // COMBS, *ROWS))
    rows = max(1, min(rows, LOGITS // max(normaliser.samples, len(x_AD))))
    for i, first in enumerate(range(0, len(known), rows)):
        at = known[first : first + rows]
        r_BF = model.context(torch.from_numpy(texts.windows(len(model.C), at)))
        target = torch.from_numpy(texts.tokens[at].astype(np.int64))
        own_W, own_b = W[target], b[target]
        comb_W, comb_b = normaliser.comb(i)
        log_p_BA = torch.empty(len(at), len(x_AD), dtype=torch.float64)
        for a, x_D in enumerate(x_AD):
            f_BF = model.condition(r_BF, x_D)
            log_sum_B = torch.addmm(comb_b, f_BF, comb_W.T).logsumexp(1)
            log_p_BA[:, a] = (f_BF * own_W).sum(1) + own_b - log_sum_B
        yield at, log_p_BA.numpy()
