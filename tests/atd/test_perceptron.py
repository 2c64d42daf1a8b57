"""The averaged perceptron against a trace by hand, and against the loop that its block scan replaces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atd.errors import AtdError
from atd.perceptron import BLOCK, AveragedPerceptron


def loop(x, y, C, epochs):
    """The definition: predict, correct, add the weights to the mean, one example at a time."""
    W, total = np.zeros((C, x.shape[1])), np.zeros((C, x.shape[1]))
    for _ in range(epochs):
        for xi, yi in zip(x, y, strict=True):
            p = int((W @ xi).argmax())
            if p != yi:
                W[yi] += xi
                W[p] -= xi
            total += W
    return total / (epochs * len(x))


def test_trace_by_hand():
    """Classes a, b, c; e1 = (1,0) of class b, e2 = (0,2) of class c, e3 = (1,1) of class a; two epochs.

    step 1: all scores 0, taken a, true b:   W = a(-1, 0) b(1, 0) c(0, 0)
    step 2: scores 0 0 0, taken a, true c:   W = a(-1,-2) b(1, 0) c(0, 2)
    step 3: scores -3 1 2, taken c, true a:  W = a( 0,-1) b(1, 0) c(-1, 1)
    step 4: scores 0 1 -1, taken b, right
    step 5: scores -2 0 2, taken c, right
    step 6: scores -1 1 0, taken b, true a:  W = a( 1, 0) b(0,-1) c(-1, 1)
    mean:   a = (-1-1+0+0+0+1, 0-2-1-1-1+0)/6, b = (5, -1)/6, c = (0+0-1-1-1-1, 0+2+1+1+1+1)/6
    """
    x = np.array([[1, 0], [0, 2], [1, 1]])
    p = AveragedPerceptron(epochs=2).fit(x, np.array(["b", "c", "a"]), shuffle=False)
    assert p.classes.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(p.weights * 6, [[-1, -5], [5, -1], [-4, 6]], atol=1e-12)
    assert p.predict(x).tolist() == ["b", "c", "b"]
    assert p.score(x, np.array(["b", "c", "a"])) == pytest.approx(2 / 3)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 2 * BLOCK + 3), st.integers(2, 5), st.integers(1, 4), st.integers(0, 1000))
def test_block_scan_is_the_loop(n, C, epochs, seed):
    """Whole numbers, so that ties are common and sums exact."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(-2, 3, (n, 3)), np.concatenate([np.arange(C), rng.integers(0, C, n)])[: max(n, C)]
    x = np.concatenate([x, rng.integers(-2, 3, (len(y) - n, 3))]) if len(y) > n else x
    fitted = AveragedPerceptron(epochs).fit(x, y, shuffle=False)
    np.testing.assert_allclose(fitted.weights, loop(x, y, C, epochs), atol=1e-9)


def test_one_fixed_shuffle_per_seed():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 4)), rng.integers(0, 3, 200)
    first, again, other = (AveragedPerceptron(seed=s).fit(x, y).weights for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)
    order = np.random.default_rng(1).permutation(200)
    np.testing.assert_allclose(first, loop(x[order], y[order], 3, 10), atol=1e-9)


def test_needs_a_label_for_each_example():
    with pytest.raises(AtdError, match="one label per example"):
        AveragedPerceptron().fit(np.zeros((3, 2)), np.array([0, 1]))
