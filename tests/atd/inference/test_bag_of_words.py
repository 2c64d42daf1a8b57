"""A bag of words is one Newton step of a model that sees no context; only how often each word occurs decides it."""

from __future__ import annotations

import pytest
import torch

from atd.errors import AtdError
from atd.inference import bag_of_words
from atd.vocabulary import UNK_ID
from tests.atd.inference.small import D, make_kind, make_model, make_texts

ACTS = ["open gate and shift", "open gate", "shift"]


@pytest.mark.parametrize("kind", ACTS)
def test_it_is_newtons_step_from_the_average_text(kind):
    model, texts = make_kind(kind, torch.float64), make_texts(6)
    found = bag_of_words(model, *texts.flat, l2=0.7)
    W, b = model.output()
    for i in range(6):
        words = torch.from_numpy(texts[i])

        def J(x, words=words):
            return (
                -(model.condition(model.constant(), x) @ W.T + b).log_softmax(0)[words].sum() + 0.35 * x.square().sum()
            )

        zero = torch.zeros(D, dtype=torch.float64)
        slope = torch.autograd.functional.jacobian(J, zero)
        hessian = torch.autograd.functional.hessian(J, zero)
        torch.testing.assert_close(found[i], -torch.linalg.solve(hessian, slope))


def test_neither_order_nor_unknown_words_matter():
    model = make_kind("open gate and shift")
    tokens = torch.tensor([5, 9, 30, UNK_ID, 30, 5, UNK_ID, 9, UNK_ID])
    first, second, empty = bag_of_words(model, tokens, torch.tensor([0, 3, 8, 9]))
    torch.testing.assert_close(first, second)
    assert first.any() and not empty.any()


def test_a_model_without_an_average_text_is_refused():
    with pytest.raises(AtdError, match="x = 0 is the average text"):
        bag_of_words(make_model(), *make_texts(2).flat)
    with pytest.raises(AtdError, match="l2 must be positive"):
        bag_of_words(make_kind("shift"), *make_texts(2).flat, l2=0)
