"""The ranking model is its formula: sums, gate, projection, losses, and what is shared with whom."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from atd import native
from atd.bags import Bags, bag_sum, bag_sum_of_rows, numbered, numbered_natively, take
from atd.contrast import cosines, hardest, hinge, precision_at_1, softmax, turned
from atd.errors import AtdError
from atd.optim import RowAdaGrad
from atd.ragged import Ragged, offsets_of
from atd.ranking import RankingModel, unit
from atd.spelling import Spelling, ngrams

SIZES = {"en": 7, "de": 9, "fr": 5}
WORDS = [f"word{i}" for i in range(21)]


def model(**options) -> RankingModel:
    torch.manual_seed(0)
    return RankingModel(SIZES, K=4, D=3, F=6, **options)


def pair_of_batches(n: int = 5) -> Ragged:
    """n sentences of language 0, words 0 … 6, and then n of language 1, words 7 … 15."""
    rng = np.random.default_rng(0)
    english, german = rng.integers(1, 6, n), rng.integers(1, 6, n)
    tokens = [rng.integers(0, 7, english.sum()), rng.integers(7, 16, german.sum())]
    return Ragged(np.concatenate(tokens), offsets_of(np.concatenate([english, german])))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 10_000))
def test_bag_sums_and_their_gradients_are_those_of_torch(size, n, seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 5, n)
    texts = Ragged(rng.integers(0, size, lengths.sum()), offsets_of(lengths))
    table = torch.randn(size, 3, dtype=torch.float64, requires_grad=True)
    bags = Bags.of(texts, size)
    ours = bag_sum(take(table, bags.rows), bags)
    weight = torch.randn_like(ours)
    (ours * weight).sum().backward()
    sparse, table.grad = table.grad, None
    assert sparse.is_sparse and sparse._nnz() == len(bags.rows)
    theirs = functional.embedding_bag(texts.flat[0], table, texts.flat[1], mode="sum", include_last_offset=True)
    (theirs * weight).sum().backward()
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(sparse.to_dense(), table.grad)


def test_the_sum_of_rows_in_one_is_that_in_two():
    texts = pair_of_batches()
    bags = Bags.of(texts, 21)
    table = torch.randn(21, 3, requires_grad=True)
    weight = torch.randn(10, 3)
    found = []
    for sums in (bag_sum_of_rows(table, bags), bag_sum(take(table, bags.rows), bags)):
        table.grad = None
        (sums * weight).sum().backward()
        found.append((sums.detach(), table.grad._indices(), table.grad._values()))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("sharing", ["shared", "separate"])
@pytest.mark.parametrize("spelled", [False, True])
def test_a_sentence_is_the_unit_sum_of_its_conditioned_words(sharing, spelled):
    """v(S) = Σ_w W_fv[l][w]ᵀ · diag(W_fd x_l) · W_fk, word by word, for both languages of a batch."""
    m = model(sharing=sharing, spelling=Spelling(WORDS, (2, 3), 50) if spelled else None)
    if spelled:
        torch.nn.init.normal_(m.W_fg)
    texts = pair_of_batches()
    v = torch.cat(m(Bags.of(texts, 21), (0, 1), 5))
    for s in range(10):
        language = int(s >= 5)
        T = m.embeddings(language)
        words = texts[s] - m.bounds[language]
        explicit = sum(T[w] for w in words)
        torch.testing.assert_close(v[s], explicit / explicit.norm(), atol=1e-5, rtol=1e-5)
    x = m.vectors()[1]
    k = 0 if sharing == "shared" else 1
    own = m.W_fv[7:16] + (torch.stack([m.W_fg[i].sum(0) for i in gram_ids(m.spelling, 7, 16)]) if spelled else 0)
    torch.testing.assert_close(m.embeddings(1), own @ torch.diag(m.W_fd[k] @ x) @ m.W_fk[k])
    german = texts.take(np.arange(5, 10))
    torch.testing.assert_close(m.sentences(Ragged(german.tokens - 7, german.offsets), 1), v[5:])


def gram_ids(spelling, low, high):
    return [torch.from_numpy(spelling.ngrams[w]) for w in range(low, high)]


def test_weights_of_words_enter_the_sum():
    m = model()
    weight = torch.rand(9)
    T = m.embeddings(1) * weight[:, None]
    got = m.sentences(Ragged(np.array([3, 3, 8]), np.array([0, 3])), 1, weight)
    torch.testing.assert_close(got[0], functional.normalize(2 * T[3] + T[8], dim=0))


@pytest.mark.parametrize("sharing", ["shared", "separate"])
def test_separate_languages_share_nothing(sharing):
    """A step on English and German moves French sentences exactly when parameters are shared."""
    salts = [name for name, size in SIZES.items() for _ in range(size)] if sharing == "separate" else None
    m = model(sharing=sharing, spelling=Spelling(WORDS, (4,), 1 << 16, salts))
    french = Ragged(np.arange(5), np.array([0, 2, 5]))
    before = m.sentences(french, 2)
    optimiser = RowAdaGrad(m.parameters(), lr=0.5)
    a, b = m(Bags.of(pair_of_batches(), 21), (0, 1), 5)
    softmax(a, b).backward()
    optimiser.step()
    moved = not torch.allclose(before, m.sentences(french, 2), atol=1e-6)
    assert moved == (sharing == "shared")


def test_hinge_is_the_papers_objective():
    torch.manual_seed(1)
    a, b = (functional.normalize(torch.randn(6, 4), dim=1) for _ in range(2))
    c = functional.normalize(torch.randn(6, 5, 4), dim=2)
    explicit = sum(
        max(0.0, 1.0 + float((a[i] - b[i]).square().sum()) - float((a[i] - c[i, k]).square().sum()))
        for i in range(6)
        for k in range(5)
    )
    assert float(hinge(a, b, cosines(a, c))) == pytest.approx(explicit / 6, rel=1e-5)
    near = [(a[i] @ b.T).masked_fill(torch.eye(6)[i].bool(), -9).topk(2).indices for i in range(6)]
    back = [(b[i] @ a.T).masked_fill(torch.eye(6)[i].bool(), -9).topk(2).indices for i in range(6)]
    there = cosines(a, torch.stack([b[n] for n in near]))
    back_again = cosines(b, torch.stack([a[n] for n in back]))
    both = hinge(a, b, there) + hinge(b, a, back_again)
    torch.testing.assert_close(hardest(a, b, 2), both / 2)


def test_a_turned_batch_never_gives_the_translation():
    b = torch.eye(8)
    a = torch.arange(8.0) * torch.ones(8, 1)  # a·c is then the number of the sentence c
    for n in (5, 7, 20):
        c = turned(a, b, n, torch.Generator().manual_seed(n))
        assert c.shape == (8, min(n, 7))
        assert all(i not in row and len(set(row)) == len(row) for i, row in enumerate(c.long().tolist()))


def test_unit_is_normalize():
    v = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(unit(v), functional.normalize(v, dim=1))
    assert torch.autograd.gradcheck(unit, v)
    assert not unit(torch.zeros(2, 3)).any()


def test_softmax_prefers_the_translation():
    eye = torch.eye(4)
    assert float(softmax(eye, eye)) < 0.01 < 5 < float(softmax(eye, eye.roll(1, 0)))


def test_precision_at_1():
    a = torch.eye(3)
    assert precision_at_1(a, a) == 100
    assert precision_at_1(a, a[[0, 2, 1]]) == pytest.approx(100 / 3)
    assert precision_at_1(a, a[[0, 2, 1]], torch.tensor([0, 2, 1])) == 100


def test_training_finds_the_dictionary():
    """Two languages with words in one-to-one correspondence: every word finds its translation."""
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    m = RankingModel({"en": 40, "de": 40}, K=16, D=4, F=16)
    optimiser = RowAdaGrad(m.parameters(), lr=0.1)
    dictionary = rng.permutation(40)
    for _ in range(300):
        english = rng.integers(0, 40, (64, 5))
        tokens = np.concatenate([english, 40 + dictionary[english]]).ravel()
        a, b = m(Bags.of(Ragged(tokens, np.arange(0, 645, 5)), 80), (0, 1), 64)
        loss = hinge(a, b, turned(a, b, 5))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    en, de = (functional.normalize(m.embeddings(i), dim=1) for i in (0, 1))
    assert precision_at_1(en, de, torch.from_numpy(dictionary)) > 95


def test_pretrained_vectors_keep_their_geometry():
    m = model()
    vectors, known = torch.randn(7, 4), torch.tensor([True] * 6 + [False])
    last = m.W_fv[6].clone()
    m.start_at(0, vectors, known)
    centred = vectors[:6] - vectors[:6].mean(0)
    ours = m.W_fv[:6].detach()
    scale = ours[0].square().sum() / centred[0].square().sum()
    torch.testing.assert_close(ours @ ours.T, scale * centred @ centred.T, rtol=1e-3, atol=1e-4)
    assert torch.equal(m.W_fv[6], last)


def test_fixed_words_keep_their_place():
    m = model()
    m.start_at(0, torch.randn(7, 4), torch.tensor([True] * 6 + [False]), fixed=True)
    before = m.W_fv.detach().clone()
    a, b = m(Bags.of(pair_of_batches(), 21), (0, 1), 5)
    optimiser = RowAdaGrad(m.parameters(), lr=0.1)
    softmax(a, b).backward()
    optimiser.step()
    moved = (m.W_fv != before).any(1)
    assert not moved[:6].any() and moved[7:16].any()


def test_the_gate_starts_open():
    gate = model().gate(1).detach()
    assert float(gate.min()) > 0.8 and float(gate.max()) < 1.2


def test_spelling():
    assert ngrams("union", (4,)) == ["<union>", "<uni", "unio", "nion", "ion>"]
    assert ngrams("<unk>", (3,)) == [] and ngrams("a", (3, 4)) == ["<a>"]
    same = Spelling(["union", "union"], (4,), 1 << 16)
    apart = Spelling(["union", "union"], (4,), 1 << 16, ["en", "de"])
    ids = [s.ngrams.tokens.reshape(2, -1) for s in (same, apart)]
    assert (ids[0][0] == ids[0][1]).all() and (ids[1][0] != ids[1][1]).all()


def test_wrong_settings_are_named():
    with pytest.raises(AtdError, match="sharing is one of shared, separate, not 'half'"):
        model(sharing="half")
    with pytest.raises(AtdError, match="no language 'it'; it knows en, de, fr"):
        model().language("it")


@pytest.mark.parametrize("lengths", [[3, 0, 2, 5], [0, 0], [], [400] * 50])
def test_the_kernel_of_bags_numbers_as_its_twin_does(lengths):
    lib = native.kernel("bags")
    if lib is None:
        pytest.skip("no compiler")
    tokens = np.random.default_rng(0).integers(0, 90, sum(lengths))
    texts = Ragged(tokens, offsets_of(lengths))
    for ours, theirs in zip(numbered_natively(lib, texts, 91), numbered(texts, 91), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(IndexError):
        numbered_natively(lib, Ragged(np.array([91]), np.array([0, 1])), 91)
