"""The cross-lingual task on a small parliament: translations found, topics carried over, words side by side."""

from __future__ import annotations

import json
import shutil
from functools import partial

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from atd.errors import AtdError
from atd.ragged import Ragged
from atd.vocabulary import Vocabulary
from datamodules.pairs import Pairs
from tasks import crosslingual
from tasks.crosslingual.report import explain
from tasks.crosslingual.rows import RankingRow, changed, rows_of
from tasks.crosslingual.topics import interval
from tasks.crosslingual.words import GROUPS, collocations, word_pairs
from tasks.engine.check import check
from tasks.engine.result import Result
from tasks.learning.ranking import Ranking, load_ranking
from tests.program import run_py
from tests.small_runs import cached

SMALL = ["task=crosslingual", "data=europarl_rcv_sample", "trainer.max_epochs=4"]
SMALL += ["trainer.threads=1", "logger=none", "task.sizes=[50]", "model.F=32", "model.K=24", "task.seeds=1"]
CONTROLS = ["lexicon", "lexicon-low", "lsi", "spelling", "ceiling", "majority"]
configuration = partial(cached, SMALL)


@pytest.fixture(scope="module")
def done(cache, tmp_path_factory):
    """The task with two rows, and the result it hands back."""
    out = tmp_path_factory.mktemp("crosslingual")
    cfg = configuration(cache, "task.rows=[atd+,separate]")
    return cfg, out, crosslingual.run(cfg, out)


def test_a_run_has_the_rows_and_metrics_that_machines_compare(done):
    rows = done[2].rows
    assert list(rows) == ["atd+", "separate", *CONTROLS]
    for name in ("sib200", "retrieval", "heldout", "retrieval_only_de", "rcv"):
        for metric in (f"{name}_en_de", f"{name}_de_en") if name != "retrieval_only_de" else (f"{name}_de_en",):
            assert 0 <= rows["atd+"][metric] <= 100, metric
    assert not done[2].paper  # its numbers are no measure of a sample: they stand nowhere in its report
    assert not any(section.title == "The paper, on Reuters" for section in done[2].sections)
    other = Result("crosslingual", "atd/heldout_en_de", {})
    explain(other, None, sample=False)
    apart = next(s for s in other.sections if s.title == "The paper, on Reuters")
    assert ["atd", 80.8, 71.8] in [list(row) for row in apart.rows]


def test_the_model_translates_and_carries_topics_over(done):
    """Far above chance: 1 in 120 sentences, 1 of 7 topics, 1 of hundreds of words."""
    atd, majority = done[2].rows["atd+"], done[2].rows["majority"]
    assert atd["heldout_en_de"] > 60 and atd["heldout_de_en"] > 60
    assert atd["sib200_en_de"] > majority["sib200_en_de"] + 10
    assert atd["words_p1"] > 25 and atd["words_p5"] > atd["words_p1"]


def test_claims_stand_beside_controls_and_first(done):
    """Here a lexicon finds all that was planted, and the report says so."""
    text, table = done[2].sections[:2]
    assert text.title == "Claims beside their controls" and table.title == "Each row and its strongest control"
    topics = next(line for line in text.paragraphs if line.startswith("In topics of SIB-200:"))
    assert "atd+ below lexicon (" in topics and "separate below lexicon-low (" in topics
    shown = done[2].score_table()
    assert shown.header[1:4] == ["sib200", "rcv", "heldout"]
    assert [row[0] for row in shown.rows] == ["atd+", "separate", *CONTROLS] and shown.rows[0][3].count("/") == 1


def test_the_report_shows_what_the_paper_shows(done):
    titles = [section.title for section in done[2].sections]
    for wanted in ("Topics across languages", "Nearest words across languages", "Nearest collocations", "Languages"):
        assert wanted in titles, titles
    table = next(s for s in done[2].sections if getattr(s, "title", "") == "Topics across languages")
    for row, weightings in (("atd+", ("sum", "idf")), ("lexicon", ("tfidf",))):
        kinds = {tuple(line[3:5]) for line in table.rows if line[0] == row}
        assert kinds == {(w, c) for w in weightings for c in ("perceptron", "logistic")}


def test_training_stops_and_resumes_to_the_same_weights(cache, tmp_path):
    """A fit that was cut after two epochs and continued ends where an uninterrupted one does."""
    cfg = configuration(cache, "data.dropout=0.1", "trainer.checkpoint_every=5")
    whole, _ = RankingRow("atd", cfg, tmp_path / "whole").train(0)
    with pytest.MonkeyPatch.context() as patch:
        original = Ranking.training_step

        def step(self, batch, i):
            if self.global_step == 13:
                raise KeyError("cut")
            return original(self, batch, i)

        patch.setattr(Ranking, "training_step", step)
        with pytest.raises(KeyError):
            RankingRow("atd", cfg, tmp_path / "cut").train(0)
    cfg.resume = str(tmp_path / "cut")
    module, curve = RankingRow("atd", cfg, tmp_path / "cut").train(0)
    assert len(curve) == 4
    for name, theta in whole.state_dict().items():
        torch.testing.assert_close(theta, module.state_dict()[name], msg=name)


def test_a_checkpoint_holds_plain_values_only(done):
    path = next((done[1] / "checkpoints").glob("*/best.ckpt"))
    saved = torch.load(path, weights_only=True)["atd"]
    assert saved["model"]["name"] == "ranking" and saved["attributes"] == ["en", "de", "fr"]
    assert "parliament" in Vocabulary.from_state(saved["vocabularies"][0])


@pytest.mark.parametrize("sharing", ["shared", "separate"])
def test_a_model_comes_back_from_its_checkpoint(cache, tmp_path, sharing):
    """With n-grams, which are not in the file but spelt anew from the words that are."""
    settings = ["model.ngrams=[4,5]", "model.buckets=5000", f"model.sharing={sharing}", "trainer.max_epochs=1"]
    row = RankingRow("atd", configuration(cache, *settings), tmp_path)
    module, _ = row.train(0)
    ours = row.model(0)
    assert not ours.training and ours.languages == ["en", "de"]
    for language, lines in ((0, row.data.source("en-de", "test")), (1, row.data.target("en-de", "test")[0][2])):
        assert torch.equal(ours.sentences(lines, language), module.model.eval().sentences(lines, language))
    other = tmp_path / "other.ckpt"
    torch.save({"atd": {"model": {"name": "atd"}}}, other)
    for path, what in ((other, "not a checkpoint of a ranking model"), (tmp_path / "nowhere.ckpt", "cannot be read")):
        with pytest.raises(AtdError, match=f"{path}: {what}"):
            load_ranking(path)


def test_a_resumed_run_keeps_the_rows_that_are_finished(done, tmp_path):
    """One row is there and is not trained again, another is missing and is; the report is whole."""
    cfg, out, result = done
    again = tmp_path / "again"
    shutil.copytree(out, again, ignore=shutil.ignore_patterns("separate*"))
    resumed = OmegaConf.create(OmegaConf.to_container(cfg, resolve=True))  # as config.yaml of the run has it
    resumed.resume = str(again)
    trained = []
    with pytest.MonkeyPatch.context() as patch:
        original = RankingRow.train

        def train(self, seed):
            trained.append((self.name, seed))
            return original(self, seed)

        patch.setattr(RankingRow, "train", train)
        second = crosslingual.run(resumed, again)
    assert trained == [("separate", 0)]  # and controls are not counted again, for they are there
    assert second.rows == result.rows
    assert [tables.rows for tables in second.sections if hasattr(tables, "header")] == [
        tables.rows for tables in result.sections if hasattr(tables, "header")
    ]


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


def test_wrong_settings_are_named(cache, tmp_path):
    with pytest.raises(AtdError, match=r"task.objective.loss=square: must be one of hinge, hardest, softmax"):
        check(configuration(cache, "task.objective.loss=square"))
    with pytest.raises(AtdError, match=r"task.limit=.*must be a mapping, each value a whole number, 1 or more"):
        check(configuration(cache, "task.limit.en-de=0"))
    cfg = configuration(cache, "task.limit.en-de=1000")
    assert cfg.data.limit["en-de"] == 1000
    cfg.task.rows = ["best"]
    with pytest.raises(AtdError, match=r"task.rows=best: no such row; task.changes has atd, atd\+"):
        rows_of(cfg, tmp_path)
    cfg.task.rows = ["lexicon"]
    with pytest.raises(AtdError, match=r"task.rows=lexicon: its method is lexicon; name it in task.controls"):
        rows_of(cfg, tmp_path)
    cfg.task.rows, cfg.task.controls = ["atd"], ["atd+"]
    with pytest.raises(AtdError, match=r"task.controls=atd\+: its method is ranking; name it in task.rows"):
        rows_of(cfg, tmp_path)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"model": {"shar": "y"}}, r"task.changes.atd: model.shar: no such key \(did you mean sharing\?\); model has"),
        ({"model": {"K": 0}}, r"task.changes.atd: model.K=0: must be a whole number, 1 or more"),
        ({"data": {"dropout": 1}}, r"task.changes.atd: data.dropout=1: must be a number 0 or more, at most 0.99"),
        ({"task": {"pairs": {"en": "de"}}}, r"task.changes.atd: Cannot merge DictConfig with ListConfig"),
        ({"modle": {"K": 8}}, r"task.changes.atd.modle: no such key \(did you mean model\?\)"),
        ({"model": 8}, r"task.changes.atd.model=8: must be a mapping"),
    ],
)
def test_a_wrong_change_is_named_with_its_row(tmp_path, change, line):
    cfg = configuration(tmp_path)
    cfg.task.changes.atd = change
    with pytest.raises(AtdError, match=line) as error:
        changed(cfg, "atd")
    assert "\n" not in str(error.value)


def test_a_sample_starts_without_glove_but_with_a_file_that_is_named(tmp_path):
    for vectors, expected in (("glove", None), ("some.txt", "some.txt")):
        row = changed(configuration(tmp_path, f"task.vectors={vectors}"), "atd-best")
        assert row.model.vectors == row.data.vectors == expected


def test_glove_is_found_in_the_data_folder(tmp_path):
    path = tmp_path / "vectors" / "glove.6B.100d.subset.txt.gz"
    path.parent.mkdir()
    path.touch()
    row = changed(configuration(tmp_path, "data=europarl_rcv", f"paths.data={tmp_path}"), "polyglot-256")
    assert row.model.vectors == row.data.vectors == str(path)


def test_drawn_and_turned_contrastive_sentences_train_alike(cache, tmp_path):
    rows = {}
    for draw in ("true", "false"):
        cfg = configuration(cache, f"task.draw={draw}", "trainer.max_epochs=3")
        row = RankingRow("atd", cfg, tmp_path / draw)
        assert row.data.draws == (5 if draw == "true" else 0)
        rows[draw] = row.train(0)[1][-1]["val/retrieval"]
    assert min(rows.values()) > 50 and abs(rows["true"] - rows["false"]) < 25, rows


def test_the_command_line(cache, tmp_path):
    places = [f"paths.cache={cache}", f"hydra.run.dir={tmp_path}/run"]
    done = run_py(*SMALL, *places, "task.rows=[atd]", "task.controls=[lexicon,majority]", "trainer.max_epochs=1")
    assert done.returncode == 0, done.stderr[-2000:]
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["task"] == "crosslingual" and metrics["primary_metric"] == "atd/heldout_en_de"
    assert (tmp_path / "run" / "report.html").exists()


def pairs_of(n: int) -> Pairs:
    side = Ragged(np.arange(n), np.arange(n + 1))
    return Pairs((0, 1), side, side)


def test_pairs_can_be_taken():
    assert pairs_of(5).take(np.array([3, 1])).source.tokens.tolist() == [3, 1]
