"""How likely a text is under each of many attribute vectors.

n texts, T their words, N context, A attribute vectors, D attribute dim, F factors, B words at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from atd.lm import MultiplicativeLM
from atd.ragged import Ragged
from atd.vocabulary import UNK_ID

LOGITS = 2**22  # alive at once


class Normaliser:
    """The softmax's denominator over the most frequent words, exactly, and a sample of the others.

    All attributes are judged by the same words, so that what sampling adds to one it adds to all. `head` words are
    summed as they are; `samples` of the rest are drawn without replacement and weighted up.
    """

    def __init__(self, model: MultiplicativeLM, head: int, samples: int, seed: int):
        W, b = (t.detach() for t in model.output())
        V = len(b)
        head = min(head, V)
        tail = np.random.default_rng(seed).permutation(np.arange(head, V))[:samples]
        words = torch.from_numpy(np.concatenate([np.arange(head), tail]))
        weight = torch.zeros(len(words))
        if len(tail):
            weight[head:] = float(np.log((V - head) / len(tail)))
        self.W, self.b = W[words], b[words] + weight

    def log_sum(self, f_BF: Tensor) -> Tensor:
        return torch.addmm(self.b, f_BF, self.W.T).logsumexp(1)


@torch.inference_mode()
def log_likelihoods(
    model: MultiplicativeLM,
    texts: Ragged,
    x_AD: Tensor,
    head: int = 1000,
    samples: int = 1000,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> np.ndarray:
    """log P(text | attribute) of every text under every attribute vector (n×A).

    Unknown words are context, but not counted: which attribute has more of them says little about style. `progress` is
    told how many words are done.
    """
    known = np.flatnonzero(texts.tokens != UNK_ID)
    context = torch.from_numpy(texts.windows(len(model.C), known))
    target = torch.from_numpy(texts.tokens[known].astype(np.int64))
    document = torch.from_numpy(texts.owner[known])
    normaliser, (W, b) = Normaliser(model, head, samples, seed), model.output()
    out = torch.zeros(len(texts), len(x_AD), dtype=torch.float64)
    rows = max(1, LOGITS // len(normaliser.b))
    for part in torch.arange(len(target)).split(rows):
        r_BF = model.context(context[part])
        own_W, own_b = W[target[part]], b[target[part]]
        for a, x_D in enumerate(x_AD):
            f_BF = model.condition(r_BF, x_D)
            log_p = (f_BF * own_W).sum(1) + own_b - normaliser.log_sum(f_BF)
            out[:, a].index_add_(0, document[part], log_p.double())
        if progress is not None:
            progress(len(part))
    return out.numpy()
