"""The mixture of attribute vectors against its sum written out."""

from __future__ import annotations

import pytest
import torch

from atd.lm import MultiplicativeLM
from atd.mixture_lm import MixtureLM
from atd.noise import Noise

SIZES = {"V": 11, "K": 5, "D": 4, "F": 6, "N": 3, "A": 3}


def model(components: int = 2, **options) -> MixtureLM:
    torch.manual_seed(0)
    made = MixtureLM(**SIZES, components=components, **options)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return made.double()


def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(1)
    return (
        torch.randint(0, 11, (7, 3), generator=g),
        torch.randint(0, 11, (7,), generator=g),
        torch.tensor([0, 1, 2, 0, 1, 2, 2]),
    )


@pytest.mark.parametrize("additive", [False, True])
def test_the_likelihood_is_the_weighted_sum_over_components(additive):
    m, (context, target, a) = model(additive=additive), batch()
    x = m.attributes.vectors()  # of every component
    p = torch.zeros(7, dtype=torch.float64)
    for j in range(2):
        logits = MultiplicativeLM.logits(m, context, x[2 * a + j])
        p += m.weights()[a, j] * logits.softmax(1)[torch.arange(7), target]
    torch.testing.assert_close(m.nll(context, target, a, reduction="none"), -p.log())
    torch.testing.assert_close(m.nll(context, target, a), -p.log().mean())


def test_one_component_is_the_plain_model():
    m, (context, target, a) = model(components=1), batch()
    plain = MultiplicativeLM(**SIZES).double()
    plain.load_state_dict({k: v for k, v in m.state_dict().items() if k != "u"})
    torch.testing.assert_close(m.nll(context, target, a), plain.nll(context, target, a))
    torch.testing.assert_close(m.logits(context, a), plain.logits(context, a))


def test_a_ready_vector_or_none_bypasses_the_mixture():
    m, (context, target, a) = model(), batch()
    x = m.vectors()
    torch.testing.assert_close(m.nll(context, target, x[a]), MultiplicativeLM.nll(m, context, target, x[a]))
    torch.testing.assert_close(m.hidden(context, a), m.hidden(context, x[a]))
    assert m.nll(context, target).isfinite()


def test_sampling_tends_to_the_exact_loss_and_trains_all_parts():
    m, (context, target, a) = model(), batch()
    m = m.float()
    exact = m.nll(context, target, a).item()
    noise, g = Noise([5] * 11), torch.Generator().manual_seed(0)
    drawn = [m.sampled_nll(context, target, noise.draw(4000, g), a).item() for _ in range(5)]
    assert sum(drawn) / 5 == pytest.approx(exact, rel=0.05)
    m.sampled_nll(context, target, noise.draw(50, g), a).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in (m.u, m.L, m.W_fd, m.W_fv, m.C))


def test_two_subjects_of_one_author_find_two_vectors():
    """With one factor the scores of all words lie on a line; the ends of it, but never both, can be likely under one
    vector. An author who says either word needs two."""
    context = torch.tensor([[0], [1], [2]]).repeat_interleave(2, 0)
    target = torch.tensor([0, 1, 1, 2, 2, 0])
    a = torch.zeros(6, dtype=torch.long)
    losses = {}
    for components in (1, 2):
        torch.manual_seed(0)
        m = MixtureLM(V=3, K=2, D=2, F=1, N=1, A=1, components=components, activation="identity")
        m.b.requires_grad_(False)
        optimiser = torch.optim.Adam([p for p in m.parameters() if p.requires_grad], lr=0.05)
        for _ in range(300):
            optimiser.zero_grad()
            loss = m.nll(context, target, a)
            loss.backward()
            optimiser.step()
        losses[components] = loss.item()
    assert losses[2] < losses[1] - 0.02, losses
