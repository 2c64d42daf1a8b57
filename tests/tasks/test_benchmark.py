"""The benchmark's arithmetic and its rivals; and a guard: ratios far below their targets are regressions."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir

from atd.errors import AtdError
from atd.lm import MultiplicativeLM
from atd.ragged import Ragged
from tasks.benchmark import (
    BESIDE,
    NAMES,
    beside_its_target,
    chosen,
    classifier,
    commands,
    generation,
    inference,
    lm,
    memory,
    neighbours,
    quality,
    ranking,
    rivals,
    softmax,
    synthetic,
    text,
)  # fmt: skip
from tasks.benchmark.encoders import Expression, by_spacy, by_tokenizers, written
from tasks.benchmark.growth import AXES, Growth, exponent
from tasks.benchmark.measure import Bench, alternate, faster, row, slower
from tasks.benchmark.naive import BagRanking, NaiveLM, PaddedRanking, sample_one_by_one
from tasks.benchmark.rivals import SampledLoss, chunked_loss, naive_loss
from tasks.engine.report import write_metrics
from tasks.engine.result import Result

CONF = Path(__file__).parent.parent.parent / "conf"


@pytest.fixture(scope="module")
def bench(cache) -> Bench:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("config", ["task=benchmark", f"paths.cache={cache}"])
    return Bench(cfg, 3, True, torch.device("cpu"))


def test_a_ratio_stands_beside_its_target():
    row = {"ratio": 221.8, "ratio_low": 221.1, "ratio_high": 222.2, "target": 2.0, "ok": 1.0}
    assert beside_its_target(row) == ["222", "221 to 222", "≥ 2", "yes"]
    growth = {"ratio": 1.065, "target": 1.05, "ok": 0.0, "at_most": 1.0}
    assert beside_its_target(growth) == ["1.06", "", "≤ 1.05", "no"]


def test_a_row_says_how_the_rounds_spread_and_whether_the_target_is_met():
    seconds = {"ours": np.array([1.0, 2.0, 1.0]), "rival": np.array([3.0, 6.2, 2.9])}
    found = faster(seconds, 3)
    assert found["ratio"] == pytest.approx(3.0) and found["ok"] and found["seconds"] == 1.0
    assert 2.9 <= found["ratio_low"] < found["ratio"] < found["ratio_high"] <= 3.1
    assert not faster(seconds, 3.5)["ok"] and not faster(seconds, 3, ok=False)["ok"]
    assert slower(seconds, 0.34)["ok"] and not slower(seconds, 0.3)["ok"]
    assert row([0.1], 0.2, at_most=True)["ok"]


def test_of_several_rivals_the_fastest_counts():
    seconds = {"ours": np.array([1.0, 1.0]), "plain": np.array([4.0, 4.0]), "compiled": np.array([2.0, 2.0])}
    found = faster(seconds, 3, rivals=("plain", "compiled"))
    assert found["ratio"] == 2 and not found["ok"] and found["rival_seconds"] == 2
    assert found["vs_plain"] == 4 and found["vs_compiled"] == 2


def test_rounds_alternate():
    calls: list[str] = []

    def slow(name: str) -> None:
        calls.append(name)
        torch.ones(10**7).sum().item()

    alternate({"a": lambda: slow("a"), "b": lambda: slow("b")}, 2)
    order = [name for i, name in enumerate(calls) if i == 0 or calls[i - 1] != name]
    assert order == ["a", "b", "a", "b", "a", "b"]  # warm-up, then two rounds


def test_exponents():
    assert exponent([1, 10, 100], [2.0, 20.0, 200.0]) == pytest.approx(1.0)
    assert exponent([1, 10, 100], [5.0, 5.0, 5.0]) == pytest.approx(0.0)
    assert not Growth("x", [1, 10], [1.0, 100.0], [1.0, 1.0]).row()["ok"]


def test_a_command_tells_how_long_its_models_trained(tmp_path):
    said = "atd epoch 0: val/perplexity 196.3  (30.3 s)\natd epoch 1: val/perplexity 190  (0.5 s)\nreport: /x (9.9 s)\n"
    assert sum(map(float, commands.EPOCH.findall(said))) == pytest.approx(30.8)
    table = commands.write_table(tmp_path / "t.csv", 20).read_text().splitlines()
    assert table[0] == "text,c0,c1,c2" and len(table) == 21 and table[1].count(" ") > 100


@pytest.mark.parametrize("axis", ["report_map", "report_columns", "report_effects"])
def test_parts_of_a_report_can_be_made_of_any_size(axis):
    _, prepare = AXES[axis](Bench(None, 1, True, torch.device("cpu")))
    assert prepare(400)() is not None


def test_what_to_measure():
    assert chosen(["startup", "growth"], False) >= {"startup", "growth_batch"}
    assert chosen(None, False, "HEAD") == set(NAMES) and "roofline" not in chosen(None, True)
    assert set(NAMES) - chosen(None, False) == BESIDE
    with pytest.raises(AtdError, match=r"benchmark\.revision: name the commit"):
        chosen(["tour_vs_revision"], False)
    with pytest.raises(AtdError, match="lm_fast: no such measurement"):
        chosen(["lm_fast"], False)


def test_the_naive_module_is_the_same_model():
    """Given our weights it gives our logits: the rival does the same work."""
    torch.manual_seed(0)
    ours = MultiplicativeLM(50, 6, 4, 5, 3, 7)
    with torch.no_grad():
        for p in ours.parameters():
            p.copy_(torch.randn(p.shape))
    naive = NaiveLM.like(ours)
    batch = synthetic.batch(20, 3, 50, 7, torch.device("cpu"))
    context, target, attribute = batch.context, batch.target, batch.attribute
    torch.testing.assert_close(naive(context, attribute), ours.logits(context, attribute), rtol=1e-4, atol=1e-4)
    loss = ours.nll(context, target, attribute)
    for rival in (naive_loss, chunked_loss(16)):
        torch.testing.assert_close(rival(naive, batch), loss, rtol=1e-5, atol=1e-5)
    many = torch.stack([SampledLoss(torch.full((50,), 1 / 50), 20_000)(naive, batch) for _ in range(20)])
    torch.testing.assert_close(many.mean(), loss, rtol=0.02, atol=0)


def test_padding_changes_no_sentence():
    model, bags = PaddedRanking((10, 10), 4, 3, 5), BagRanking((10, 10), 4, 3, 5)
    long, short = torch.tensor([1, 2, 3, 4]), torch.tensor([5])
    torch.testing.assert_close(model([long, short], 0)[1:], model([short], 0))
    with torch.no_grad():
        model.words[0].weight[:10] = bags.words[0].weight
    bags.load_state_dict(bags.state_dict() | {k: v for k, v in model.state_dict().items() if "words" not in k})
    sentences = Ragged(np.array([1, 2, 3, 4, 5]), np.array([0, 4, 5]))
    torch.testing.assert_close(bags(sentences, 0), model([long, short], 0))


def test_rivals_of_encoding_give_the_same_words(tmp_path):
    texts = ["The cat saw a cat.", "", "A dog, the Dog!"] * 5
    ways = (lambda n: Expression(texts, n)(), partial(by_spacy, texts), partial(by_tokenizers, texts))
    for found in (way(1) for way in ways):
        words, numbers, lengths = found
        assert [words[i] for i in numbers[:11]] == ["the", "cat", "saw", "a", "cat", ".", "a", "dog", ",", "the", "dog"]
        assert lengths[:4] == [6, 0, 6, 6]
        written(found, tmp_path)
        vocabulary = json.loads((tmp_path / "vocabulary.json").read_text())
        ids, offsets = np.load(tmp_path / "ids.npy"), np.load(tmp_path / "offsets.npy")
        assert [vocabulary["words"][i] for i in ids[offsets[3] :][:3]] == ["the", "cat", "saw"]
        assert sum(vocabulary["counts"]) == 60 and vocabulary["counts"][0] == 10
    with Expression(texts, 2) as halves:
        assert np.array_equal(halves()[1], Expression(texts, 1)()[1])


def test_sampling_one_by_one_gives_words():
    model = MultiplicativeLM(30, 4, 3, 4, 2, 2)
    words = sample_one_by_one(model, model.vectors().detach(), 3, torch.Generator().manual_seed(0))
    assert words.shape == (2, 3) and words.min() >= 0 and words.max() < 30


def test_peak_memory_sees_what_a_function_holds():
    held = memory.peak(lambda: lambda: torch.ones(25_000_000).sum(), torch.device("cpu"))
    assert 90e6 < held < 150e6


def test_metrics_hold_the_rows(tmp_path):
    rows = {"lm_exact": row([2.0, 3.0], 2.5)}
    write_metrics(Result("benchmark", "lm_exact/ratio", rows), tmp_path, 1.0)
    saved = json.loads((tmp_path / "metrics.json").read_text())["rows"]["lm_exact"]
    assert set(saved) >= {"ratio", "ratio_low", "ratio_high", "target", "ok"} and saved["ok"] is True


# The guard: quick ratios with generous slack, since other tests run beside it.


def of_three(guard):
    """A busy machine makes a ratio small now and then. A slower program makes it small every time."""

    @wraps(guard)
    def tried(*given, **named):
        for left in (2, 1, 0):
            try:
                return guard(*given, **named)
            except AssertionError:
                if not left:
                    raise
        return None

    return tried


@of_three
def test_guard_training_steps(bench, monkeypatch):
    monkeypatch.setattr(quality.Study, "after", lambda study, way, steps=None, rate=None: 1.0)
    monkeypatch.setattr(rivals, "compiled_loss", lambda: None)  # half a minute
    found = softmax.exact(bench)
    assert found["lm_exact"]["ratio"] > 0.9 and found["lm_exact_products"]["ratio"] > 0.6
    assert found["lm_exact_gemm_fraction"]["ratio"] > 0.35
    found = softmax.sampled(bench)["lm_sampled"]
    assert found["ratio"] > 1 and found["vs_naive"] > 12


def test_the_shortest_good_training_at_the_best_step_size_counts(bench, monkeypatch):
    """As if perplexity fell with the steps, and with the step size; a way that begins too late is not tried."""
    tried: list[tuple[str, int]] = []

    def after(study, way, steps=None, rate=quality.RATE):
        tried.append((way, steps))
        return (2e4 if way == "slow" else 1e4) / steps - 100 * rate

    study = quality.study_of(bench)
    monkeypatch.setattr(study, "long", 600)
    monkeypatch.setattr(quality.Study, "after", lambda study, *args: after(study, *args))
    assert study.best_rate("quick") == max(quality.RATES)
    assert study.steps_until("quick", 35.0) == 300 and study.steps_until("quick", 35.0, most=299) is None
    assert study.steps_until("quick", 1.0) is None
    tried.clear()
    steps = softmax.fastest_trainings(study, 35.0, {"slow": 2.0, "quick": 1.0, "slower": 5.0})
    assert steps == {"quick": 300}
    assert not any(way == "slower" for way, _ in tried)


def test_a_guard_fails_only_when_it_fails_three_times():
    tries: list[float] = []

    @of_three
    def guard(ratios):
        tries.append(ratios[len(tries)])
        assert tries[-1] > 0.9

    guard([0.8, 0.8, 1.0])
    tries.clear()
    with pytest.raises(AssertionError):
        guard([0.8, 0.8, 0.8, 1.0])


@of_three
def test_guard_attributes_and_memory(bench):
    assert lm.attributes(bench)["attributes_1m"]["ratio"] < 1.6
    assert memory.exact_v100k(bench)["memory_v100k"]["ratio"] < 0.35


@of_three
def test_guard_ranking(bench):
    assert ranking.against_embedding_bag(bench)["ranking_vs_embedding_bag"]["ratio"] > 1.5
    assert ranking.against_padding(bench)["ranking_vs_padded"]["ratio"] > 2.5


@of_three
def test_guard_neighbours(bench):
    found = neighbours.ranked(bench)
    assert found["neighbours"]["ratio"] > 1 and found["neighbours_1000"]["ratio"] > 1


@of_three
def test_guard_classifier(bench):
    for name, found in classifier.against_sklearn(bench).items():
        assert found["ratio"] > 1.5, name
        assert found["accuracy"] > 40, name  # of 100 authors, in a few steps: the settings are for a thousand


@of_three
def test_guard_generation(bench):
    found = generation.batched(bench)
    assert found["generate_batched"]["ratio"] > 0.9 and found["generate_one_by_one"]["ratio"] > 10


def test_rivals_draw_from_the_softmax():
    p = torch.rand(4 * generation.BLOCK, generator=torch.Generator().manual_seed(0)).pow(3)
    weight = (p / p.sum()).expand(20_000, -1).contiguous()
    for way in (generation.by_blocks, generation.by_cumulative_sum, generation.by_multinomial):
        words = way(weight, torch.empty_like(weight), torch.Generator().manual_seed(1))
        found = torch.bincount(words, minlength=len(p)) / len(words)
        assert (found - weight[0]).abs().sum() < 0.15, way.__name__


@of_three
def test_guard_encoding(bench, monkeypatch):
    monkeypatch.setattr(text, "by_spacy", text.by_tokenizers)  # is slow
    found = text.against_others(bench, "books", text.books(bench)[:1000], 1)
    assert found["vs_expression"] > 0.9 and found["vs_tokenizers"] > 2


@of_three
def test_guard_inference(bench):
    once = replace(bench, rounds=1)  # the ratio is five times what is asked for
    beside_gensim = inference.against_gensim(once)["infer_vs_gensim"]
    assert beside_gensim["ratio"] > 1
    for name in ("auc", "rival_auc", "dbow_auc", "average_auc"):  # they differ by less than a test may rely on
        assert 0.7 < beside_gensim[name] < 0.97, name
    for beside_dbow in inference.quality(bench).values():
        assert beside_dbow["ratio"] > 2 and beside_dbow["auc"] > beside_dbow["rival_auc"] - 0.02
    found = inference.against_sgd(bench)["infer_vs_sgd"]
    assert found["ratio"] > 4 and found["sgd_gap"] <= inference.GAP
