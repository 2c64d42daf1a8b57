"""The solvers: surrogates and L-BFGS lead to one optimum, stop when told to, and SGD draws near it."""

from __future__ import annotations

import pytest
import torch

from atd.inference import infer
from atd.inference.solvers import solve_convex
from tests.atd.inference.small import D, make_kind, make_model, make_problem, make_texts


@pytest.fixture
def few_words(monkeypatch):
    """Pieces of 4 positions with 7 words each, so that the small vocabulary counts as a large one."""
    monkeypatch.setattr("atd.inference.surrogate.WORDS", 7)
    monkeypatch.setattr("atd.inference.objective.PIECE", 4)


@pytest.mark.parametrize("kind", ["paper", "relu", "open gate and shift", "shift"])
@pytest.mark.parametrize("shrinks", [0.5, 0.0])
def test_surrogates_lead_to_the_same_vectors(kind, shrinks, few_words, monkeypatch):
    """Also when none of their steps is good enough, and L-BFGS takes over."""
    model, texts = make_model("relu") if kind == "relu" else make_kind(kind), make_texts(40)
    monkeypatch.setattr("atd.inference.solvers.PAYS", 1000)
    plain = infer(model, *texts.flat, l2=0.5)
    monkeypatch.setattr("atd.inference.solvers.PAYS", 1)
    monkeypatch.setattr("atd.inference.solvers.SHRINKS", shrinks)
    found = infer(model, *texts.flat, l2=0.5)
    assert found.converged.all()
    torch.testing.assert_close(found.x, plain.x, atol=1e-4, rtol=0)
    torch.testing.assert_close(found.objective, plain.objective, atol=1e-4, rtol=0)


@pytest.mark.parametrize("activation", ["identity", "relu"])
@pytest.mark.parametrize(("pays", "shrinks"), [(1000, 0.5), (1, 0.5), (1, 0.0)])
def test_iterations_are_bounded(activation, pays, shrinks, few_words, monkeypatch):
    """By L-BFGS alone, by surrogates, and by L-BFGS after surrogates that failed at different steps."""
    monkeypatch.setattr("atd.inference.solvers.PAYS", pays)
    monkeypatch.setattr("atd.inference.solvers.SHRINKS", shrinks)
    model, texts, prior = make_model(activation), make_texts(40), torch.randn(40, D)
    best = infer(model, *texts.flat, prior=prior, l2=0.5)
    few = infer(model, *texts.flat, prior=prior, l2=0.5, iterations=3)
    none = infer(model, *texts.flat, prior=prior, l2=0.5, iterations=0)
    assert best.converged.all() and best.iterations.max() > 3

    assert few.iterations.max() == 3
    assert few.converged.sum() < len(texts) and (few.grad_norm >= best.grad_norm).float().mean() > 0.9
    assert (few.objective >= best.objective - 1e-5).all() and few.objective.sum() > best.objective.sum()

    assert not none.iterations.any() and not none.converged.any()
    start = prior.clamp(min=0) if activation == "relu" else prior
    assert torch.equal(none.x, start)
    assert (none.objective > few.objective).all()


@pytest.mark.parametrize("kind", ["paper", "open gate and shift", "open gate", "shift"])
@pytest.mark.parametrize("large", [False, True])
def test_the_optimum_does_not_depend_on_the_start(kind, large, few_words, monkeypatch):
    """By L-BFGS alone, and by surrogates."""
    monkeypatch.setattr("atd.inference.solvers.PAYS", 1 if large else 1000)
    prior = torch.randn(30, D)
    with torch.no_grad():
        problem = make_problem(make_kind(kind), make_texts(30), prior)
        starts = prior, torch.zeros(30, D), 5 * torch.randn(30, D)
        found = [solve_convex(problem, x, tolerance=1e-5, iterations=100) for x in starts]
    for other in found[1:]:
        assert other.converged.all()
        torch.testing.assert_close(other.x, found[0].x, atol=2e-4, rtol=0)


@pytest.mark.parametrize("kind", ["paper", "open gate and shift", "shift"])
def test_sharp_models_converge_beyond_the_rounding_of_the_objective(kind):
    """With logits of ±25, J near 0 cannot resolve the last steps in single precision; the slopes must."""
    model = make_kind(kind)
    with torch.no_grad():
        model.W_fv.mul_(1.5)
        model.b.zero_()
    found = infer(model, *make_texts(40).flat, l2=1.0, tolerance=1e-4)
    assert found.converged.all() and found.iterations.double().mean() < 25


@pytest.mark.parametrize("kind", ["relu", "open gate and shift", "shift"])
def test_sgd_draws_near_the_same_optimum(kind):
    model, texts = make_model("relu") if kind == "relu" else make_kind(kind), make_texts(20)
    best = infer(model, *texts.flat, l2=1.0)
    start = infer(model, *texts.flat, l2=1.0, iterations=0)
    near = infer(model, *texts.flat, l2=1.0, method="sgd", lr=0.05, epochs=60)
    assert (near.objective >= best.objective - 1e-4).all()
    closed = (start.objective - near.objective).sum() / (start.objective - best.objective).sum()
    assert closed > 0.95
    assert kind != "relu" or (near.x >= 0).all()
