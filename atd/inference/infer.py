"""Attribute vectors of unseen texts: all weights frozen, only x moves (end of section 2.5).

With the weights frozen the logits are affine in x, so for each text

    J(x) = Σ_t −log P(w_t | context_t, x) + (l2/2)·‖x − prior‖²

is strongly convex: there is one x per text, whatever the seed, the batch or the order. Under the rectifier x ≥ 0.

n texts, T positions of all of them, N context size, D attribute dim, F factors, V vocabulary.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional

from atd.attributes import CentredTable
from atd.errors import AtdError
from atd.inference.effect import Effect
from atd.inference.objective import Problem
from atd.inference.point import Inferred
from atd.inference.preconditioner import Preconditioner, typical_curvature
from atd.inference.solvers import SOLVERS
from atd.inference.words import SoftmaxWords
from atd.lm import MultiplicativeLM
from atd.ragged import Ragged, spans
from atd.vocabulary import BOS_ID, UNK_ID

POSITIONS = 4096  # solved together, at most: bounds memory, not the result
TEXTS = 512  # the same, and fewer with a large vocabulary
CELLS = 2**25  # of a table, 128 MB: probabilities of all words for each text; all words by all context matrices
HUGE = 1000.0  # a bias; those of trained models are within 20
FEW = 512  # positions, enough for fast products


def infer(
    model: MultiplicativeLM,
    tokens: Tensor,
    offsets: Tensor,
    *,
    prior: Tensor | None = None,
    l2: float = 1.0,
    method: str = "convex",
    samples: int | None = None,
    tolerance: float = 1e-5,
    iterations: int = 100,
    lr: float = 0.1,
    epochs: int = 20,
    seed: int = 0,
    language: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Inferred:
    """Fit x for every text of the flat `tokens`, bounded by `offsets` (n+1).

    `prior` (D or n×D) is where x starts and is drawn to; default the mean of the trained vectors, or 0 where that is
    the average text (`CentredTable`). `samples` replaces the full softmax by a fixed subset (`SoftmaxWords`). `convex`
    runs until ‖∇J‖ ≤ l2·tolerance, which bounds the distance to the optimum by `tolerance`, or until ∇J is lost in
    rounding, or for `iterations`; where weights are so large that single precision gets stuck, double takes over. `sgd`
    (the paper's) makes `epochs` passes of step size `lr`. `progress` is told how many texts each batch finished.
    Unknown words are context but never targets; a text without a known word keeps its prior.
    """
    if l2 <= 0:
        raise AtdError(f"l2 must be positive, got {l2}: it is what makes the vector of a text unique")
    if method not in SOLVERS:
        raise AtdError(f"method is one of {', '.join(SOLVERS)}, not {method!r}")
    solve = partial(SOLVERS[method], tolerance=tolerance, iterations=iterations, lr=lr, epochs=epochs, seed=seed)
    few = POSITIONS if method == "sgd" else FEW  # it has no use for similar lengths
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            frozen = Frozen(model, tokens, offsets, samples, language)
            if empty := int((frozen.count_n == 0).sum()):
                warnings.warn(
                    f"{empty} of {len(offsets) - 1} texts hold no known word: they get the prior vector", stacklevel=2
                )
            return _in_batches(frozen, frozen.prior(prior), l2, solve, few, progress)
    finally:
        model.train(training)


def _in_batches(
    frozen: Frozen,
    prior_nD: Tensor,
    l2: float,
    solve: Callable[[Problem, Tensor], Inferred],
    few: int,
    progress: Callable[[int], None] | None,
) -> Inferred:
    """Solve all texts, those of about the same length together."""
    order = torch.argsort(frozen.count_n, stable=True)
    texts_at_once = min(TEXTS, max(1, CELLS // len(frozen.words.b_V)))
    parts = []
    for batch in _batches(frozen.count_n[order], few, texts_at_once):
        texts = order[batch]
        problem = frozen.problem(texts, prior_nD[texts], l2)
        parts.append(solve(problem, problem.project(problem.prior_nD)))
        if progress is not None:
            progress(len(texts))
    return Inferred.join(parts).select(order.argsort()) if parts else Inferred.at(prior_nD)


def _batches(count_n: Tensor, few: int, texts: int) -> list[slice]:
    """Runs of at most so many texts, given shortest first, with about POSITIONS positions. Once it has `few` positions,
    a run ends where texts are a quarter longer than its first: all are filled up to the longest."""
    bounds = [0]
    end_n = count_n.cumsum(0)
    while bounds[-1] < len(count_n):
        first = bounds[-1]
        before = end_n[first] - count_n[first]
        most = int(torch.searchsorted(end_n, before + POSITIONS, right=True))
        enough = int(torch.searchsorted(end_n, before + few, right=True))
        similar = int(torch.searchsorted(count_n, count_n[first] * 5 // 4, right=True))
        bounds.append(max(first + 1, min(most, max(enough, similar), first + texts)))
    return [slice(first, last) for first, last in pairwise(bounds)]


class Frozen:
    """What does not depend on x: of the model, and of the texts given the model."""

    def __init__(self, model: MultiplicativeLM, tokens: Tensor, offsets: Tensor, samples: int | None, language: int):
        self.model = model
        self.tokens = tokens.to(model.b.device).long()
        self.offsets = offsets.to(model.b.device).long()
        self.texts = Ragged(self.tokens.cpu().numpy(), self.offsets.cpu().numpy())
        self.known = self.tokens != UNK_ID
        before = torch.cat([self.tokens.new_zeros(1), self.known.long().cumsum(0)])
        self.count_n = before[self.offsets].diff()

        W_VF, b_V = _finite(*model.output(language))
        self.words = SoftmaxWords(W_VF, b_V, samples)
        self.effect = Effect.of(model)
        self.folded_NFF = model.folded_contexts().unflatten(0, (model.C.shape[0], -1))
        curvature_DD = typical_curvature(W_VF, b_V, self.folded_NFF, model.constant(), self.effect)
        self.preconditioner = Preconditioner.of(curvature_DD)
        self.first = getattr(model, "bounds", [0])[language]  # of this language's words among all
        self.contexts: FrozenContexts | None = None
        if min(len(self.tokens), len(b_V)) * self.folded_NFF[:, 0].numel() <= CELLS:  # one table for all batches
            start = self.tokens.new_tensor([BOS_ID])
            self.contexts = FrozenContexts(model, torch.cat([self.tokens, start]) + self.first, self.folded_NFF)

    def prior(self, given: Tensor | None) -> Tensor:
        """Where x starts and is drawn to (n×D)."""
        D = self.effect.W_ED.shape[1]
        if given is not None:
            prior = given
        elif isinstance(self.model.attributes, CentredTable):
            prior = torch.zeros(D)
        else:
            prior = self.model.vectors().mean(0)
        return prior.to(self.model.b.device, self.model.b.dtype).expand(len(self.texts), D)

    def problem(self, texts: Tensor, prior_nD: Tensor, l2: float) -> Problem:
        """What is to be minimised for some of the texts."""
        first_n = self.offsets[texts]
        where = spans(first_n, self.offsets[texts + 1] - first_n)
        where = where[self.known[where]]
        context_TN = torch.from_numpy(self.texts.windows(self.model.C.shape[0], where.cpu().numpy())).to(where.device)
        context_TN += self.first
        contexts = self.contexts or FrozenContexts(self.model, context_TN, self.folded_NFF)
        return Problem.of(
            self.words,
            contexts(context_TN),
            self.tokens[where],
            self.count_n[texts],
            prior_nD,
            effect=self.effect,
            l2=l2,
            positive=self.model.attributes.activation == "relu",
            preconditioner=self.preconditioner,
        )


def _finite(W_VF: Tensor, b_V: Tensor) -> tuple[Tensor, Tensor]:
    """Words and biases, refused where one is not a number; huge biases are counted from the largest.

    Only their differences matter to the softmax, and in a logit of a million single precision has 4 binary places left.
    """
    bad_V = ~(b_V.isfinite() & W_VF.isfinite().all(1))
    if bad_V.any():
        word = int(bad_V.nonzero()[0])
        raise AtdError(f"word {word} of the model has a weight or bias that is not finite; give it a bias such as -100")
    return W_VF, b_V - b_V.max() if b_V.abs().max() > HUGE else b_V


class FrozenContexts:
    """`model.context` with every word multiplied once by the N folded matrices: in text words recur."""

    def __init__(self, model: MultiplicativeLM, words: Tensor, folded_NFF: Tensor):
        """For contexts of these words; a word may come often. U of them are distinct."""
        self.N, F = folded_NFF.shape[:2]
        used_V = torch.zeros(len(model.W_fv), dtype=torch.bool, device=words.device)
        used_V[words.flatten()] = True
        rows_U = used_V.nonzero()[:, 0]
        self.place_V = torch.empty_like(used_V, dtype=torch.long)
        self.place_V[rows_U] = torch.arange(len(rows_U), device=words.device)
        matrices = folded_NFF.transpose(0, 1).reshape(F, self.N * F)
        self.table_UF = (model.W_fv[rows_U] @ matrices).view(-1, F)  # U·N rows
        self.constant_F = model.constant()

    def __call__(self, context_TN: Tensor) -> Tensor:
        """W_fk r̂ of every context (T×F)."""
        index_TN = self.place_V[context_TN] * self.N + torch.arange(self.N, device=context_TN.device)
        r_TF = functional.embedding_bag(index_TN, self.table_UF, mode="sum")
        return r_TF if self.constant_F is None else r_TF.add_(self.constant_F)
