"""The classifier against its formula written out densely, against scikit-learn's optimum, and its interface."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from atd import native, softmax_classifier
from atd.errors import AtdError
from atd.softmax_classifier import SoftmaxClassifier, softmax_error


def texts(n: int = 90, V: int = 40, C: int = 5, seed: int = 0) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Sparse rows whose class shifts the odds of some features, with an empty row and a feature nobody has."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % C
    odds = random.random((C, V)) ** 3
    X = (random.random((n, V)) < odds[y]) * random.random((n, V))
    X[0], X[:, 1] = 0, 0
    return sparse.csr_matrix(X, dtype=np.float32), y


def by_hand(X: np.ndarray, y: np.ndarray, model: SoftmaxClassifier) -> tuple[np.ndarray, np.ndarray]:
    """The docstring's formulas on dense matrices: (W, b)."""
    n, C = len(X), y.max() + 1
    W, b = np.zeros((X.shape[1], C)), np.zeros(C)
    a_W, a_b = np.full(X.shape[1], model.damping**2), model.damping**2
    random, per_epoch = np.random.default_rng(model.seed), -(-n // model.batch_size)
    for step in range(model.epochs * per_epoch):
        at = step % per_epoch * model.batch_size
        order = random.permutation(n) if at == 0 else order  # noqa: F821
        rows = order[at : at + model.batch_size]
        eta = model.lr * (1 - step / (model.epochs * per_epoch))
        logits = X[rows] @ W + b
        p = np.exp(logits - logits.max(1, keepdims=True))
        error = (p / p.sum(1, keepdims=True) - np.eye(C)[y[rows]]) / len(rows)
        g, g_b = X[rows].T @ error, error.sum(0)
        a_W, a_b = a_W + (g**2).sum(1), a_b + (g_b**2).sum()
        W /= 1 + (eta / np.sqrt(a_W) * model.l2)[:, None]
        W -= (eta / np.sqrt(a_W))[:, None] * g
        b -= eta / np.sqrt(a_b) * g_b
    return W, b


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(12, 60),
    V=st.integers(3, 50),
    C=st.integers(2, 6),
    batch_size=st.integers(3, 80),
    l2=st.sampled_from([0.0, 1e-3, 0.3, 30.0]),
    damping=st.sampled_from([0.01, 1.0]),
    seed=st.integers(0, 9),
    frequent=st.sampled_from([0.0, 0.2, 1.0]),
)
def test_a_sparse_step_is_the_dense_formula(n, V, C, batch_size, l2, damping, seed, frequent):
    X, y = texts(n, V, C, seed)
    with patch.object(softmax_classifier, "FREQUENT", frequent):  # all, some or none of the features made dense
        model = SoftmaxClassifier(3, batch_size, lr=0.5, damping=damping, l2=l2, seed=seed).fit(X, y)
    W, b = by_hand(X.toarray().astype(float), y, model)
    np.testing.assert_allclose(model.W_.numpy(), W, rtol=2e-3, atol=2e-4)
    np.testing.assert_allclose(model.b_.numpy(), b, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("half", [False, True])
def test_steps_in_c_are_those_in_python(half, monkeypatch):
    X, y = texts(400, 300, 37)
    fits = []
    for library in (native.kernel("row_descent"), None):
        monkeypatch.setattr(native, "kernel", lambda name, library=library: library)
        fits.append(SoftmaxClassifier(3, 32, lr=1.0, half=half).fit(X, y))
    near = {"rtol": 0.02, "atol": 0.02} if half else {"rtol": 1e-3, "atol": 1e-4}
    torch.testing.assert_close(fits[0].W_, fits[1].W_, **near)
    torch.testing.assert_close(fits[0].b_, fits[1].b_, **near)


def test_half_precision_rounds_the_weights_and_no_more():
    X, y = texts(400, 300, 37)
    options = {"epochs": 3, "batch_size": 32, "lr": 1.0}
    half, single = (SoftmaxClassifier(**options, half=half).fit(X, y) for half in (True, False))
    assert half.W_.dtype == torch.half
    torch.testing.assert_close(half.W_.float(), single.W_, rtol=0.02, atol=0.02)
    np.testing.assert_allclose(half.predict_proba(X), single.predict_proba(X), atol=0.02)
    with pytest.raises(AtdError, match="l2 needs single precision"):
        SoftmaxClassifier(half=True, l2=1.0).fit(X, y)


def test_halves_are_those_of_numpy():
    """A step of random length from every half there is."""
    lib = native.kernel("row_descent")
    if lib is None:
        pytest.skip("no compiler")
    bits = np.arange(1 << 16, dtype=np.uint16)
    start = bits.view(np.float16)[np.isfinite(bits.view(np.float16))].copy()
    step = np.random.default_rng(0).normal(size=len(start)).astype(np.float32)
    W, ones = start.copy(), np.ones(1, np.float32)
    squares = np.full(1, 1e30, np.float32)
    active, starts, text = np.zeros(1, np.int64), np.array([0, 1], np.int32), np.zeros(1, np.int32)
    long, room = native.ctypes.c_int64, np.empty_like(step)
    tables = [native.address(each) for each in (squares, step, active, starts, text, ones, room)]
    eta = native.ctypes.c_float(1e15)
    lib.row_descent(native.address(W), long(1), *tables, long(len(W)), eta, long(0), long(1))
    expected = np.clip(start.astype(np.float32) - step, -65504, 65504).astype(np.float16)
    assert (np.abs(W.view(np.int16) - expected.view(np.int16)) <= 1).all() and (expected == W).mean() > 0.999


def test_error_is_the_gradient_of_the_mean_cross_entropy():
    logits = torch.randn(7, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    label = torch.tensor([0, 1, 2, 3, 0, 1, 2])
    loss = torch.nn.functional.cross_entropy(logits, label)
    loss.backward()
    error, total = softmax_error(logits.detach(), label)
    torch.testing.assert_close(error, logits.grad)
    assert total == pytest.approx(7 * loss.item())


def test_it_reaches_the_optimum_that_scikit_learn_finds():
    from sklearn.linear_model import LogisticRegression

    X, y = texts(200, 30, 4)
    l2 = 0.01
    best = LogisticRegression(C=1 / (l2 * len(y)), tol=1e-8, max_iter=2000).fit(X, y)
    model = SoftmaxClassifier(400, 50, lr=0.5, damping=0.1, l2=l2).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), best.predict_proba(X), atol=0.01)
    assert model.loss_[-1] < model.loss_[0]


def test_the_same_feature_weighs_the_same_sparse_or_dense():
    X, y = texts()
    dense = X.toarray()
    options = {"epochs": 4, "batch_size": 16, "lr": 1.0, "l2": 1e-2}
    whole = SoftmaxClassifier(**options).fit(X, y).predict_proba(X)
    for parts in (dense, (X[:, :25], dense[:, 25:])):
        np.testing.assert_allclose(SoftmaxClassifier(**options).fit(parts, y).predict_proba(parts), whole, atol=1e-5)


def test_equal_seeds_give_equal_weights_whatever_the_threads():
    X, y = texts(400, 200, 20)
    fits = []
    for threads, seed in ((1, 3), (2, 3), (1, 4)):
        torch.set_num_threads(threads)
        fits.append(SoftmaxClassifier(3, 32, seed=seed).fit(X, y).W_)
    torch.set_num_threads(1)
    assert torch.equal(fits[0], fits[1])
    assert not torch.equal(fits[0], fits[2])


def test_it_predicts_the_labels_it_was_given():
    X, y = texts(300, 60, 5)
    names = np.array(["eve", "bob", "ann", "dan", "cyd"])[y]
    model = SoftmaxClassifier(20, 32, lr=1.0, damping=0.1).fit(X, names)
    assert list(model.classes_) == sorted(set(names))
    p, log_p = model.predict_proba(X), model.predict_log_proba(X)
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(np.exp(log_p), p, rtol=1e-4)
    assert (model.classes_[p.argmax(1)] == model.predict(X)).all()
    assert model.score(X, names) > 0.9
    assert model.predict(X[:0]).shape == (0,)


def test_what_cannot_be_learned_from_is_refused_in_one_line():
    X, y = texts()
    model = SoftmaxClassifier(1).fit(X, y)
    bad = X.copy()
    bad.data[0] = np.nan
    for call, reason in (
        (lambda: SoftmaxClassifier().fit(X, y[:-1]), "90 rows of features and 89 labels"),
        (lambda: SoftmaxClassifier().fit(X, y * 0), "two classes"),
        (lambda: SoftmaxClassifier().fit((X, np.zeros((3, 2))), y), "the dense one 3"),
        (lambda: SoftmaxClassifier().fit(bad, y), "NaN"),
        (lambda: model.predict(X[:, :9]), "got (9, 0)"),
    ):
        with pytest.raises(AtdError, match=reason.replace("(", r"\(").replace(")", r"\)")):
            call()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_learns_the_same():
    X, y = texts()
    here, there = (SoftmaxClassifier(4, 16, device=device).fit(X, y).predict_proba(X) for device in ("cpu", "cuda"))
    np.testing.assert_allclose(here, there, atol=1e-4)
