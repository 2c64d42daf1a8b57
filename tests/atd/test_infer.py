"""Inference: the gradient is right, the optimum is scipy's, and nothing but the text decides the vector."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from atd.errors import AtdError
from atd.inference import surrogate as nearby
from atd.inference.infer import FrozenContexts, infer, windows
from atd.inference.objective import Problem, SoftmaxWords
from atd.lm import MultiplicativeLM

V, K, D, F, N, A = 60, 8, 6, 10, 3, 5


def make_model(activation: str = "identity", dtype=torch.float32, **options) -> MultiplicativeLM:
    torch.manual_seed(0)
    model = MultiplicativeLM(V, K, D, F, N, A, activation=activation, **options)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(0).add_(torch.randn(p.shape) * 0.6)
        model.b.copy_(-torch.arange(V) / 20.0)
    return model.to(dtype)


def make_texts(n: int = 30, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 15, n)
    tokens = torch.from_numpy(rng.integers(3, V, lengths.sum()))
    return tokens, torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))


def naive_objective(model, tokens, x, prior, l2):
    """J of one text the long way: pad, slide, full softmax through the model itself."""
    padded = torch.cat([torch.ones(N, dtype=torch.long), tokens])
    context = padded.unfold(0, N, 1)[: len(tokens)]
    nll = model.nll(context, tokens, x.expand(len(tokens), -1), reduction="sum")
    return nll + 0.5 * l2 * (x - prior).square().sum()


def subset(tokens, offsets, rows):
    parts = [tokens[offsets[i] : offsets[i + 1]] for i in rows]
    lengths = torch.tensor([0, *(len(p) for p in parts)])
    return torch.cat(parts), lengths.cumsum(0)


def test_windows_stop_at_the_start_of_the_text():
    tokens, offsets = torch.tensor([5, 6, 7, 8, 9]), torch.tensor([0, 3, 5])
    out = windows(tokens, offsets, torch.tensor([0, 2, 3, 4]), 3)
    assert out.tolist() == [[1, 1, 1], [1, 5, 6], [1, 1, 1], [1, 1, 8]]


def test_frozen_contexts_are_the_model_s():
    model = make_model(dtype=torch.float64)
    context = torch.randint(V, (50, N), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        frozen = FrozenContexts(model, context, model.folded_contexts().view(N, F, F))(context)
        torch.testing.assert_close(frozen, model.context(context))


@pytest.mark.parametrize("samples", [None, 20])
def test_gradient_matches_finite_differences(samples):
    model = make_model(dtype=torch.float64)
    tokens, offsets = make_texts(4)
    where = torch.arange(len(tokens))
    with torch.no_grad():
        problem = Problem.of(
            SoftmaxWords(*model.output(), samples),
            model.context(windows(tokens, offsets, where, N)),
            tokens,
            offsets.diff(),
            torch.randn(4, D, dtype=torch.float64),
            W_fd=model.W_fd,
            stretch=1.0,
            gate_bias=0.0,
            l2=0.3,
            positive=False,
        )
        x = torch.randn(4, D, dtype=torch.float64)
        _, J, g = problem.value_and_gradient(x)
        for d in range(D):
            step = torch.zeros_like(x)
            step[:, d] = 1e-5
            up, down = problem.value_and_gradient(x + step)[1], problem.value_and_gradient(x - step)[1]
            torch.testing.assert_close((up - down) / 2e-5, g[:, d], rtol=1e-5, atol=1e-6)
        rows = torch.tensor([2, 0])
        torch.testing.assert_close(problem.select(rows).value_and_gradient(x[rows])[1], J[rows])


@pytest.mark.parametrize("activation", ["identity", "relu"])
def test_agrees_with_scipy(activation):
    model = make_model(activation)
    tokens, offsets = make_texts(8)
    prior = torch.randn(8, D)
    found = infer(model, tokens, offsets, prior=prior, l2=0.5)
    assert found.converged.all()
    double = make_model(activation, torch.float64)
    for i in range(8):
        text = tokens[offsets[i] : offsets[i + 1]]

        def f(x, text=text, i=i):
            x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
            J = naive_objective(double, text, x, prior[i].double(), 0.5)
            (g,) = torch.autograd.grad(J, x)
            return J.item(), g.numpy()

        bounds = [(0, None)] * D if activation == "relu" else None
        best = minimize(
            f,
            np.maximum(prior[i].numpy(), 0),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 1e-14, "gtol": 1e-9},
        )
        np.testing.assert_allclose(found.x[i].numpy(), best.x, atol=1e-4)
        assert found.objective[i].item() == pytest.approx(best.fun, abs=1e-4)
    if activation == "relu":
        assert (found.x >= 0).all() and (found.x == 0).any()


@pytest.mark.parametrize(("activation", "samples"), [("identity", None), ("relu", 24)])
def test_depends_on_the_text_alone(activation, samples, monkeypatch):
    model = make_model(activation)
    tokens, offsets = make_texts(40)
    whole = infer(model, tokens, offsets, l2=0.2, samples=samples, seed=1)
    rows = torch.randperm(40, generator=torch.Generator().manual_seed(3)).tolist()
    monkeypatch.setattr("atd.inference.infer.POSITIONS", 17)
    monkeypatch.setattr("atd.inference.objective.PIECE", 3)
    other = infer(model, *subset(tokens, offsets, rows), l2=0.2, samples=samples, seed=2)
    torch.testing.assert_close(other.x, whole.x[rows], atol=1e-4, rtol=0)
    assert whole.converged.all() and other.converged.all()


@pytest.fixture
def few_words(monkeypatch):
    """Pieces of 4 positions with 7 words each, so that the small vocabulary counts as a large one."""
    monkeypatch.setattr("atd.inference.surrogate.WORDS", 7)
    monkeypatch.setattr("atd.inference.objective.PIECE", 4)


def test_the_stand_in_has_the_gradient_of_the_objective(few_words):
    model = make_model(dtype=torch.float64)
    tokens, offsets = make_texts(6)
    where, x = torch.arange(len(tokens)), torch.randn(6, D, dtype=torch.float64)
    with torch.no_grad():
        problem = Problem.of(
            SoftmaxWords(*model.output()),
            model.context(windows(tokens, offsets, where, N)),
            tokens,
            offsets.diff(),
            torch.zeros(6, D, dtype=torch.float64),
            W_fd=model.W_fd,
            stretch=1.0,
            gate_bias=1.0,
            l2=0.3,
            positive=False,
        )
        nll, J, g, likely = nearby.evaluate(problem, x)
        torch.testing.assert_close((nll, J, g), problem.value_and_gradient(x))
        assert (likely.sum(1) > 0).all() and (likely.sum(1) < 4).all()
        near = nearby.stand_in(problem, x, g, likely)
        torch.testing.assert_close(near.value_and_gradient(x)[2], g)
        away = x + 0.1
        _, there, slope = near.value_and_gradient(away)
        step = 1e-6 * torch.randn_like(x)
        rise = near.value_and_gradient(away + step)[1] - near.value_and_gradient(away - step)[1]
        torch.testing.assert_close(rise / 2, (slope * step).sum(1), rtol=1e-5, atol=1e-12)
        rows = torch.tensor([4, 1])
        torch.testing.assert_close(near.select(rows).value_and_gradient(away[rows])[1], there[rows])


def test_words_are_chosen_by_how_likely_they_are():
    likely = torch.rand(3, 500, generator=torch.Generator().manual_seed(0)) ** 8
    likely[:, 17] = 50
    ids, log_weight = nearby.choose(likely.clone(), 100)
    used = log_weight > nearby.NEVER
    for row, real in zip(ids, used, strict=True):
        assert 90 <= real.sum() == len(row[real].unique())
    assert (ids == 17).any(1).all() and log_weight[ids == 17].abs().max() < 1e-6
    sums = (likely.gather(1, ids) * log_weight.exp()).sum(1)
    torch.testing.assert_close(sums, likely.sum(1), rtol=0.05, atol=0)


@pytest.mark.parametrize("activation", ["identity", "relu"])
@pytest.mark.parametrize("shrinks", [0.5, 0.0])
def test_the_stand_in_leads_to_the_same_vectors(activation, shrinks, few_words, monkeypatch):
    """Also when none of its steps is good enough, and L-BFGS takes over."""
    model = make_model(activation)
    tokens, offsets = make_texts(40)
    monkeypatch.setattr("atd.inference.solvers.PAYS", 1000)
    plain = infer(model, tokens, offsets, l2=0.5)
    monkeypatch.setattr("atd.inference.solvers.PAYS", 1)
    monkeypatch.setattr("atd.inference.solvers.SHRINKS", shrinks)
    found = infer(model, tokens, offsets, l2=0.5)
    assert found.converged.all()
    torch.testing.assert_close(found.x, plain.x, atol=1e-4, rtol=0)
    torch.testing.assert_close(found.objective, plain.objective, atol=1e-4, rtol=0)
    monkeypatch.setattr("atd.inference.infer.TEXTS", 3)
    torch.testing.assert_close(infer(model, tokens, offsets, l2=0.5).x, found.x, atol=1e-4, rtol=0)


def test_the_fixed_subset_approaches_the_full_softmax():
    model = make_model()
    tokens, offsets = make_texts(20)
    exact = infer(model, tokens, offsets, l2=1.0)
    gap = [(infer(model, tokens, offsets, l2=1.0, samples=s).x - exact.x).norm() for s in (10, 50, V)]
    assert gap[2] == 0 and gap[1] < gap[0]


def test_texts_without_known_words_get_the_prior():
    model = make_model()
    tokens, offsets = torch.tensor([5, 9, 0, 0, 7]), torch.tensor([0, 2, 2, 4, 5])
    prior = torch.randn(4, D)
    with pytest.warns(UserWarning, match="2 of 4 texts"):
        found = infer(model, tokens, offsets, prior=prior)
    torch.testing.assert_close(found.x[1:3], prior[1:3])
    assert found.x.isfinite().all() and found.converged.all() and (found.nll[1:3] == 0).all()
    assert not torch.allclose(found.x[0], prior[0])


def test_no_texts():
    found = infer(make_model(), torch.zeros(0, dtype=torch.long), torch.zeros(1, dtype=torch.long))
    assert found.x.shape == (0, D)


def test_sgd_draws_near_the_same_optimum():
    model = make_model("relu")
    tokens, offsets = make_texts(20)
    best = infer(model, tokens, offsets, l2=1.0)
    start = infer(model, tokens, offsets, l2=1.0, iterations=0)
    near = infer(model, tokens, offsets, l2=1.0, method="sgd", lr=0.05, epochs=60)
    assert (near.objective >= best.objective - 1e-4).all()
    closed = (start.objective - near.objective).sum() / (start.objective - best.objective).sum()
    assert closed > 0.95
    assert (near.x >= 0).all()


def test_the_model_is_left_as_it_was():
    model = make_model(dropout=0.5).train()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    one, two = (infer(model, *make_texts(3)).x for _ in range(2))
    assert torch.equal(one, two) and model.training
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())


@pytest.mark.parametrize("bad", [dict(l2=0.0), dict(method="magic"), dict(samples=1)])
def test_wrong_settings_are_one_line(bad):
    with pytest.raises(AtdError, match="inference"):
        infer(make_model(), *make_texts(2), **bad)


def test_an_additive_model_is_refused():
    with pytest.raises(AtdError, match="additive"):
        infer(make_model(additive=True), *make_texts(2))


def test_no_warning_when_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        infer(make_model(), *make_texts(3))


def test_sharp_models_converge_beyond_the_rounding_of_the_objective():
    """With logits of ±25, J near 0 cannot resolve the last steps in single precision; the slopes must."""
    model = make_model()
    tokens, offsets = make_texts(40)
    with torch.no_grad():
        model.W_fv.mul_(1.5)
        model.b.zero_()
    found = infer(model, tokens, offsets, l2=1.0, tolerance=1e-4)
    assert found.converged.all() and found.iterations.double().mean() < 25
