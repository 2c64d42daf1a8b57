"""The paper's update and schedule as a hand trace; AdaGrad row by row."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
import yaml

from atd import native
from atd.lm import LogBilinearLM, MultiplicativeLM
from atd.optim import PaperSchedule, PaperSGD, RowAdaGrad, distinct_rows, parameter_groups, travel

CONF = Path(__file__).parent.parent.parent / "conf"


def test_momentum_and_decay_equal_a_hand_trace():
    theta = torch.nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    optimiser = PaperSGD([theta], lr=0.1)
    schedule = PaperSchedule(optimiser, decay=0.5, p_i=0.5, p_f=0.9, T=2)
    expected, delta = 1.0, 0.0
    for p, eta in [(0.5, 0.1), (0.7, 0.05), (0.9, 0.025), (0.9, 0.0125)]:
        for gradient in (2.0, -1.0):
            theta.grad = torch.tensor([gradient], dtype=torch.float64)
            optimiser.step()
            delta = p * delta - (1 - p) * eta * gradient
            expected += delta
            assert theta.item() == pytest.approx(expected, abs=1e-12)
        schedule.step()


def test_weight_decay_pulls_to_zero():
    theta = torch.nn.Parameter(torch.tensor([2.0]))
    optimiser = PaperSGD([theta], lr=1.0, momentum=0.0, weight_decay=0.1)
    theta.grad = torch.zeros(1)
    optimiser.step()
    assert theta.item() == pytest.approx(1.8)


def test_a_step_is_at_most_a_share_of_the_matrix():
    """‖θ‖ = 5, so that η·g may have length 0.5; a smaller one is left as it is."""
    for g, moved in ((100.0, 0.5), (0.3, 0.3)):
        theta = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
        theta.grad = torch.tensor([g, 0.0])
        PaperSGD([theta], lr=1.0, momentum=0.0, limit=0.1).step()
        torch.testing.assert_close(theta.detach(), torch.tensor([3.0 - moved, 4.0]))


def test_a_matrix_that_starts_at_zero_can_leave_it():
    theta = torch.nn.Parameter(torch.zeros(4))
    theta.grad = torch.full((4,), 7.0)
    PaperSGD([theta], lr=1.0, momentum=0.0, limit=0.5).step()
    torch.testing.assert_close(theta.detach(), torch.full((4,), -0.005))


def test_rows_of_a_sparse_gradient_get_their_whole_step_at_once():
    """As the dense update does in the end, when nothing else comes."""
    start = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    dense, sparse = (torch.nn.Parameter(start.clone()) for _ in range(2))
    d, s = (PaperSGD([p], lr=0.2, momentum=0.5) for p in (dense, sparse))
    for p, is_sparse in ((dense, False), (sparse, True)):
        torch.nn.functional.embedding(torch.tensor([1, 1, 4]), p, sparse=is_sparse).square().sum().backward()
    s.step()
    for _ in range(40):
        d.step()
        d.zero_grad(set_to_none=False)
    torch.testing.assert_close(sparse, dense)
    assert torch.equal(sparse[0], start[0]) and not torch.equal(sparse[1], start[1])


@pytest.mark.parametrize("spread", [0.05, 0.5])
def test_the_default_step_learns_from_short_and_from_long_word_vectors(spread):
    """Words of a made-up text, with vectors as long as GloVe's or a tenth of that: unlimited, the long ones diverge."""
    settings = yaml.safe_load((CONF / "optim" / "sgd.yaml").read_text())
    generator = torch.Generator().manual_seed(0)
    V, K, N = 400, 100, 8
    vectors_VK = spread * (1 + torch.randn(V, K, generator=generator))  # as in GloVe, all have something in common
    text = (torch.rand(4000, generator=generator) ** 3 * V).long()
    text[1::2] = (text[::2] * 7 + 1) % V  # every second word follows from the one before
    windows = text.unfold(0, N + 1, 1)

    def losses(limit: float | None) -> list[float]:
        torch.manual_seed(0)
        model = MultiplicativeLM(V, K, 3, K, N, 2, gate_bias=1.0)
        model.start_at(vectors_VK)
        model.start_bias(torch.bincount(text, minlength=V))
        optimiser = PaperSGD(model.parameters(), settings["lr"], settings["p_i"], limit=limit)
        found = []
        for i in range(60):
            rows = windows[torch.randint(len(windows), (256,), generator=generator)]
            optimiser.zero_grad()
            loss = model.nll(rows[:, :-1], rows[:, -1], torch.full((256,), i % 2))
            loss.backward()
            optimiser.step()
            found.append(float(loss.detach()))
        return found

    limited = losses(settings["limit"])
    assert max(limited) < limited[0] + 0.5 and sum(limited[-5:]) / 5 < limited[0]
    if spread == 0.5:
        free = losses(None)
        assert not max(free) < 2 * free[0]  # also when it is NaN


def test_schedule_survives_a_checkpoint():
    theta = torch.nn.Parameter(torch.ones(1))

    def pair():
        optimiser = PaperSGD([theta], lr=1.0)
        return optimiser, PaperSchedule(optimiser, 0.9, 0.5, 0.9, 4)

    optimiser, schedule = pair()
    for _ in range(3):
        optimiser.step()
        schedule.step()
    again, schedule_again = pair()
    again.load_state_dict(optimiser.state_dict())
    schedule_again.load_state_dict(schedule.state_dict())
    for s, o in ((schedule, optimiser), (schedule_again, again)):
        s.step()
        assert o.param_groups[0]["lr"] == pytest.approx(0.9**4)
        assert o.param_groups[0]["momentum"] == pytest.approx(0.9)


def test_row_adagrad_sparse_equals_dense_on_touched_rows():
    torch.manual_seed(0)
    start = torch.randn(6, 3)
    dense, sparse = (torch.nn.Parameter(start.clone()) for _ in range(2))
    d, s = RowAdaGrad([dense], lr=0.1), RowAdaGrad([sparse], lr=0.1)
    for rows in ([0, 2, 2], [2, 5]):
        for p, o, is_sparse in ((dense, d, False), (sparse, s, True)):
            o.zero_grad()
            torch.nn.functional.embedding(torch.tensor(rows), p, sparse=is_sparse).square().sum().backward()
            o.step()
    torch.testing.assert_close(dense, sparse)
    torch.testing.assert_close(dense[1], start[1])
    assert not torch.equal(dense[2], start[2])


@pytest.mark.parametrize("weight_decay", [0.0, 0.01])
def test_row_adagrad_in_c_is_the_one_in_python(weight_decay, monkeypatch):
    random = torch.Generator().manual_seed(0)
    start = torch.randn(4000, 37, generator=random)
    rows = torch.randperm(4000, generator=random)[:2500].sort().values
    values = torch.randn(2500, 37, generator=random)
    g = torch.sparse_coo_tensor(rows[None], values, start.shape, is_coalesced=True, check_invariants=False)
    found = []
    for library in (native.kernel("row_adagrad"), None):
        monkeypatch.setattr(native, "kernel", lambda name, library=library: library)
        theta = torch.nn.Parameter(start.clone())
        optimiser = RowAdaGrad([theta], lr=0.1, weight_decay=weight_decay)
        for _ in range(3):
            theta.grad = g
            optimiser.step()
        found.append((theta.detach(), optimiser.state[theta]["sum"]))
    torch.testing.assert_close(*(list(each) for each in found))


def test_row_adagrad_first_step_has_length_lr_in_rms():
    theta = torch.nn.Parameter(torch.zeros(2, 4))
    theta.grad = torch.tensor([[1.0, -1, 1, -1], [100, 100, 100, 100]])
    RowAdaGrad([theta], lr=0.5).step()
    torch.testing.assert_close(theta.abs(), torch.full((2, 4), 0.5))


def test_groups_decay_by_role_and_biases_never():
    groups = parameter_groups(LogBilinearLM(5, 3, 2), {"words": 1e-3, "contexts": 1e-4})
    assert [g["weight_decay"] for g in groups] == [1e-3, 1e-4, 0.0]
    assert [len(g["params"]) for g in groups] == [1, 1, 1]


def test_a_role_may_have_a_step_size_of_its_own():
    model = MultiplicativeLM(5, 3, 2, 4, 2, 6, additive=True)
    groups = parameter_groups(model, {"attributes": 1e-3}, {"attributes": 0.5, "shift": 2.0})
    table, shift = (next(g for g in groups if g.get("lr") == lr) for lr in (0.5, 2.0))
    assert table["params"] == [model.L] and table["weight_decay"] == 1e-3 and shift["params"] == [model.W_fa]
    assert sum(len(g["params"]) for g in groups) == len(list(model.parameters()))
    optimiser = PaperSGD(groups, lr=0.1)
    assert sorted(g["lr"] for g in optimiser.param_groups) == [0.1] * (len(groups) - 2) + [0.5, 2.0]


@pytest.mark.parametrize("lr_decay", ["linear", 0.7, 1.0])
def test_a_weight_that_learns_nothing_shrinks_to_the_same_however_long_the_training(lr_decay):
    for steps, epochs in ((600, 3), (4000, 5)):
        theta = torch.nn.Parameter(torch.ones(3))
        theta.grad = torch.zeros(3)
        decay = 1.6 / travel(0.006, lr_decay, steps, epochs)
        optimiser = torch.optim.AdamW([theta], lr=0.006, weight_decay=decay)
        for step in range(steps):
            share = 1 - step / steps if lr_decay == "linear" else lr_decay ** (step // (steps // epochs))
            optimiser.param_groups[0]["lr"] = 0.006 * share
            optimiser.step()
        torch.testing.assert_close(theta.detach(), torch.full((3,), math.exp(-1.6)), rtol=0.05, atol=0)


def test_rows_of_a_sparse_gradient_come_once():
    values = torch.arange(6.0).view(3, 2)
    for index in ([1, 4, 7], [4, 1, 7], [4, 1, 4]):
        g = torch.sparse_coo_tensor(torch.tensor([index]), values, (9, 2), check_invariants=True)
        rows, found = distinct_rows(g)
        dense = torch.zeros(9, 2)
        dense[rows] = found
        torch.testing.assert_close(dense, g.to_dense())
        assert len(rows) == len(set(index))
