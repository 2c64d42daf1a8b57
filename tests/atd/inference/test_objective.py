"""J and its gradient: against the model itself, against finite differences, for all texts and for some."""

from __future__ import annotations

import pytest
import torch

from atd.inference.infer import FrozenContexts
from tests.atd.inference.small import D, F, N, V, make_model, make_problem, make_texts, naive_objective


def test_frozen_contexts_are_the_model_s():
    model = make_model(dtype=torch.float64)
    context = torch.randint(V, (50, N), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        frozen = FrozenContexts(model, context, model.folded_contexts().view(N, F, F))(context)
        torch.testing.assert_close(frozen, model.context(context))


@pytest.mark.parametrize("gate_bias", [0.0, 1.0])
def test_the_objective_is_the_model_s(gate_bias):
    """In pieces of all lengths, value and gradient are those of the model's own loss."""
    model = make_model(dtype=torch.float64, gate_bias=gate_bias)
    texts, x, prior = make_texts(9), torch.randn(9, D).double(), torch.randn(9, D).double()
    with torch.no_grad():
        point = make_problem(model, texts, prior).evaluate(x)
    for i in range(9):
        x_D = x[i].clone().requires_grad_()
        J = naive_objective(model, torch.from_numpy(texts[i]), x_D, prior[i], 0.3)
        torch.testing.assert_close(point.J_n[i], J.detach())
        torch.testing.assert_close(point.g_nD[i], torch.autograd.grad(J, x_D)[0])


@pytest.mark.parametrize("samples", [None, 20])
def test_gradient_matches_finite_differences(samples):
    model = make_model(dtype=torch.float64)
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
