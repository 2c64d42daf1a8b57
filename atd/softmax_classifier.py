"""Multinomial softmax regression over sparse and dense features, for many classes.

B batch, V sparse features, U of them active in a batch, H dense features, C classes.

A batch is two weighted sums of rows, each one `embedding_bag`: the rows of W that its texts use give their scores,
and the rows of the error that a feature occurs in give its gradient. Nothing of size B×V or V×C is made on the way:
a step costs what is present in the batch. The few features that very many texts have are learned as dense ones:
a product is cheaper than so many sums, and the steps are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import CDLL, c_float, c_int64
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from atd import native
from atd.errors import AtdError

Features = Any  # a scipy sparse matrix, a dense array, or the pair (sparse, dense)
PREDICTED = 2048  # rows whose scores exist at once in prediction
HALF_MAX = torch.finfo(torch.half).max
FREQUENT = 0.3  # share of the texts from which on a feature is cheaper as a dense column


class SoftmaxClassifier:
    """Softmax regression by mini-batches and row-wise AdaGrad, with scikit-learn's verbs.

    Every feature f has one accumulator: a_f ← a_f + ‖g_f‖², W_f ← W_f − η g_f / √(δ² + a_f), where g_f is the
    gradient of the batch's mean loss in row f of W and η falls linearly from `lr` to 0. The `damping` δ keeps a
    feature seen once from steps as long as those of one seen in every text, by which it would overfit. `l2` decays
    every row by its own step size in every step, also the rows a batch lacks, and at no cost: the weights are
    s_f·W_f, and decay moves the scalar s_f alone.

    In training the own class's score is lowered by `margin`, so that a text counts until its class leads by so much.
    Texts with more features than there are texts can all be told apart; without the margin each would cease to count
    as soon as it is. With 400 bloggers a margin of 20 took dev accuracy from 57.0 to 59.1 %.

    `half` keeps W in half precision: half the memory. With 1,000 bloggers accuracy was the same. It excludes `l2`.

    X is a sparse matrix, a dense array or the pair (sparse, dense); y holds any labels. Equal seeds, equal weights.
    """

    classes_: np.ndarray
    W_: Tensor  # V×C, of the sparse features
    dense_: Tensor  # H×C
    b_: Tensor  # C
    loss_: list[float]  # mean training loss of each epoch

    def __init__(
        self,
        epochs: int = 8,
        batch_size: int = 256,
        lr: float = 10.0,
        damping: float = 0.012,
        margin: float = 0.0,
        l2: float = 0.0,
        half: bool = False,
        seed: int = 0,
        device: str | torch.device = "cpu",
    ):
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.damping = damping
        self.margin = margin
        self.l2 = l2
        self.half = half
        self.seed = seed
        self.device = torch.device(device)

    @torch.inference_mode()
    def fit(self, X: Features, y: Any) -> SoftmaxClassifier:
        S, H = blocks(X)
        self.classes_, classes = np.unique(np.asarray(y), return_inverse=True)
        n, C = S.shape[0], len(self.classes_)
        if len(classes) != n:
            raise AtdError(f"the classifier got {n} rows of features and {len(classes)} labels")
        if self.half and self.l2:
            raise AtdError("the classifier's l2 needs single precision; leave half out")
        if C < 2:
            raise AtdError("the classifier needs texts of at least two classes")
        frequent, S, H = densified(S, H)
        precision = torch.half if self.half else torch.float
        words = Rows.zeros(S.shape[1], C, self.damping, self.l2, self.device, precision)
        dense = Rows.zeros(H.shape[1], C, self.damping, self.l2, self.device)
        bias = Rows.zeros(1, C, self.damping, 0.0, self.device)
        per_epoch = -(-n // self.batch_size)
        self.loss_ = [0.0] * self.epochs
        for step, chosen in enumerate(self._batches(n, per_epoch)):
            eta = self.lr * (1 - step / (self.epochs * per_epoch))
            S_b = S[chosen]
            H_b = self._tensor(H[chosen])
            label_b = self._tensor(classes[chosen])
            logits_BC = bag(words.W, S_b, self.device, words.scale) + H_b @ dense.weights() + bias.W
            error_BC, loss = softmax_error(logits_BC, label_b, self.margin)
            self.loss_[step // per_epoch] += loss / n
            words.descend_bags(eta, S_b.T.tocsr(), error_BC)
            dense.descend(eta, slice(None), H_b.T @ error_BC)
            bias.descend(eta, slice(None), error_BC.sum(0, keepdim=True))
        self.W_ = words.weights()
        self.b_ = bias.W[0]
        often, self.dense_ = dense.weights().tensor_split([len(frequent)])
        self.W_[self._tensor(frequent)] = often.to(precision)
        return self

    @torch.inference_mode()
    def decision_function(self, X: Features) -> np.ndarray:
        """Scores before the softmax, n×C."""
        S, H = blocks(X)
        if (S.shape[1], H.shape[1]) != (len(self.W_), len(self.dense_)):
            was, now = (len(self.W_), len(self.dense_)), (S.shape[1], H.shape[1])
            raise AtdError(f"the classifier learned from {was} sparse and dense features and got {now}")
        parts = [np.zeros((0, len(self.classes_)), np.float32)]
        for i in range(0, S.shape[0], PREDICTED):
            rows = slice(i, i + PREDICTED)
            scores = bag(self.W_, S[rows], self.device) + self._tensor(H[rows]) @ self.dense_ + self.b_
            parts.append(scores.cpu().numpy())
        return np.concatenate(parts)

    def predict_log_proba(self, X: Features) -> np.ndarray:
        return torch.log_softmax(torch.from_numpy(self.decision_function(X)), 1).numpy()

    def predict_proba(self, X: Features) -> np.ndarray:
        return torch.softmax(torch.from_numpy(self.decision_function(X)), 1).numpy()

    def predict(self, X: Features) -> np.ndarray:
        return self.classes_[self.decision_function(X).argmax(1)]

    def score(self, X: Features, y: Any) -> float:
        """Share of rows whose class is right."""
        return float((self.predict(X) == np.asarray(y)).mean())

    def _batches(self, n: int, per_epoch: int) -> Iterator[np.ndarray]:
        """The rows of every step; each epoch is a new permutation."""
        random = np.random.default_rng(self.seed)
        for step in range(self.epochs * per_epoch):
            at = step % per_epoch
            if at == 0:
                order = random.permutation(n)
            yield order[at * self.batch_size : (at + 1) * self.batch_size]

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(self.device)


@dataclass
class Rows:
    """A table of weights that AdaGrad moves row by row: the true weights are scale_f · W_f."""

    W: Tensor  # F×C
    a: Tensor  # F, the accumulators, begun at δ²
    scale: Tensor | None  # F; None without decay
    l2: float

    @classmethod
    def zeros(
        cls, F: int, C: int, damping: float, l2: float, device: torch.device, precision: torch.dtype = torch.float
    ) -> Rows:
        a = torch.full((F,), damping**2, device=device)
        return cls(torch.zeros(F, C, device=device, dtype=precision), a, torch.ones_like(a) if l2 else None, l2)

    def descend(self, eta: float, rows: Tensor | slice, g_UC: Tensor) -> None:
        """One step along the gradient of some rows, and the decay of all."""
        self.a[rows] += torch.linalg.vector_norm(g_UC, dim=1).square()
        rate = eta * self.a.clamp(min=1e-30).rsqrt()
        step = rate[rows]
        if self.scale is not None:
            self.scale /= 1 + rate * self.l2  # implicit, so that no step size makes it change sign
            self._unscale()
            step = step / self.scale[rows]
        g_UC.mul_(-step[:, None])
        if isinstance(rows, slice):
            self.W += g_UC
        elif self.W.dtype == torch.half:
            self.W[rows] = (self.W[rows] + g_UC).clamp(-HALF_MAX, HALF_MAX).half()
        else:
            self.W.index_add_(0, rows, g_UC)

    def descend_bags(self, eta: float, M: sparse.csr_matrix, error_BC: Tensor) -> None:
        """One step along the gradient M · error, in the rows that are not empty."""
        active = np.flatnonzero(np.diff(M.indptr))
        lib = native.kernel("row_descent") if self.scale is None and self.W.device.type == "cpu" else None
        if lib is None:
            g_UC = bag(error_BC, M, self.W.device, starts=active)
            self.descend(eta, torch.from_numpy(active).to(self.W.device), g_UC)
        else:
            self._descend_natively(lib, eta, M, active, error_BC)

    def _descend_natively(
        self, lib: CDLL, eta: float, M: sparse.csr_matrix, active: np.ndarray, error_BC: Tensor
    ) -> None:
        """Row by row, so that the gradient of all rows need not exist at once."""
        index = [each.astype(np.int32, copy=False) for each in (M.indptr, M.indices)]
        tables = [native.address(each) for each in (self.a, error_BC, active, *index, M.data)]
        W, is_half = native.address(self.W), c_int64(self.W.dtype == torch.half)
        C = error_BC.shape[1]

        def work(first: int, last: int) -> None:
            room_C = torch.empty(C)
            room, numbers = native.address(room_C), (c_int64(C), c_float(eta), c_int64(first), c_int64(last))
            lib.row_descent(W, is_half, *tables, room, *numbers)

        native.in_parts(len(active), work, torch.get_num_threads(), least=64)

    def weights(self) -> Tensor:
        return self.W if self.scale is None else self.W * self.scale[:, None]

    def _unscale(self) -> None:
        """Multiply tiny scales into their rows before single precision runs out."""
        assert self.scale is not None
        tiny = (self.scale < 1e-6).nonzero()[:, 0]
        if len(tiny):
            self.W[tiny] *= self.scale[tiny, None]
            self.scale[tiny] = 1.0


def bag(
    rows_FC: Tensor,
    M: sparse.csr_matrix,
    device: torch.device,
    scale_F: Tensor | None = None,
    starts: np.ndarray | None = None,
) -> Tensor:
    """M · diag(scale) · rows, where M is CSR; with `starts` only those rows of M, all others being empty.

    In single precision, also of rows in half precision.
    """
    index, weight = torch.from_numpy(M.indices).to(device), torch.from_numpy(M.data).to(device)
    offsets = torch.from_numpy(M.indptr[:-1] if starts is None else M.indptr[starts]).to(device)
    if scale_F is not None:
        weight = weight * scale_F[index]
    weight = weight.to(rows_FC.dtype)
    return functional.embedding_bag(index, rows_FC, offsets, mode="sum", per_sample_weights=weight).float()


def softmax_error(logits_BC: Tensor, label_B: Tensor, margin: float = 0.0) -> tuple[Tensor, float]:
    """The gradient of the mean cross-entropy in the logits, (p − y) / B, and the summed cross-entropy.

    The margin is taken off the logits in place.
    """
    B, C = logits_BC.shape
    own_B = torch.arange(B, device=label_B.device) * C + label_B
    logits_BC.view(-1)[own_B] -= margin
    log_p = logits_BC.log_softmax(1)
    loss = -float(log_p.view(-1)[own_B].sum())
    p = log_p.exp_()
    p.view(-1)[own_B] -= 1
    return p.div_(B), loss


def densified(S: sparse.csr_matrix, H: np.ndarray) -> tuple[np.ndarray, sparse.csr_matrix, np.ndarray]:
    """The features that many texts have, the sparse block without their values, and the dense one after them."""
    n, V = S.shape
    often = np.bincount(S.indices, minlength=V) > FREQUENT * n
    frequent = np.flatnonzero(often)
    rare = ~often[S.indices]
    bounds = np.concatenate([[0], np.cumsum(rare)])[S.indptr].astype(S.indptr.dtype)
    rest = sparse.csr_matrix((S.data[rare], S.indices[rare], bounds), shape=S.shape)
    return frequent, rest, np.concatenate([S[:, frequent].toarray(), H], axis=1)


def blocks(X: Features) -> tuple[sparse.csr_matrix, np.ndarray]:
    """(CSR, dense) in single precision; a block that is not given has no columns."""
    if isinstance(X, tuple):
        S, H = X
        if S.shape[0] != len(H):
            raise AtdError(f"the sparse block has {S.shape[0]} rows, the dense one {len(H)}")
    elif sparse.issparse(X):
        S, H = X, np.zeros((X.shape[0], 0), np.float32)
    else:
        S, H = sparse.csr_matrix((len(X), 0), dtype=np.float32), X
    H = np.ascontiguousarray(H, dtype=np.float32)
    S = sparse.csr_matrix(S, dtype=np.float32)
    if not (np.isfinite(H).all() and np.isfinite(S.data).all()):
        raise AtdError("the classifier's features hold NaN or infinity")
    return S, H
