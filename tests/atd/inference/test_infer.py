"""Inference: the optimum is scipy's, and nothing but the text decides the vector."""

from __future__ import annotations

import warnings
from importlib import import_module

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from atd.errors import AtdError
from atd.inference import Inferred, infer
from atd.lm import MultiplicativeLM
from tests.atd.inference.small import KINDS, D, V, make_kind, make_model, make_texts, naive_objective


def make(kind: str, dtype: torch.dtype = torch.float32) -> MultiplicativeLM:
    return make_model("relu", dtype, additive="additive" in kind) if "relu" in kind else make_kind(kind, dtype)


@pytest.mark.parametrize("kind", [*KINDS, "relu", "relu, additive"])
def test_agrees_with_scipy(kind):
    texts, prior = make_texts(8), torch.randn(8, D)
    found = infer(make(kind), *texts.flat, prior=prior, l2=0.5)
    assert isinstance(found, Inferred) and found.converged.all()
    double = make(kind, torch.float64)
    for i in range(8):
        text = torch.from_numpy(texts[i])

        def f(x, text=text, i=i):
            x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
            J = naive_objective(double, text, x, prior[i].double(), 0.5)
            (g,) = torch.autograd.grad(J, x)
            return J.item(), g.numpy()

        best = minimize(
            f,
            np.abs(prior[i].numpy()),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * D if "relu" in kind else None,
            options={"ftol": 1e-14, "gtol": 1e-9},
        )
        np.testing.assert_allclose(found.x[i].numpy(), best.x, atol=1e-4)
        assert found.objective[i].item() == pytest.approx(best.fun, abs=1e-4)
    if "relu" in kind:
        assert (found.x >= 0).all() and (found.x == 0).any()
    assert torch.equal(found.x, prior) == (kind == "nothing")


def test_without_a_prior_texts_are_drawn_to_the_average_one():
    """The mean of the trained vectors, or 0 where they are centred."""
    empty = torch.zeros(1, dtype=torch.long), torch.tensor([0, 1])
    with pytest.warns(UserWarning, match="1 of 1 texts"):
        plain, centred = (infer(make_kind(kind), *empty).x[0] for kind in ("paper", "open gate and shift"))
    torch.testing.assert_close(plain, make_kind("paper").vectors().mean(0).detach())
    assert plain.any() and not centred.any()


@pytest.mark.parametrize(("kind", "samples"), [("paper", None), ("relu", 24), ("open gate and shift", None)])
@pytest.mark.parametrize(("constant", "value"), [("POSITIONS", 17), ("TEXTS", 3)])
def test_depends_on_the_text_alone(kind, samples, constant, value, monkeypatch):
    model, texts = make(kind), make_texts(40)
    whole = infer(model, *texts.flat, l2=0.2, samples=samples, seed=1)
    rows = torch.randperm(40, generator=torch.Generator().manual_seed(3))
    monkeypatch.setattr(import_module("atd.inference.infer"), constant, value)
    monkeypatch.setattr("atd.inference.objective.PIECE", 3)
    other = infer(model, *texts.take(rows.numpy()).flat, l2=0.2, samples=samples, seed=2)
    torch.testing.assert_close(other.x, whole.x[rows], atol=1e-4, rtol=0)
    assert whole.converged.all() and other.converged.all()


def test_the_fixed_subset_approaches_the_full_softmax():
    model, texts = make_model(), make_texts(20)
    exact = infer(model, *texts.flat, l2=1.0)
    gap = [(infer(model, *texts.flat, l2=1.0, samples=s).x - exact.x).norm() for s in (10, 50, V)]
    assert gap[2] == 0 and gap[1] < gap[0]


def test_texts_without_known_words_get_the_prior():
    tokens, offsets = torch.tensor([5, 9, 0, 0, 7]), torch.tensor([0, 2, 2, 4, 5])
    prior = torch.randn(4, D)
    with pytest.warns(UserWarning, match="2 of 4 texts") as warned:
        found = infer(make_model(), tokens, offsets, prior=prior)
    assert warned[0].filename == __file__
    torch.testing.assert_close(found.x[1:3], prior[1:3])
    assert found.x.isfinite().all() and found.converged.all() and (found.nll[1:3] == 0).all()
    assert not torch.allclose(found.x[0], prior[0])


def test_no_texts():
    found = infer(make_model(), torch.zeros(0, dtype=torch.long), torch.zeros(1, dtype=torch.long))
    assert found.x.shape == (0, D)


def test_progress_counts_the_texts(monkeypatch):
    monkeypatch.setattr(import_module("atd.inference.infer"), "TEXTS", 7)
    told: list[int] = []
    infer(make_model(), *make_texts(20).flat, progress=told.append)
    assert sum(told) == 20 and max(told) <= 7


def test_the_model_is_left_as_it_was():
    model = make_model(dropout=0.5).train()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    one, two = (infer(model, *make_texts(3).flat).x for _ in range(2))
    assert torch.equal(one, two) and model.training
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"l2": 0.0}, "^l2 must be positive, got 0.0: "),
        ({"method": "magic"}, "^method is one of convex, sgd, not 'magic'$"),
        ({"samples": 1}, "^samples must be at least 2, got 1$"),
    ],
)
def test_wrong_settings_are_one_line(bad, says):
    with pytest.raises(AtdError, match=says):
        infer(make_model(), *make_texts(2).flat, **bad)


def test_no_warning_when_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        infer(make_model(), *make_texts(3).flat)
