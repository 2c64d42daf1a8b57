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
    exact = log_likelihoods(atd, texts, x, samples=12)
    context, target = torch.from_numpy(texts.windows(2)), torch.from_numpy(texts.tokens)
    for a in range(3):
        nll = atd.nll(context, target, torch.full((6,), a), reduction="none").detach()
        nll[target == 0] = 0
        expected = [-nll[torch.from_numpy(texts.owner == d)].sum().item() for d in (0, 1)]
        np.testing.assert_allclose(exact[:, a], expected, rtol=1e-4)
    sampled = np.mean([log_likelihoods(atd, texts, x, samples=9, seed=s) for s in range(20)], axis=0)
    assert np.abs(sampled - exact).max() < 0.2


def test_an_author_is_not_judged_by_the_words_that_stand_for_the_others():
    """An author who makes one rare word frequent: its place on the comb must not decide about a whole text."""
    torch.manual_seed(0)
    atd = OpenLM(V=400, K=8, D=8, F=8, N=2, A=8, free=8)
    atd.start_bias(1000 / torch.arange(1, 401))
    with torch.no_grad():
        atd.attributes.L.copy_(torch.eye(8))
        atd.W_fa[8:] = torch.eye(8)
        atd.W_fv[390:398, 8:] = 6 * torch.eye(8)  # the word 390 + a belongs to author a
    texts = Ragged(np.random.default_rng(0).integers(3, 390, 3000), np.array([0, 1500, 3000]))
    x = torch.eye(8)
    off = log_likelihoods(atd, texts, x, samples=60) - log_likelihoods(atd, texts, x, samples=400)
    unfair = off - off.mean(1, keepdims=True)
    assert np.abs(unfair).max() / 1500 < 0.1  # nats a word; with one comb for all words 0.4 and more


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
