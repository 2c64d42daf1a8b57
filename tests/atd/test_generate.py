import sys

import pytest
import torch

from atd.errors import AtdError
from atd.generate import BLOCK, draw, folded_hidden, generate, invert
from atd.lm import LogBilinearLM, MultiplicativeLM, UnsharedLM
from atd.open_lm import OpenLM
from atd.tensor_lm import TensorLM
from atd.vocabulary import BOS_ID

generate_module = sys.modules[generate.__module__]
V, K, D, F, N, A = 200, 8, 5, 7, 3, 4


def make(kind=MultiplicativeLM, **options):
    torch.manual_seed(0)
    if kind is LogBilinearLM:
        model = LogBilinearLM(V, K, N)
    elif kind is TensorLM:
        model = TensorLM(V, K, D, N, A)
    elif kind is UnsharedLM:
        model = UnsharedLM([150, V], K, D, F, N, A)
    else:
        model = kind(V, K, D, F, N, A, **options)
        for name in ("c", "W_fa"):
            if getattr(model, name) is not None:
                torch.nn.init.normal_(getattr(model, name))
    torch.nn.init.normal_(model.C, std=1.0)
    return model.eval()


def seed(n=0):
    return torch.Generator().manual_seed(n)


def naive(model, x, start, length, language=0):
    """One text, one word at a time, always the likeliest: the plain equations."""
    text = [BOS_ID] * N + list(start)
    for _ in range(length):
        logits = model.logits(torch.tensor([text[-N:]]), None if x is None else x[None], language)
        text.append(int(logits.argmax()))
    return text[N + len(start) :]


@pytest.mark.parametrize("kind", [MultiplicativeLM, OpenLM, LogBilinearLM, TensorLM, UnsharedLM])
def test_greedy_batch_equals_one_at_a_time(kind):
    model = make(kind)
    x_BD = torch.rand(6, D)
    starts = torch.randint(3, 100, (6, 2), generator=seed())
    language = int(kind is UnsharedLM)
    ids = generate(model, x_BD, starts, 9, temperature=0, generator=seed(), language=language)
    with torch.no_grad():
        expected = [naive(model, x, s.tolist(), 9, language) for x, s in zip(x_BD, starts, strict=True)]
    assert ids.tolist() == expected


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (MultiplicativeLM, {}),
        (MultiplicativeLM, {"gate_bias": 1.0, "additive": True}),
        (OpenLM, {}),
        (OpenLM, {"gated": False}),
        (OpenLM, {"additive": False}),
        (UnsharedLM, {}),
    ],
)
def test_folded_hidden_is_hidden(kind, options, monkeypatch):
    model = make(kind, **options)
    language = int(kind is UnsharedLM)
    context, x = torch.randint(150, (5, N), generator=seed()), torch.rand(5, D)
    expected = [model.hidden(context, given, language) for given in (x, x[:1], None)]
    if kind is not UnsharedLM:
        monkeypatch.setattr(kind, "context", None)  # the fold takes its place
    hidden = folded_hidden(model, language)
    for given, f_BF in zip((x, x[:1], None), expected, strict=True):
        torch.testing.assert_close(hidden(context, given), f_BF)


def test_one_vector_per_step_is_used_at_its_step():
    model = make()
    x_TD = torch.rand(4, D)
    ids = generate(model, x_TD[:, None], [5], 4, temperature=0, generator=seed())
    text = [5]
    for x in x_TD:
        text += generate(model, x, text, 1, temperature=0, generator=seed())[0].tolist()
    assert ids[0].tolist() == text[1:]


def test_same_seed_same_text_and_forbidden_words_never():
    model = make()
    x_BD = torch.rand(64, D)
    first, again, other = (generate(model, x_BD, [3], 20, generator=seed(s), forbid=(0, 1, 7)) for s in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert not set(first.flatten().tolist()) & {0, 1, 7}
    assert first.max() < V


@pytest.mark.parametrize("kind", [MultiplicativeLM, OpenLM, LogBilinearLM, TensorLM, UnsharedLM])
@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_text_is_the_same_without_a_compiler(kind, temperature, monkeypatch):
    model, x_BD = make(kind), torch.rand(40, D)

    def text():
        return generate(model, x_BD, [3], 20, generator=seed(1), temperature=temperature, forbid=(0, 7))

    compiled = text()
    monkeypatch.setattr(generate_module, "library", lambda words: None)
    assert torch.equal(compiled, text())


def frequencies(logits, n=60_000, **options):
    rows = logits.expand(n, -1).clone()
    words = draw(rows, seed(), **options)
    return torch.bincount(words, minlength=logits.numel()).double() / n


def test_draw_follows_the_softmax():
    logits = 2 * torch.randn(2 * BLOCK, generator=seed())
    for temperature in (1.0, 0.5, 2.0):
        p = (logits.double() / temperature).softmax(0)
        got = frequencies(logits, temperature=temperature)
        assert (got - p).abs().sum() < 0.05
    p = logits.double().softmax(0)
    chi = ((got := frequencies(logits) * 60_000) - p * 60_000).square() / (p * 60_000)
    assert chi.sum() < 2 * BLOCK + 4 * (4 * BLOCK) ** 0.5, got


def test_top_k_and_top_p_keep_exactly_the_words_they_should():
    logits = 2 * torch.randn(3 * BLOCK, generator=seed())
    p, order = logits.double().softmax(0).sort(descending=True)
    kept = frequencies(logits, top_k=5).nonzero()[:, 0]
    assert set(kept.tolist()) == set(order[:5].tolist())
    for share in (0.3, 0.8):
        nucleus = int((p.cumsum(0) < share).sum()) + 1
        got = frequencies(logits, top_p=share)
        assert set(got.nonzero()[:, 0].tolist()) == set(order[:nucleus].tolist())
        assert (got[order[:nucleus]] - p[:nucleus] / p[:nucleus].sum()).abs().sum() < 0.05
    assert frequencies(logits, top_p=1e-9).count_nonzero() == 1
    flat = frequencies(torch.zeros(3 * BLOCK), top_p=0.9)
    assert flat.count_nonzero() == -(-9 * 3 * BLOCK // 10)


def test_top_p_after_top_k_is_a_share_of_what_top_k_left():
    logits = torch.full((BLOCK,), -20.0)
    logits[:4] = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()
    assert set(frequencies(logits, top_k=2, top_p=0.6).nonzero()[:, 0].tolist()) == {0, 1}
    assert set(frequencies(logits, top_k=2, top_p=0.55).nonzero()[:, 0].tolist()) == {0}


def test_edges_of_the_unit_interval_never_reach_a_column_without_weight():
    weight = torch.zeros(3, 2 * BLOCK)
    weight[:, [3, BLOCK + 5]] = 0.7
    column, inside = invert(weight, torch.tensor([0.0, 0.5, 1 - 2**-53], dtype=torch.float64))
    assert column.tolist() == [3, 3, BLOCK + 5]
    torch.testing.assert_close(inside, torch.tensor([0.0, 1.0, 1.0], dtype=torch.float64))


@pytest.mark.parametrize(
    "options", [{"temperature": -1}, {"temperature": float("nan")}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}]
)
def test_wrong_settings_are_named(options):
    with pytest.raises(AtdError, match=f"^{next(iter(options))}="):
        generate(make(), None, [3], 2, generator=seed(), **options)
