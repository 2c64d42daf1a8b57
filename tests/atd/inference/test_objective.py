"""J and its gradient: against the model itself, against finite differences, for all texts and for some."""

from __future__ import annotations

import pytest
import torch

from atd.inference.infer import FrozenContexts
from tests.atd.inference.small import (
    KINDS,
    D,
    F,
    N,
    V,
    make_kind,
    make_model,
    make_problem,
    make_texts,
    naive_objective,
)


@pytest.mark.parametrize("kind", ["paper", "open gate and shift"])
def test_frozen_contexts_are_the_model_s(kind):
    model = make_kind(kind, torch.float64)
    context = torch.randint(V, (50, N), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        frozen = FrozenContexts(model, context, model.folded_contexts().view(N, F, F))(context)
        torch.testing.assert_close(frozen, model.context(context))


@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_is_the_model_s(kind):
    """In pieces of all lengths, value and gradient are those of the model's own loss."""
    model = make_kind(kind, torch.float64)
    texts, x, prior = make_texts(9), torch.randn(9, D).double(), torch.randn(9, D).double()
    with torch.no_grad():
        point = make_problem(model, texts, prior).evaluate(x)
    for i in range(9):
        x_D = x[i].clone().requires_grad_()
        J = naive_objective(model, torch.from_numpy(texts[i]), x_D, prior[i], 0.3)
        torch.testing.assert_close(point.J_n[i], J.detach())
        torch.testing.assert_close(point.g_nD[i], torch.autograd.grad(J, x_D)[0])


@pytest.mark.parametrize("kind", ["paper", "open gate and shift", "shift"])
@pytest.mark.parametrize("samples", [None, 20])
def test_gradient_matches_finite_differences(kind, samples):
    model = make_kind(kind, torch.float64)
    with torch.no_grad():
        problem = make_problem(model, make_texts(4), torch.randn(4, D).double(), samples)
        x = torch.randn(4, D, dtype=torch.float64)
        point = problem.evaluate(x)
        for d in range(D):
            step = torch.zeros_like(x)
            step[:, d] = 1e-5
            rise = problem.evaluate(x + step).J_n - problem.evaluate(x - step).J_n
            torch.testing.assert_close(rise / 2e-5, point.g_nD[:, d], rtol=1e-5, atol=1e-6)
        rows = torch.tensor([2, 0])
        torch.testing.assert_close(problem.select(rows).evaluate(x[rows]).J_n, point.J_n[rows])


def test_the_preconditioner_is_the_inverse_of_the_typical_hessian():
    problem = make_problem(make_model(dtype=torch.float64).requires_grad_(False), make_texts(4), torch.zeros(4, D))
    axes = problem.preconditioner
    curvature = axes.vector_DD @ axes.value_D.diag() @ axes.vector_DD.T
    g = torch.randn(4, D, dtype=torch.float64)
    for i, count in enumerate(problem.count_n.tolist()):
        hessian = 0.3 * torch.eye(D, dtype=torch.float64) + count * curvature
        torch.testing.assert_close(problem.precondition(g)[i], torch.linalg.solve(hessian, g[i]))


@pytest.mark.parametrize("kind", ["paper", "open gate and shift", "shift"])
def test_the_typical_curvature_is_the_mean_over_contexts(kind):
    """Over all contexts of two words, each as frequent as its bias says, which is also what the model predicts."""
    torch.manual_seed(0)
    model = make_kind(kind, torch.float64)
    model.C = torch.nn.Parameter(model.C[:2])
    with torch.no_grad():
        problem = make_problem(model, make_texts(2), torch.zeros(2, D).double())
        axes = problem.preconditioner
        p_V = model.b.softmax(0)
        context = torch.cartesian_prod(torch.arange(V), torch.arange(V))
        weight = p_V[context].prod(1)
        mean_F = p_V @ model.W_fv
        covariance = (model.W_fv.T * p_V) @ model.W_fv - torch.outer(mean_F, mean_F)
        M_TFD = model.context(context)[..., None] * model.W_fd if model.gated else torch.zeros(1, F, D).double()
        M_TFD = M_TFD + (0 if model.W_fa is None else model.W_fa)
        expected = (weight[:, None, None] * (M_TFD.mT @ covariance @ M_TFD)).sum(0)
    torch.testing.assert_close(axes.vector_DD @ axes.value_D.diag() @ axes.vector_DD.T, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_is_convex(kind):
    """On random segments J lies below its chord by at least what the L2 term bends, and above its tangent."""
    with torch.no_grad():
        problem = make_problem(make_kind(kind, torch.float64), make_texts(30), torch.zeros(30, D).double())
        for _ in range(20):
            one, two = problem.evaluate(3 * torch.randn(30, D).double()), problem.evaluate(torch.randn(30, D).double())
            share = torch.rand(30, 1).double()
            between = problem.evaluate(share * one.x_nD + (1 - share) * two.x_nD)
            apart = (one.x_nD - two.x_nD).square().sum(1)
            share = share[:, 0]
            chord = share * one.J_n + (1 - share) * two.J_n - 0.5 * 0.3 * share * (1 - share) * apart
            assert (between.J_n <= chord + 1e-9).all()
            tangent = one.J_n + (one.g_nD * (two.x_nD - one.x_nD)).sum(1) + 0.5 * 0.3 * apart
            assert (two.J_n >= tangent - 1e-9).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
def test_rounding_is_as_small_as_is_said(kind, size):
    """In single precision J is off by less than `blur`, its gradient by about a quarter of `noise`."""
    texts, x = make_texts(60), size * torch.randn(60, D)
    with torch.no_grad():
        single = make_problem(make_kind(kind), texts, torch.zeros(60, D))
        double = make_problem(make_kind(kind, torch.float64), texts, torch.zeros(60, D).double())
        single.l2 = double.l2 = 1e-9
        found, exact = single.evaluate(x), double.evaluate(x.double())
        off = (found.J_n - exact.J_n).abs() / single.blur(x)
        assert off.max() < 1 and off.mean() > 0.02
        off = (found.g_nD - exact.g_nD).norm(dim=1)
        if kind == "nothing":
            assert not single.noise().any() and (off < 1e-12).all()
        else:
            assert 0.05 < (off / single.noise()).mean() < 0.5
