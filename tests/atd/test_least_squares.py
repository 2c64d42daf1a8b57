"""Least squares on indicators: the solution of the normal equations, also where columns say the same."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix, hstack

from atd.least_squares import fitted


def indicators(codes: np.ndarray) -> csr_matrix:
    n = len(codes)
    return hstack([csr_matrix((np.ones(n), (np.arange(n), code_n))) for code_n in codes.T], "csr")


@pytest.mark.parametrize("copies", [False, True])
def test_it_solves_the_normal_equations(copies):
    random = np.random.default_rng(0)
    codes = random.integers(0, 20, (300, 2))
    codes[:, 1] = codes[:, 0] if copies else codes[:, 1]
    seen, weight, x = indicators(codes), random.integers(1, 50, 300).astype(float), random.normal(size=(300, 4))
    S, ridge = seen.toarray(), 1e-3
    exact = np.linalg.solve(S.T @ (weight[:, None] * S) + ridge * np.eye(S.shape[1]), S.T @ (weight[:, None] * x))
    np.testing.assert_allclose(seen @ fitted(seen, weight, x, ridge), S @ exact, atol=1e-4)


def test_nothing_to_fit_is_zero():
    seen = indicators(np.zeros((5, 1), int))
    assert fitted(seen, np.ones(5), np.zeros((5, 3)), 1e-6).tolist() == [[0.0, 0.0, 0.0]]
