"""The model whose gate starts open: its equations, its start, and what x = 0 means."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from atd.attributes import CentredTable
from atd.open_lm import OpenLM

V, K, D, F, N, A, B = 11, 4, 3, 5, 3, 6, 7
COLUMN = torch.tensor([0, 0, 1, 1, 1, 1])
COUNT = torch.tensor([3.0, 1.0, 2.0, 1.0, 1.0, 0.0])


@pytest.fixture(autouse=True)
def float64():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def random_model(**options) -> OpenLM:
    model = OpenLM(V, K, D, F, N, A, **options)
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.7)
    if isinstance(model.attributes, CentredTable):
        model.attributes.centre(COUNT, COLUMN)
    return model


def probabilities(m: OpenLM, context: list[int], ids: list[int]) -> np.ndarray:
    """The model's equations for one word, loops and all; a text has one value of each of two columns."""
    value = {name: p.detach().numpy() for name, p in m.named_parameters()}
    count, L = COUNT.numpy(), value["attributes.L"]
    means = [np.average(L[:2], axis=0, weights=count[:2]), np.average(L[2:], axis=0, weights=count[2:])]
    x = sum(L[a] - means[int(COLUMN[a])] for a in ids)
    E = value["W_fk"].T @ value["W_fv"].T
    r = value["c"] + sum(value["C"][i] @ E[:, w] for i, w in enumerate(context))
    f = value["W_fk"] @ r
    if m.gated:
        f = f * (1 + value["W_fd"] @ x)
    if "W_fa" in value:
        f = f + value["W_fa"] @ x
    logits = value["W_fv"] @ f + value["b"]
    return np.exp(logits) / np.exp(logits).sum()


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize(("additive", "free"), [(False, 0), (True, 0), (True, 2)])
def test_probabilities_equal_the_equations(gated, additive, free):
    model = random_model(gated=gated, additive=additive, free=free)
    context = torch.randint(V, (B, N))
    ids = torch.stack([torch.randint(2, (B,)), torch.randint(2, A, (B,))], dim=1)
    ours = model.logits(context, ids).softmax(1).detach().numpy()
    theirs = np.stack([probabilities(model, context[i].tolist(), ids[i].tolist()) for i in range(B)])
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_x_is_zero_on_average_over_the_training_text():
    x_AD = random_model().vectors()
    for m in range(2):
        mine = m == COLUMN
        torch.testing.assert_close((COUNT[mine, None] * x_AD[mine]).sum(0), torch.zeros(D))


def test_the_vector_of_one_value_leaves_other_columns_at_their_average():
    model = random_model()
    context, ids = torch.randint(V, (B, N)), torch.tensor([[1, 3]]).expand(B, 2)
    together = model.vectors()[1] + model.vectors()[3]
    torch.testing.assert_close(model.logits(context, ids), model.logits(context, together.expand(B, D)))


def test_at_x_zero_it_is_the_model_without_attributes():
    model = random_model()
    context = torch.randint(V, (B, N))
    torch.testing.assert_close(model.hidden(context, torch.zeros(B, D)), model.hidden(context))


def test_without_gate_and_shift_attributes_mean_nothing_and_nothing_of_them_learns():
    model = random_model(gated=False, additive=False)
    context = torch.randint(V, (B, N))
    torch.testing.assert_close(model.logits(context, torch.randint(A, (B,))), model.logits(context))
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    assert frozen == {"W_fk", "W_fd", "attributes.L"}  # the rest learns


def test_it_starts_near_the_model_without_attributes():
    model = OpenLM(V, 32, 16, 32, N, A)
    model.attributes.centre(COUNT, COLUMN)
    gate = model.gate(model.vectors())
    assert (gate - 1).abs().max() < 0.25
    assert model.shift(model.vectors()).abs().max() == 0
    torch.testing.assert_close(model.W_fk.T @ model.W_fk, torch.eye(32))


@pytest.mark.parametrize("factors", [2, 4, 7])
def test_pretrained_vectors_are_kept_as_far_as_the_factors_allow(factors):
    model = OpenLM(V, K, D, factors, N, A)
    vectors = torch.randn(V, K)
    model.start_at(vectors)
    U, S, Vh = torch.linalg.svd(vectors, full_matrices=False)
    nearest = (U[:, :factors] * S[:factors]) @ Vh[:factors] / (K * vectors.square().mean()).sqrt()
    torch.testing.assert_close(model.unconditional(), nearest)
    with pytest.raises(ValueError, match="11×4"):
        model.start_at(torch.randn(V, K + 1))


@pytest.mark.parametrize("gated", [False, True])
def test_the_prior_counts_every_attribute_once(gated, monkeypatch):
    monkeypatch.setattr("atd.open_lm.precision", lambda effect_A, *_: torch.full_like(effect_A, 5.0))
    model = random_model(gated=gated)
    x_AD = model.vectors()
    effect = (x_AD @ model.W_fa.T).square().sum() + gated * (x_AD @ model.W_fd.T).square().sum()
    torch.testing.assert_close(model.shrinkage(), 0.5 * 5.0 * effect / 4)  # of four words


def test_gradients_are_right(monkeypatch):
    monkeypatch.setattr("atd.open_lm.precision", lambda effect_A, *_: torch.full_like(effect_A, 5.0))
    model = random_model()
    context, target, ids = torch.randint(V, (B, N)), torch.randint(V, (B,)), torch.randint(2, (B,))
    learned = [name for name, p in model.named_parameters() if name != "attributes.L"]  # its mean counts as constant

    def loss(*values):
        parameters = dict(zip(learned, values, strict=True))
        return torch.func.functional_call(model, parameters, (context, target, ids))

    model.forward = lambda c, t, a: model.nll(c, t, a) + model.shrinkage()
    values = tuple(model.get_parameter(name).detach().requires_grad_() for name in learned)
    assert torch.autograd.gradcheck(loss, values)


def test_a_sparse_table_gives_row_gradients_and_is_not_centred():
    model = OpenLM(V, K, D, F, N, A, sparse=True)
    context, target, ids = torch.randint(V, (B, N)), torch.randint(V, (B,)), torch.randint(2, (B,))
    (model.nll(context, target, ids) + model.shrinkage()).backward()
    assert model.L.grad.is_sparse
    torch.testing.assert_close(model.vectors(), model.L)


def test_free_factors_are_moved_by_attributes_alone():
    model = OpenLM(V, K, D, F, N, A, free=2)
    model.attributes.centre(COUNT, COLUMN)
    context, ids = torch.randint(V, (B, N)), torch.randint(A, (B,))
    assert (model.context(context)[:, F:] == 0).all()
    model.nll(context, torch.randint(V, (B,)), ids).backward()
    assert model.W_fv.grad[:, F:].abs().sum() > 0  # they learn from the first step on
    assert model.W_fk.grad is None
    with torch.no_grad():
        model.W_fv[:, F:].normal_()
    torch.testing.assert_close(model.embeddings(), model.W_fv[:, :F] @ model.W_fk[:F])
    other = OpenLM(V, K, D, F, N, A)
    assert other.W_fv.shape == (V, F)


def test_pretrained_vectors_leave_free_factors_at_zero():
    model = OpenLM(V, K, D, F, N, A, free=2)
    vectors = torch.randn(V, K)
    model.start_at(vectors)
    assert (model.W_fv[:, F:] == 0).all()
    torch.testing.assert_close(correlation(model.embeddings(), vectors), torch.tensor(1.0))


def correlation(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a * b).sum() / (a.norm() * b.norm())
