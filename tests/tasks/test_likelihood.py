"""Who would have written this: likelihoods against the model's own, and what they add up to."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from atd.lm import MultiplicativeLM
from atd.open_lm import OpenLM
from atd.ragged import Ragged
from tasks.authorship.likelihood import accuracies, likeliest, log_likelihoods, marginal


@pytest.mark.parametrize("kind", [MultiplicativeLM, OpenLM])
def test_likelihoods_are_the_models_own(kind):
    torch.manual_seed(0)
    atd = kind(V=12, K=5, D=4, F=6, N=2, A=3)
    for weight in (atd.C, atd.L, *([atd.W_fa] if atd.W_fa is not None else [])):
        torch.nn.init.normal_(weight, std=0.5)
    texts = Ragged(np.array([3, 4, 5, 0, 7, 8]), np.array([0, 4, 6]))
    x = atd.vectors().detach()
    exact = log_likelihoods(atd, texts, x, head=12)
    context, target = torch.from_numpy(texts.windows(2)), torch.from_numpy(texts.tokens)
    for a in range(3):
        nll = atd.nll(context, target, torch.full((6,), a), reduction="none").detach()
        nll[target == 0] = 0
        expected = [-nll[torch.from_numpy(texts.owner == d)].sum().item() for d in (0, 1)]
        np.testing.assert_allclose(exact[:, a], expected, rtol=1e-4)
    sampled = log_likelihoods(atd, texts, x, head=4, samples=6)
    assert np.abs(sampled - exact).max() < 0.5


def test_marginals_add_up_the_tuples_of_a_group():
    log_p = np.log(np.array([[0.1, 0.2, 0.3, 0.4]]))
    grouped, names = marginal(log_p, ["f", "m", "f", "m"])
    assert names == ["f", "m"]
    np.testing.assert_allclose(np.exp(grouped), [[0.4, 0.6]])
    assert likeliest(log_p, ["f", "m", "f", "m"]).tolist() == ["m"]


def test_accuracies_are_those_of_each_part_of_the_tuple():
    guessed = [np.array(["f", "m"]), np.array(["10", "10"]), np.array(["law", "arts"])]
    rows = accuracies({"likelihood": guessed}, ["f/10/arts", "f/20/law"])
    assert rows == {"likelihood": {"gender": 50.0, "age": 50.0, "industry": 0.0}}
