"""The cross-lingual task on a small parliament: translations found, topics carried over, words side by side."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir

from atd.errors import AtdError
from atd.vocabulary import Vocabulary
from atd.ragged import Ragged
from datamodules.pairs import Pairs
from datamodules.sample import translations
from tasks import crosslingual
from tasks.crosslingual.topics import interval
from tasks.crosslingual.words import GROUPS, collocations, induced_dictionary, translation_precision, word_pairs
from tasks.learning.ranking import Objective

ROOT = Path(__file__).parent.parent.parent
SMALL = ["task=crosslingual", "data=europarl_rcv_sample", "trainer.max_epochs=4"]
SMALL += ["trainer.threads=1", "logger=none", "task.sizes=[50]", "model.F=32", "model.K=24"]


def configuration(cache: Path, *overrides: str):
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("config", [*SMALL, f"paths.cache={cache}", *overrides])


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The task with two rows, and the result it hands back."""
    out = tmp_path_factory.mktemp("crosslingual")
    cfg = configuration(out / "cache", "task.rows=[atd+,separate]")
    return cfg, out, crosslingual.run(cfg, out)


def test_a_run_has_the_rows_and_metrics_that_machines_compare(done):
    rows = done[2].rows
    assert set(rows) == {"atd+", "separate", "majority"}
    for name in ("sib200", "retrieval", "heldout", "retrieval_only_de", "rcv"):
        for metric in (f"{name}_en_de", f"{name}_de_en") if name != "retrieval_only_de" else (f"{name}_de_en",):
            assert 0 <= rows["atd+"][metric] <= 100, metric
    assert done[2].paper["atd"] == {"rcv_en_de": 80.8, "rcv_de_en": 71.8}


def test_the_model_translates_and_carries_topics_over(done):
    """Far above chance: 1 in 120 sentences, 1 of 7 topics, 1 of hundreds of words."""
    atd, majority = done[2].rows["atd+"], done[2].rows["majority"]
    assert atd["heldout_en_de"] > 60 and atd["heldout_de_en"] > 60
    assert atd["sib200_en_de"] > majority["sib200_en_de"] + 10
    assert atd["words_p1"] > 25 and atd["words_p5"] > atd["words_p1"]


def test_the_report_shows_what_the_paper_shows(done):
    titles = [getattr(s, "title", None) or s.name for s in done[2].sections]
    for wanted in ("Topics across languages", "Nearest words across languages", "Nearest collocations", "languages"):
        assert wanted in titles, titles
    table = next(s for s in done[2].sections if getattr(s, "title", "") == "Topics across languages")
    kinds = {tuple(row[3:5]) for row in table.rows}
    assert kinds == {(w, c) for w in ("sum", "idf") for c in ("perceptron", "logistic")}


def test_training_stops_and_resumes_to_the_same_weights(tmp_path):
    """A fit that was cut after two epochs and continued ends where an uninterrupted one does."""
    cfg = configuration(tmp_path / "cache", "data.dropout=0.1", "trainer.checkpoint_every=5")
    data = crosslingual.open_row(cfg)
    whole, _ = crosslingual.train(cfg, data, tmp_path / "whole", "atd", 0)
    cut = crosslingual.open_row(cfg)
    module = None
    with pytest.MonkeyPatch.context() as patch:
        original = crosslingual.Ranking.training_step

        def step(self, batch, i):
            if self.global_step == 13:
                raise KeyError("cut")
            return original(self, batch, i)

        patch.setattr(crosslingual.Ranking, "training_step", step)
        with pytest.raises(KeyError):
            crosslingual.train(cfg, cut, tmp_path / "cut", "atd", 0)
    cfg.resume = str(tmp_path / "cut")
    module, curve = crosslingual.train(cfg, crosslingual.open_row(cfg), tmp_path / "cut", "atd", 0)
    assert len(curve) == 4
    for name, theta in whole.state_dict().items():
        torch.testing.assert_close(theta, module.state_dict()[name], msg=name)


def test_a_checkpoint_holds_plain_values_only(done):
    path = next((done[1] / "checkpoints").glob("*/best.ckpt"))
    saved = torch.load(path, weights_only=True)["atd"]
    assert saved["model"]["name"] == "ranking" and saved["attributes"] == ["en", "de", "fr"]
    assert "parliament" in Vocabulary.from_state(saved["vocabularies"][0])


def test_the_planted_dictionary_is_induced(done):
    data = crosslingual.open_row(done[0])
    found = induced_dictionary(data.training()[0], *data.vocabularies[:2])
    planted = translations()["de"]
    pairs = [(data.vocabularies[0].words[a], data.vocabularies[1].words[b]) for a, b in found]
    known = [(a, b) for a, b in pairs if a in planted]
    stems = [a for a, b in known if planted[a].lower()[:4] == b[:4]]
    assert len(known) > 60 and len(stems) > 0.8 * len(known)


def test_translation_precision_counts_any_right_answer():
    a, b = torch.eye(8)[3:6], torch.eye(8)
    words = torch.cat([torch.zeros(3, 8), a])  # words 3, 4, 5 lie where targets 3, 4, 5 are
    assert translation_precision(words, b, [(3, 3), (4, 4), (5, 7)]) == pytest.approx((200 / 3, 200 / 3), abs=34)
    assert translation_precision(words, b, [(3, 3), (4, 6), (4, 4)])[0] == 100


def test_collocations_stay_within_sentences():
    tokens = np.array([5, 6, 7, 5, 6, 5, 6, 8, 0, 5])
    runs = collocations(Ragged(tokens, np.array([0, 3, 5, 8, 10])))
    assert sorted(map(tuple, runs)) == [(5,), (5, 6), (6,)]


def test_bootstrap_interval():
    low, high = interval(np.array([True] * 80 + [False] * 20), 0)
    assert 68 < low < 76 < 84 < high < 90


def test_word_groups_are_pairs():
    assert len(GROUPS) == 4 and all(len(word_pairs(group)) >= 12 for group in GROUPS)
    assert ("march", "märz") in word_pairs("months")


def test_wrong_settings_are_named(tmp_path):
    with pytest.raises(AtdError, match=r"task.objective.loss=square: must be one of hinge, hardest, softmax"):
        Objective("square")
    cfg = configuration(tmp_path, "task.limit.en-de=1000")
    assert cfg.data.limit["en-de"] == 1000
    cfg.task.variants.atd = {"model": {"shar": "y"}}
    with pytest.raises(AtdError, match=r"task.variants.atd: .*shar"):
        crosslingual.rows_of(cfg)
    cfg.task.rows = ["best"]
    with pytest.raises(AtdError, match=r"task.rows=best: no such row; task.variants has atd, atd\+"):
        crosslingual.rows_of(cfg)


def test_drawn_and_turned_contrastive_sentences_train_alike(tmp_path):
    rows = {}
    for draw in ("true", "false"):
        cfg = configuration(tmp_path / "cache", f"task.draw={draw}", "trainer.max_epochs=3")
        _, curve = crosslingual.train(cfg, crosslingual.open_row(cfg), tmp_path / draw, "atd", 0)
        rows[draw] = curve[-1]["val/retrieval"]
    assert min(rows.values()) > 50 and abs(rows["true"] - rows["false"]) < 25, rows


def test_the_command_line(tmp_path):
    command = [sys.executable, "run.py", *SMALL, f"paths.cache={tmp_path}/c", f"hydra.run.dir={tmp_path}/run"]
    command += ["task.rows=[atd]", "trainer.max_epochs=1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["task"] == "crosslingual" and metrics["primary_metric"] == "atd/heldout_en_de"
    assert (tmp_path / "run" / "report.html").exists()


def pairs_of(n: int) -> Pairs:
    side = Ragged(np.arange(n), np.arange(n + 1))
    return Pairs((0, 1), side, side)


def test_pairs_can_be_taken():
    assert pairs_of(5).take(np.array([3, 1])).source.tokens.tolist() == [3, 1]
