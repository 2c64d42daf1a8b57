"""Models of extreme weights: every text still gets its one optimum, or a line that says why there is none."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from atd.candidates import Candidates
from atd.errors import AtdError
from atd.inference import infer, lbfgs, newton
from atd.softmax_kernel import Targets, losses, softmax_pass
from atd.vocabulary import BOS_ID
from tests.atd.inference.small import D, N, make_kind, make_model, make_problem, make_texts

KINDS = ("paper", "relu", "open gate and shift", "shift")
L2 = 0.3  # of make_problem
n = 24


def make(kind: str, change, dtype: torch.dtype = torch.float32):
    model = make_model("relu") if kind == "relu" else make_kind(kind)
    with torch.no_grad():
        change(model)
    return model.to(dtype)


def sharpened(factor: float):
    return lambda model: model.W_fv.mul_(factor)


def draw_prior() -> torch.Tensor:
    return torch.randn(n, D, generator=torch.Generator().manual_seed(5))


def in_double(model, texts, prior):
    """J of all texts with the whole model in double precision."""
    return make_problem(model.double(), texts, prior.double())


def best_of_scipy(model, tokens: np.ndarray, prior: torch.Tensor, start: np.ndarray, positive: bool) -> float:
    """The least J that L-BFGS-B of scipy finds in double precision, from a start and from the prior.

    Logits are affine in x, so the model is asked for them at 0 and along each of its numbers alone.
    """
    zero, *along = (logits_at(model, tokens, x) for x in torch.cat([torch.zeros(1, D), torch.eye(D)]).double())
    slope_TVD, rows, middle = np.stack(along, -1) - zero[..., None], np.arange(len(tokens)), prior.double().numpy()

    def f(x):
        logits = zero + slope_TVD @ x
        top = logits.max(1, keepdims=True)
        powers = np.exp(logits - top)
        Z = powers.sum(1, keepdims=True)
        J = (top + np.log(Z)).sum() - logits[rows, tokens].sum() + 0.5 * L2 * np.square(x - middle).sum()
        pull = np.einsum("tv,tvd->d", powers / Z, slope_TVD) - slope_TVD[rows, tokens].sum(0)
        return J, pull + L2 * (x - middle)

    limits = [(0, None)] * D if positive else None
    least = np.inf
    for x in (start, middle):
        for _ in range(2):  # it ends early on what is nearly a polyhedron
            found = minimize(f, x, jac=True, method="L-BFGS-B", bounds=limits, options={"ftol": 1e-15, "gtol": 1e-8})
            x, least = found.x, min(least, found.fun)
    return least


@torch.no_grad()
def logits_at(model, tokens: np.ndarray, x_D: torch.Tensor) -> np.ndarray:
    """Of every word of a text, through the model itself (T×V)."""
    context_TN = torch.from_numpy(np.concatenate([np.full(N, BOS_ID), tokens])).unfold(0, N, 1)[: len(tokens)]
    return model.logits(context_TN, x_D.expand(len(tokens), -1)).numpy()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [30, 100])
def test_sharp_models_reach_the_optimum(kind, factor):
    """Logits of 10⁴ and more: J is a polyhedron with edges that single precision does not see."""
    texts, prior = make_texts(n), draw_prior()
    found = infer(make(kind, sharpened(factor)), *texts.flat, prior=prior, l2=L2)
    assert found.converged.all()
    model = make(kind, sharpened(factor), torch.float64)
    with torch.no_grad():
        J = in_double(model, texts, prior).evaluate(found.x.double()).J_n
    for i in (0, 9, 17):
        least = best_of_scipy(model, texts[i], prior[i], found.x[i].double().numpy(), kind == "relu")
        assert J[i].item() <= least + 1e-4 * (1 + abs(least))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [1, 30, 100])
def test_newton_ends_where_nothing_pulls(kind, factor):
    with torch.no_grad():
        problem = in_double(make(kind, sharpened(factor)), make_texts(n), draw_prior())
        limit_n = torch.full((n,), L2 * 1e-6).double()
        found = newton.minimise(problem, problem.project(problem.prior_nD), limit_n, torch.full((n,), 200))
        alone = [problem.select(torch.tensor([i])) for i in range(n)]  # as it was solved: a batch rounds otherwise
        pull = torch.cat([one.pull(one.evaluate(found.x[i : i + 1])).norm(dim=1) for i, one in enumerate(alone)])
    assert found.converged.all() and (pull <= limit_n).all() and found.iterations.double().mean() < 50


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shift", [1e6, -1e6, torch.tensor([1e6, -1e6]).repeat(30)])
def test_huge_biases_lose_nothing(kind, shift):
    """Only their differences count; a common part must not eat up the digits of the logits."""
    texts, prior = make_texts(n), draw_prior()
    found = infer(make(kind, lambda model: model.b.add_(shift)), *texts.flat, prior=prior, l2=L2)
    with torch.no_grad():
        problem = in_double(make(kind, lambda model: model.b.add_(shift)), texts, prior)
        limit_n = torch.full((n,), L2 * 1e-6).double()
        best = newton.minimise(problem, problem.project(problem.prior_nD), limit_n, torch.full((n,), 200))
    assert found.converged.all() and best.converged.all()
    torch.testing.assert_close(found.x.double(), best.x, atol=1e-4, rtol=0)
    torch.testing.assert_close(found.objective, best.objective, atol=1e-4, rtol=1e-6)


@pytest.mark.parametrize("value", [-torch.inf, torch.inf, torch.nan])
@pytest.mark.parametrize("name", ["b", "W_fv"])
def test_what_is_not_finite_is_refused_in_a_line(value, name):
    def spoil(model):
        getattr(model, name)[7] = value

    with pytest.raises(AtdError, match="word 7 of the model has a weight or bias that is not finite") as caught:
        infer(make("paper", spoil), *make_texts(5).flat)
    assert "\n" not in str(caught.value)


def test_a_target_is_never_likelier_than_sure():
    """In logits of 10⁹ rounding moves the target's own by hundreds, which is no reason to lower all the others."""
    generator = torch.Generator().manual_seed(0)
    h_BH = 3e4 * torch.randn(64, 16, generator=generator)
    W_SH = 3e4 * torch.randn(50, 16, generator=generator)
    slot_B = (h_BH @ W_SH.T).argmax(1)  # the target is the likeliest word
    slot_B[::2] = (h_BH @ W_SH.T).topk(2).indices[::2, 1]  # or the next
    targets = Targets(W_SH[slot_B], torch.zeros(64), slot_B)
    words = Candidates.of(W_SH, torch.zeros(50))
    exact_B = torch.nn.functional.cross_entropy(h_BH.double() @ W_SH.double().T, slot_B, reduction="none")
    for nll_B in (losses(h_BH, words, targets), softmax_pass(h_BH, words, targets, torch.ones(64)).nll_B):
        assert nll_B.isfinite().all() and (nll_B >= -100).all()
        torch.testing.assert_close(nll_B.double(), exact_B, atol=2000, rtol=1e-4)


def test_a_text_that_moves_no_more_is_left_alone():
    """A stuck text does not repeat the same failure up to the limit."""
    with torch.no_grad():
        problem = make_problem(make("relu", sharpened(30)), make_texts(n), draw_prior())
        found = lbfgs.minimise(problem, problem.project(problem.prior_nD), torch.zeros(n), 400)
    assert (found.iterations[~found.converged] < 400).float().mean() > 0.5


def test_surrogates_are_for_all_words_only(monkeypatch):
    """A fixed subset has slots of its own, which the surrogates' words do not."""
    monkeypatch.setattr("atd.inference.surrogate.WORDS", 5)
    monkeypatch.setattr("atd.inference.solvers.PAYS", 2)
    model, texts = make_model(), make_texts(10)
    few = infer(model, *texts.flat, l2=1.0, samples=20)
    monkeypatch.setattr("atd.inference.solvers.PAYS", 1000)
    plain = infer(model, *texts.flat, l2=1.0, samples=20)
    assert few.converged.all()
    torch.testing.assert_close(few.x, plain.x, atol=1e-4, rtol=0)
