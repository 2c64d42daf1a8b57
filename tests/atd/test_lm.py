"""The models against the paper's equations, transcribed independently in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from atd import AttributeTable, FactoredTensor, LogBilinearLM, MultiplicativeLM, TensorLM, UnsharedLM
from atd.attributes import average_words
from atd.lm import predict

V, K, D, F, N, A, B = 11, 4, 3, 5, 3, 6, 7


@pytest.fixture(autouse=True)
def float64():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def random_parameters(model):
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.7)
    return model


def batch():
    return torch.randint(V, (B, N)), torch.randint(V, (B,)), torch.randint(A, (B,))


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


def multiplicative_probabilities(m, context, a, g=0.0):
    """Eqs. 4–6, one example, loops and all; with the gate W_fd x + g, and W_fa x added where the model has W_fa."""
    W_fk, W_fd, W_fv = (w.detach().numpy() for w in (m.W_fk, m.W_fd, m.W_fv.T))
    C, b, L = m.C.detach().numpy(), m.b.detach().numpy(), m.L.detach().numpy()
    E = W_fk.T @ W_fv
    x = np.maximum(L[a], 0)
    r = sum(C[i] @ E[:, w] for i, w in enumerate(context))
    gate = np.array([W_fd[f] @ x + g for f in range(F)])
    f = (W_fk @ r) * gate
    if m.W_fa is not None:
        f = f + m.W_fa.detach().numpy() @ x
    return softmax(np.array([W_fv[:, j] @ f + b[j] for j in range(W_fv.shape[1])]))


@pytest.mark.parametrize("additive", [False, True])
@pytest.mark.parametrize("g", [0.0, 1.0, -0.7])
def test_multiplicative_probabilities_equal_the_papers(additive, g):
    model = random_parameters(MultiplicativeLM(V, K, D, F, N, A, gate_bias=g, additive=additive))
    context, target, attribute = batch()
    ours = model.logits(context, attribute).softmax(1).detach().numpy()
    papers = np.stack(
        [multiplicative_probabilities(model, context[i].tolist(), int(attribute[i]), g) for i in range(B)]
    )
    np.testing.assert_allclose(ours, papers, atol=1e-12)
    losses = -np.log(papers[np.arange(B), target])
    np.testing.assert_allclose(model.nll(context, target, attribute).item(), losses.mean(), atol=1e-12)


@pytest.mark.parametrize("g", [0.0, 1.0])
def test_the_gate_s_bias_opens_every_factor(g):
    """T_x = W_fvᵀ · diag(W_fd x + g) · W_fk; at x = 0 only g is left of the gate."""
    tensor = random_parameters(FactoredTensor(V, K, D, F, gate_bias=g))
    W_fk, W_fd, W_fv = (w.detach().numpy() for w in (tensor.W_fk, tensor.W_fd, tensor.W_fv))
    x = torch.randn(D)
    expected = W_fv @ np.diag(W_fd @ x.numpy() + g) @ W_fk
    np.testing.assert_allclose(tensor.conditional(x).detach().numpy(), expected, atol=1e-12)
    torch.testing.assert_close(tensor.conditional(torch.zeros(D)), g * tensor.unconditional())


def test_log_bilinear_probabilities_equal_the_papers():
    model = random_parameters(LogBilinearLM(V, K, N))
    context, _, _ = batch()
    ours = model.logits(context).softmax(1).detach().numpy()
    R, C, b = (p.detach().numpy() for p in (model.R, model.C, model.b))
    for i in range(B):
        r = sum(C[j] @ R[w] for j, w in enumerate(context[i].tolist()))
        np.testing.assert_allclose(ours[i], softmax(R @ r + b), atol=1e-6)


def test_folded_tensor_is_the_explicit_sum_of_slices():
    tensor = random_parameters(FactoredTensor(V, K, D, F))
    x = torch.randn(D)
    slices = tensor.unfactored()
    explicit = sum(x[i] * slices[:, :, i] for i in range(D))
    torch.testing.assert_close(tensor.conditional(x), explicit)
    torch.testing.assert_close(tensor.folded(), tensor.W_fk.T @ tensor.W_fv.T)


def test_unfactored_model_built_from_factors_gives_the_same_logits():
    model = random_parameters(MultiplicativeLM(V, K, D, F, N, A))
    reference = TensorLM(V, K, D, N, A)
    with torch.no_grad():
        reference.T.copy_(model.unfactored())
        reference.R.copy_(model.unconditional())
        reference.C.copy_(model.C)
        reference.b.copy_(model.b)
        reference.attributes.L.copy_(model.L)
    context, _, attribute = batch()
    torch.testing.assert_close(reference.logits(context, attribute), model.logits(context, attribute))


def test_unshared_with_one_language_is_shared():
    shared = random_parameters(MultiplicativeLM(V, K, D, F, N, A))
    unshared = UnsharedLM([V], K, D, F, N, A)
    unshared.load_state_dict(shared.state_dict())
    context, target, attribute = batch()
    torch.testing.assert_close(unshared.logits(context, attribute, 0), shared.logits(context, attribute))
    torch.testing.assert_close(unshared.nll(context, target, attribute), shared.nll(context, target, attribute))


def test_unshared_languages_use_their_own_words():
    sizes = [4, 7]
    model = random_parameters(UnsharedLM(sizes, K, D, F, N, 2))
    context = torch.randint(4, (B, N))
    language = torch.ones(B, dtype=torch.long)
    logits = model.logits(context, language, 1)
    assert logits.shape == (B, 7)
    logits.sum().backward()
    assert model.W_fv.grad[:4].abs().sum() == 0 and model.W_fv.grad[4:].abs().sum() > 0


@pytest.mark.parametrize("additive", [False, True])
def test_gradients_are_right(additive):
    model = random_parameters(MultiplicativeLM(V, K, D, F, N, A, activation="identity", additive=additive))
    context, target, attribute = batch()
    names = [name for name, _ in model.named_parameters()]

    def loss(*values):
        parameters = dict(zip(names, values, strict=True))
        logits = torch.func.functional_call(model, parameters, (context, attribute))
        return torch.nn.functional.cross_entropy(logits, target)

    model.forward = model.logits
    assert torch.autograd.gradcheck(loss, tuple(p.detach().requires_grad_() for p in model.parameters()))


def test_attributes_of_one_text_add_up_and_vectors_pass_through():
    table = AttributeTable(A, D)
    ids = torch.tensor([[0, 2], [1, 1]])
    torch.testing.assert_close(table(ids)[0], torch.relu(table.L[0] + table.L[2]))
    x = torch.randn(2, D)
    assert table(x) is x
    assert (table.vectors() >= 0).all()
    with pytest.raises(ValueError, match="relu, identity"):
        AttributeTable(A, D, activation="tanh")


def test_no_attribute_leaves_the_gate_out():
    model = random_parameters(MultiplicativeLM(V, K, D, F, N, A))
    context, _, _ = batch()
    torch.testing.assert_close(model.hidden(context), model.context(context))


def test_svd_start_folds_to_the_pretrained_vectors():
    vectors = torch.randn(V, K)
    for factors in (K, F):  # as many factors as dims, and more
        tensor = FactoredTensor(V, K, D, factors)
        tensor.start_at(vectors)
        torch.testing.assert_close(tensor.unconditional(), vectors, atol=0.02, rtol=0)
    narrow = FactoredTensor(V, K, D, 2)
    narrow.start_at(vectors)
    U, S, Vt = torch.linalg.svd(vectors, full_matrices=False)
    torch.testing.assert_close(narrow.unconditional(), (U[:, :2] * S[:2]) @ Vt[:2])


def test_average_words_is_the_mean_of_each_text():
    vectors = torch.randn(V, K)
    tokens, offsets = torch.tensor([1, 2, 3, 4, 5]), torch.tensor([0, 2, 5])
    torch.testing.assert_close(average_words(vectors, tokens, offsets)[1], vectors[3:6].mean(0))


def test_bias_starts_at_word_frequencies():
    model = LogBilinearLM(3, K, N)
    model.start_bias(torch.tensor([0, 1, 7]))
    torch.testing.assert_close(model.b.exp(), torch.tensor([0.1, 0.2, 0.8]) / 1.1, atol=1e-12, rtol=0)


def test_folded_contexts_change_nothing():
    """A batch large enough that the context matrices are multiplied out, and its rows one by one, which are not."""
    torch.manual_seed(0)
    model = MultiplicativeLM(V=30, K=6, D=4, F=5, N=3, A=2).double()
    context = torch.randint(30, (64, 3))
    rows = torch.cat([model.context(row[None]) for row in context])
    torch.testing.assert_close(model.context(context), rows)
    torch.testing.assert_close(rows, predict(model.unconditional()[context], model.C) @ model.W_fk.T)
