"""A support vector machine on vectors of graphs: ten folds, its settings chosen on the training graphs of each.

n graphs, D length of a vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

INNER = 3  # folds of the training graphs, by which kernel and C are chosen
MOST = 1500  # training graphs that are looked at for it, drawn at random where there are more
ALONE, WITH_SIZE = "alone", "with size"  # names of kernels


def linear_kernel(x_nD: np.ndarray | csr_matrix) -> np.ndarray:
    """Products (n×n). Of counts of labels, of unit norm, this is the Weisfeiler–Lehman subtree kernel, normalised."""
    product_nn = x_nD @ x_nD.T
    return np.asarray(product_nn if isinstance(product_nn, np.ndarray) else product_nn.toarray(), np.float64)


def damped(x_nD: np.ndarray | csr_matrix) -> np.ndarray | csr_matrix:
    """x / √‖x‖: between vectors that grow with the graph and vectors of unit norm, which do not know its size."""
    if isinstance(x_nD, np.ndarray):
        return x_nD / np.sqrt(np.maximum(np.linalg.norm(x_nD, axis=1, keepdims=True), 1e-300))
    from scipy.sparse import diags
    from scipy.sparse.linalg import norm

    return diags(1 / np.sqrt(np.maximum(norm(x_nD, axis=1), 1e-300))) @ x_nD


def gaussian_kernel(x_nD: np.ndarray | csr_matrix) -> np.ndarray:
    """exp(−‖x − y‖² / its mean) (n×n): its width needs no choice, and no scale of x changes it."""
    product_nn = linear_kernel(x_nD)
    square_n = np.diag(product_nn)
    far_nn = np.maximum(square_n[:, None] + square_n - 2 * product_nn, 0)
    return np.exp(-far_nn / max(far_nn.mean(), 1e-300))


def size_kernel(size_n: np.ndarray) -> np.ndarray:
    """Of the logarithm of the number of nodes (n×n)."""
    return gaussian_kernel(np.log(size_n)[:, None])


def kernels_of(depths: Iterable[np.ndarray], size_n: np.ndarray) -> dict[str, np.ndarray]:
    """The mean of the kernels of all depths, and its product with that of sizes: what the classifier chooses from."""
    mean_nn = np.mean(list(depths), axis=0)
    return {ALONE: mean_nn, WITH_SIZE: mean_nn * size_kernel(size_n)}


def accuracies(
    kernels: Mapping[str, np.ndarray], label_n: np.ndarray, folds: Sequence[np.ndarray], Cs: Sequence[float]
) -> tuple[list[float], list[str]]:
    """The accuracy in every fold, in per cent, and the name of the kernel chosen there."""
    found = [judge(kernels, label_n, fold, Cs) for fold in folds]
    return [accuracy for accuracy, _ in found], [name for _, name in found]


def judge(
    kernels: Mapping[str, np.ndarray], label_n: np.ndarray, test: np.ndarray, Cs: Sequence[float]
) -> tuple[float, str]:
    """Of one fold."""
    train = np.setdiff1d(np.arange(len(label_n)), test)
    name, C = choose(kernels, label_n, train, Cs)
    return 100 * score(kernels[name], label_n, train, test, C), name


def choose(
    kernels: Mapping[str, np.ndarray], label_n: np.ndarray, train: np.ndarray, Cs: Sequence[float]
) -> tuple[str, float]:
    """The kernel and C that are best within the training graphs, the first of equals."""
    options = list(product(kernels, Cs))
    if len(options) == 1:
        return options[0]
    from sklearn.model_selection import StratifiedKFold

    train = np.sort(np.random.default_rng(0).permutation(train)[:MOST])
    parts = list(StratifiedKFold(INNER, shuffle=True, random_state=0).split(train, label_n[train]))
    means = [
        np.mean([score(kernels[name], label_n, train[fit], train[held], C) for fit, held in parts])
        for name, C in options
    ]
    return options[int(np.argmax(means))]


def score(kernel_nn: np.ndarray, label_n: np.ndarray, train: np.ndarray, test: np.ndarray, C: float) -> float:
    """The share of the test graphs whose class is found."""
    from sklearn.svm import SVC

    machine = SVC(kernel="precomputed", C=C, cache_size=500).fit(kernel_nn[np.ix_(train, train)], label_n[train])
    return float((machine.predict(kernel_nn[np.ix_(test, train)]) == label_n[test]).mean())


def majority(label_n: np.ndarray, test: np.ndarray) -> float:
    """The accuracy of the commonest class of the training graphs, in per cent."""
    commonest = np.bincount(np.delete(label_n, test)).argmax()
    return 100 * float((label_n[test] == commonest).mean())
