"""Attribute vectors of unseen texts: all weights frozen, only x moves (end of section 2.5).

With the weights frozen the logits are affine in x, so for each text

    J(x) = Σ_t −log P(w_t | context_t, x) + (l2/2)·‖x − prior‖²

is strongly convex: there is one x per text, whatever the seed, the batch or the order. Under the rectifier x ≥ 0.

n texts, T positions of all of them, N context size, D attribute dim, F factors, S words of the softmax.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional

from atd.errors import AtdError
from atd.inference.objective import Problem, SoftmaxWords, typical_curvature
from atd.inference.solvers import SOLVERS, Inferred
from atd.lm import MultiplicativeLM
from atd.ragged import Ragged, spans
from atd.vocabulary import BOS_ID, UNK_ID

POSITIONS = 4096  # solved together, at most: bounds memory, not the result
TEXTS = 512  # the same, and fewer with a large vocabulary
CELLS = 2**25  # of a table, 128 MB: probabilities of all words for each text; all words by all context matrices
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

    `prior` (D or n×D) is where x starts and is drawn to; default the mean of the trained vectors. `samples`
    replaces the full softmax by a fixed subset (`SoftmaxWords`). `convex` runs until ‖∇J‖ ≤ l2·tolerance, which
    bounds the distance to the optimum by `tolerance`, or until ∇J is lost in rounding; `sgd` (the paper's)
    makes `epochs` passes of step size `lr`. `progress` is told how many texts each batch finished. Unknown
    words are context but never targets; a text without a known word keeps its prior.
    """
    if model.M is not None:
        raise AtdError("inference needs logits that are affine in x: train with model.additive=false")
    if l2 <= 0:
        raise AtdError(f"inference.l2 must be positive, got {l2}: it is what makes the vector of a text unique")
    if method not in SOLVERS:
        raise AtdError(f"inference.method is one of {', '.join(SOLVERS)}, not {method!r}")
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            return _infer(
                model,
                tokens,
                offsets,
                prior,
                l2,
                samples,
                language,
                progress,
                SOLVERS[method],
                dict(tolerance=tolerance, iterations=iterations, lr=lr, epochs=epochs, seed=seed),
            )
    finally:
        model.train(training)


def _infer(model, tokens, offsets, prior, l2, samples, language, progress, solve, options) -> Inferred:
    device = model.b.device
    tokens, offsets = tokens.to(device).long(), offsets.to(device).long()
    n, D = len(offsets) - 1, model.W_fd.shape[1]
    if prior is None:
        prior = model.vectors().mean(0)
    prior_nD = prior.to(device, model.b.dtype).expand(n, D)
    frozen = Frozen(model, tokens, offsets, samples, language)
    if empty := int((frozen.count_n == 0).sum()):
        warnings.warn(f"{empty} of {n} texts hold no known word: they get the prior vector", stacklevel=3)

    parts, order = [], torch.argsort(frozen.count_n, stable=True)  # texts of about the same length together
    few = POSITIONS if solve is SOLVERS["sgd"] else FEW  # it has no use for similar lengths
    for batch in _batches(frozen.count_n[order], few, min(TEXTS, max(1, CELLS // len(frozen.words.b_V)))):
        texts = order[batch]
        problem = frozen.problem(texts, prior_nD[texts], l2)
        parts.append(solve(problem, problem.project(problem.prior_nD), **options))
        if progress is not None:
            progress(len(texts))
    return Inferred.join(parts).select(order.argsort()) if parts else Inferred.at(prior_nD)


class Frozen:
    """What does not depend on x: of the model, and of the texts given the model."""

    def __init__(self, model: MultiplicativeLM, tokens: Tensor, offsets: Tensor, samples: int | None, language: int):
        self.model, self.tokens, self.offsets = model, tokens, offsets
        self.texts = Ragged(tokens.cpu().numpy(), offsets.cpu().numpy())
        W_VF, b_V = model.output(language)
        self.words = SoftmaxWords(W_VF, b_V, samples)
        self.folded_NFF = model.folded_contexts().unflatten(0, (model.C.shape[0], -1))
        typical = torch.linalg.eigh(typical_curvature(W_VF, b_V, self.folded_NFF, model.W_fd))
        self.curvature = typical.eigenvalues.clamp(min=0), typical.eigenvectors
        self.stretch = float(torch.linalg.matrix_norm(model.W_fd, 2))
        self.known = tokens != UNK_ID
        before = torch.cat([tokens.new_zeros(1), self.known.long().cumsum(0)])
        self.count_n = before[offsets].diff()
        self.shift = getattr(model, "bounds", [0])[language]  # of this language's words among all
        self.contexts = None
        if min(len(tokens), len(b_V)) * self.folded_NFF[:, 0].numel() <= CELLS:  # one table for all batches
            start = tokens.new_tensor([BOS_ID])
            self.contexts = FrozenContexts(model, torch.cat([tokens, start]) + self.shift, self.folded_NFF)

    def problem(self, texts: Tensor, prior_nD: Tensor, l2: float) -> Problem:
        model = self.model
        where = spans(self.offsets[texts], self.offsets[texts + 1] - self.offsets[texts])
        where = where[self.known[where]]
        context_TN = torch.from_numpy(self.texts.windows(model.C.shape[0], where.cpu().numpy())).to(where.device)
        context_TN += self.shift
        r_TF = (self.contexts or FrozenContexts(model, context_TN, self.folded_NFF))(context_TN)
        return Problem.of(
            self.words,
            r_TF,
            self.tokens[where],
            self.count_n[texts],
            prior_nD,
            W_fd=model.W_fd,
            stretch=self.stretch,
            gate_bias=model.gate_bias,
            l2=l2,
            positive=model.attributes.activation == "relu",
            curvature=self.curvature,
        )


class FrozenContexts:
    """`model.context` with every word multiplied once by the N folded matrices: in text words recur."""

    def __init__(self, model: MultiplicativeLM, words: Tensor, folded_NFF: Tensor):
        """For contexts of these words; a word may come often."""
        self.N, F = folded_NFF.shape[:2]
        used_V = torch.zeros(len(model.W_fv), dtype=torch.bool, device=words.device)
        used_V[words.flatten()] = True
        rows_U = used_V.nonzero()[:, 0]
        self.place_V = torch.empty_like(used_V, dtype=torch.long)
        self.place_V[rows_U] = torch.arange(len(rows_U), device=words.device)
        matrices = folded_NFF.transpose(0, 1).reshape(F, self.N * F)
        self.table_UF = (model.W_fv[rows_U] @ matrices).view(-1, F)  # U·N rows

    def __call__(self, context_TN: Tensor) -> Tensor:
        index_TN = self.place_V[context_TN] * self.N + torch.arange(self.N, device=context_TN.device)
        return functional.embedding_bag(index_TN, self.table_UF, mode="sum")


def _batches(count_n: Tensor, few: int, texts: int) -> list[slice]:
    """Runs of at most so many texts, given shortest first, with about POSITIONS positions. Once it has `few` positions,
    a run ends where texts are a quarter longer than its first: all are filled up to the longest."""
    bounds, n, end_n = [0], len(count_n), count_n.cumsum(0)
    while bounds[-1] < n:
        first = bounds[-1]
        before = end_n[first] - count_n[first]
        most, enough = (int(torch.searchsorted(end_n, before + room, right=True)) for room in (POSITIONS, few))
        similar = int(torch.searchsorted(count_n, count_n[first] * 5 // 4, right=True))
        bounds.append(max(first + 1, min(most, max(enough, similar), first + texts)))
    return [slice(first, last) for first, last in pairwise(bounds)]
