"""Training without the platform: the weights are the platform's, to the bit."""

from __future__ import annotations

from dataclasses import asdict

import pytest
import torch
from small_runs import composed

from atd.errors import AtdError
from atd.training import Best, Progress, Training, epochs_of, mean_nll, start, suitable_batch, train
from tasks.learning.corpora import open_corpus
from tasks.learning.language_model import language_model
from tasks.learning.training import fit

SMALL = ["model.K=12", "model.F=16", "model.D=4", "data.batch_size=256", "optim.samples=20", "trainer.threads=1"]
CASES = {
    "default": ([], {}),
    "fp32": (["trainer.precision=32-true"], {"precision": "fp32"}),
    "bf16": (["trainer.precision=bf16-mixed", "trainer.max_epochs=1"], {"precision": "bf16", "epochs": 1}),
    "min_steps": (
        ["trainer.min_steps=30", "trainer.patience=9", "seed=3"],
        {"min_steps": 30, "patience": 9, "seed": 3},
    ),
    "stops early": (
        ["optim.lr=0.3", "optim.lr_decay=0.9", "trainer.max_epochs=9", "trainer.patience=1"],
        {"lr": 0.3, "lr_decay": 0.9, "epochs": 9, "patience": 1},
    ),
    "exact": (
        ["optim.samples=0", "optim.lr_attributes=0.5", "optim.lr_shift=2.0", "optim.decay=0.3"],
        {"samples": 0, "lr_attributes": 0.5, "lr_shift": 2.0, "decay": 0.3},
    ),
}


def test_a_training_that_diverges_stops_and_leaves_nothing(run):
    cfg, data, out = run(["optim.lr=1e6", "trainer.min_steps=0"])
    module = language_model(dict(cfg.model), data, cfg, cfg.seed)
    with pytest.raises(AtdError, match=r"atd: .* is (nan|inf) at step \d+ \(epoch 0.*smaller optim\.lr"):
        fit(module, data, cfg, out, "atd")
    assert not list(out.rglob("*.ckpt"))
    texts, validation = data.encoded["train"], data.encoded["val"]
    model = start(dict(cfg.model), [data.vocabulary], texts.design, cfg.seed)
    with pytest.raises(AtdError, match=r"the loss is (nan|inf) at step \d+.*smaller step size"):
        train(model, texts, validation, Training(lr=1e6, batch_size=256, samples=20))
    with pytest.raises(AtdError, match="lr=inf: must be a number above 0"):
        Training(lr=float("inf"))


def equal(a: torch.nn.Module, b: torch.nn.Module) -> bool:
    ours, theirs = a.state_dict(), b.state_dict()
    return ours.keys() == theirs.keys() and all(ours[name].equal(theirs[name]) for name in ours)


@pytest.fixture(scope="module")
def run(places, tmp_path_factory):
    """A configuration of a small table, and its corpus."""

    def open_with(words: list[str]):
        folder = tmp_path_factory.mktemp("run")
        cfg = composed(*places, f"paths.cache={folder}", "trainer.max_epochs=3", "logger=none", *SMALL, *words)
        return cfg, open_corpus(cfg), folder

    return open_with


@pytest.mark.parametrize("case", CASES)
def test_the_weights_are_those_of_the_platform(case, run):
    words, settings = CASES[case]
    cfg, data, out = run(["trainer.min_steps=0", *words])
    module = language_model(dict(cfg.model), data, cfg, cfg.seed)
    curve = fit(module, data, cfg, out, "atd")
    texts, validation = data.encoded["train"], data.encoded["val"]
    plain = Training(**({"epochs": 3, "batch_size": 256, "samples": 20, "threads": 1} | settings))
    model = start(dict(cfg.model), data.vocabularies, texts.design, plain.seed)
    found = train(model, texts, validation, plain)
    assert equal(model, module.model)
    assert [epoch["perplexity"] for epoch in found] == pytest.approx([e["val/perplexity"] for e in curve], rel=1e-12)
    if case == "min_steps":
        assert len(found) > 3
    if case == "stops early":
        assert len(found) < 9


def test_the_defaults_are_those_of_the_platform():
    cfg = composed("data=table", "data.path=x", "data.attributes=[a]")
    optim, plain = dict(cfg.optim), asdict(Training())
    assert {name: plain[name] for name in optim if name != "name"} == {k: v for k, v in optim.items() if k != "name"}
    assert (Training().batch_size, Training().epochs) == (cfg.data.batch_size, cfg.trainer.max_epochs)
    assert Training().precision == cfg.trainer.precision
    assert Training().patience == cfg.trainer.patience


def test_batches_grow_with_the_text():
    assert [suitable_batch(words) for words in (10, 1_249_999, 1_250_000, 2_499_999, 2_500_000, 10**9)] == [
        *(1024, 1024),
        *(2048, 2048),
        *(4096, 4096),
    ]


def test_training_tells_how_far_it_is_and_leaves_the_generator_alone(run):
    cfg, data, _ = run([])
    texts, told = data.encoded["train"], []
    model = start(dict(cfg.model), data.vocabularies, texts.design, 0)
    torch.manual_seed(5)
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    settings = Training(epochs=2, batch_size=64, samples=20, lr=0.02, threads=1)
    curve = train(model, texts, data.encoded["val"], settings, told.append)
    assert torch.random.get_rng_state().equal(before) and torch.get_num_threads() == threads
    assert isinstance(told[0], Progress) and told[0].step == 20 and told[-1].step == told[-1].steps
    assert [at.perplexity for at in told if at.perplexity is not None] == [epoch["perplexity"] for epoch in curve]
    assert not model.training and mean_nll(model, texts) < 3


def test_without_validation_text_the_last_weights_are_kept(run):
    cfg, data, _ = run([])
    texts = data.encoded["train"]
    model = start(dict(cfg.model), data.vocabularies, texts.design, 0)
    curve = train(model, texts, None, Training(epochs=2, samples=20))
    assert len(curve) == 2 and "perplexity" not in curve[-1]


def test_the_best_epoch_is_kept_until_patience_ends():
    model = torch.nn.Linear(1, 1)
    best = Best(patience=2)
    goes_on = []
    for value, perplexity in enumerate([5.0, 4.0, 4.0, 4.5]):
        torch.nn.init.constant_(model.weight, value)
        goes_on.append(best.goes_on(perplexity, model))
    assert goes_on == [True, True, True, False] and best.weights["weight"].item() == 1
    assert not Best(patience=2).goes_on(float("nan"), model)


def test_a_small_corpus_has_more_epochs():
    assert [epochs_of(5, 0, 3), epochs_of(5, 2000, 3), epochs_of(5, 2000, 1000)] == [5, 667, 5]


@pytest.mark.parametrize(
    "wrong", [{"lr": 0}, {"epochs": 0}, {"precision": "fp8"}, {"lr_decay": "cosine"}, {"seed": -1}]
)
def test_what_cannot_be_is_said_in_one_line(wrong):
    (name,) = wrong
    with pytest.raises(AtdError, match=rf"^{name}=.*: must be "):
        Training(**wrong)
