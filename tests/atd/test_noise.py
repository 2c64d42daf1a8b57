"""Words that stand for others: how often they come, what they weigh, and that groups differ."""

from __future__ import annotations

import pytest
import torch

from atd import noise
from atd.noise import Noise, Shares


def test_words_are_chosen_in_proportion_and_stand_for_all():
    q = torch.rand(50, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) ** 4 + 0.02
    shares, samples, value = Shares(q), 12, torch.arange(50.0).double()
    k = shares.head(samples)
    assert 0 < k < samples
    came, sums = torch.zeros(50), []
    for offset in (torch.arange(1000) + 0.5) / 1000:
        ids, log_weight = shares.choose(samples, offset)
        assert len(set(ids.tolist())) == len(ids) == samples
        assert (log_weight[:k] == 0).all() and (log_weight > -1e-6).all()
        came[ids] += 1e-3
        sums.append((log_weight.exp() * value[ids]).sum())
    torch.testing.assert_close(torch.stack(sums).mean(), value.sum(), rtol=5e-3, atol=0)  # without bias
    rare = shares.order_V[k:]
    expected = (samples - k) * q[rare] / q[rare].sum()
    torch.testing.assert_close(came[rare].double(), expected, rtol=0, atol=3e-3)
    assert (came[shares.order_V[:k]] > 0.999).all()


@pytest.mark.parametrize("samples", [3, 4, 100])
def test_enough_noise_words_are_all_words(samples):
    ids, log_weight = Shares(torch.tensor([1.0, 100.0, 10.0])).choose(samples, 0.3)
    assert sorted(ids.tolist()) == [0, 1, 2]
    torch.testing.assert_close(log_weight, torch.zeros(3), rtol=0, atol=1e-6)


def test_groups_have_different_words(monkeypatch):
    monkeypatch.setattr(noise, "GROUP", 10)
    draw = Noise(torch.arange(1, 301)).draw(40, torch.Generator().manual_seed(0))
    words = draw.candidates(40, torch.device("cpu"))
    assert words.ids_GS.shape == words.log_weight_GS.shape == (4, 40) and words.filling == (0, 0)
    assert len(words.ids_GS.unique()) > 100  # far more than the 40 of one group
