"""Kinship of languages: planted families found again, scores and trees by hand, wrong files refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from atd.errors import AtdError
from atd.meaning import MeaningModel, Said
from datamodules.readers.world import Language
from tasks import kinship
from tasks.engine.result import Result
from tasks.kinship.scores import Truth, chance, neighbours, scores, similarity
from tasks.kinship.trees import edges_of, neighbour_joining, quartet_distance, resolved_quartets, splits, upgma
from tasks.kinship.typology import Pairs, across_families, beyond, majority, prediction
from tests.small_runs import cached

SMALL = [
    "task=kinship",
    "task.seeds=2",
    "task.subsets=2",
    "trainer.threads=1",
    "logger=none",
    "model.K=16",
]
configuration = partial(cached, SMALL)


@pytest.fixture(scope="module")
def result(cache, tmp_path_factory) -> Result:
    return kinship.run(configuration(cache), tmp_path_factory.mktemp("kinship"))


def test_planted_families_are_found_and_shuffled_ones_are_not(result):
    rows = result.rows
    assert rows["atd"]["family_accuracy"] > 90 > rows["ngrams"]["family_accuracy"] > rows["shuffled"]["family_accuracy"]
    assert rows["atd"]["gqd"] < 0.1 < 0.4 < rows["shuffled"]["gqd"]
    assert rows["atd"]["perplexity"] < rows["untrained"]["perplexity"] < rows["no-attributes"]["perplexity"]
    assert rows["no-attributes"]["perplexity"] < rows["letters"]["perplexity"]
    assert rows["shuffled"]["perplexity"] > 0.9 * rows["no-attributes"]["perplexity"]
    assert rows["random"]["family_accuracy"] < 40 and rows["chance"]["family_accuracy"] == pytest.approx(100 * 2 / 23)
    assert {"atd, not centred", "atd, noise"} < set(result.details)


def test_what_is_shown(result):
    drawn = {getattr(section, "name", "") for section in result.sections}
    assert {"learning_curves", "family_tree", "language_map"} <= drawn
    tables = {getattr(section, "title", ""): section for section in result.sections}
    near = tables["Nearest language"].rows
    assert len(near) == 24 and sum(row[1] == row[3] for row in near) > 20
    assert tables["Beside published vectors"].rows[0][0] == "planted"


def language(iso: str, *path: str) -> Language:
    return Language(iso, iso, path[0], path[1] if len(path) > 1 else iso, path)


def test_neighbours_and_chance_by_hand():
    """a b | c d | e: a→b right, b→c wrong, c→d right, d→a wrong; e has no relative and does not count."""
    similar_nn = np.zeros((5, 5))
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 0), (4, 0)):
        similar_nn[i, j] = 1
    truth = Truth([language(iso, family) for iso, family in zip("abcde", "xxyyz")], 100)
    assert neighbours(similar_nn, truth)["family_accuracy"] == 50
    assert chance(truth.families) == 25


def test_a_tree_is_found_from_its_distances():
    """((a b) (c d)) (e f): leaves differ by the edges between them, so both methods rebuild it."""
    paths = [
        ("r", "1", "3", "a"),
        ("r", "1", "3", "b"),
        ("r", "1", "4", "c"),
        ("r", "1", "4", "d"),
        ("r", "2", "e"),
        ("r", "2", "f"),
    ]
    edges_nn = edges_of(paths)
    assert edges_nn[0, 1] == 2 and edges_nn[0, 2] == 4 and edges_nn[0, 4] == 5
    quartets = resolved_quartets(edges_nn, 1000)
    truth_q = splits(edges_nn, quartets)
    assert len(quartets) == 15 and (truth_q >= 0).all()
    for method in (upgma, neighbour_joining):
        assert quartet_distance(method(edges_nn.astype(float)), quartets, truth_q) == 0
    wrong_nn = edges_nn[np.ix_([0, 2, 4, 1, 3, 5], [0, 2, 4, 1, 3, 5])]
    assert quartet_distance(upgma(wrong_nn.astype(float)), quartets, truth_q) > 0.5


def test_centred_cosines_forget_what_all_have_in_common():
    x_nD = np.random.default_rng(0).normal(size=(6, 4))
    assert similarity(x_nD + 100, centred=True) == pytest.approx(similarity(x_nD, centred=True))
    assert similarity(x_nD + 100, centred=False).min() > 0.99


def test_grammar_is_predicted_from_other_families_alone():
    """Two kinds of languages that cut across families; the vectors know the kind."""
    rng = np.random.default_rng(0)
    kind_n = np.arange(40) % 2
    family_n = np.arange(40) // 4
    feature_nP = np.repeat(kind_n[:, None], 25, 1).astype(float)
    knowing_nn = similarity(kind_n[:, None] * 2.0 - 1 + 0.1 * rng.normal(size=(40, 3)), centred=False)
    blind_nn = similarity(rng.normal(size=(40, 3)), centred=False)
    assert prediction(knowing_nn, feature_nP, family_n) == 100 > 80 > prediction(blind_nn, feature_nP, family_n)
    pairs = Pairs.of(feature_nP, family_n)
    assert not (family_n[pairs.first] == family_n[pairs.second]).any()
    assert across_families(knowing_nn, pairs) > 0.8 > 0.2 > across_families(blind_nn, pairs)
    assert beyond(knowing_nn, blind_nn, pairs) > 0.8
    noisy_nn = np.equal.outer(kind_n, kind_n) + rng.normal(size=(40, 40))
    copy_nn = noisy_nn + rng.normal(size=(40, 40))
    assert across_families(copy_nn, pairs) > 0.2 > 0.1 > abs(beyond(copy_nn, noisy_nn, pairs))
    assert majority(feature_nP, family_n) <= 100
    own_nn = np.equal.outer(family_n, family_n).astype(float)  # knows families alone, which may not vote
    assert prediction(own_nn, feature_nP, family_n) < 80


def test_vectors_do_not_depend_on_coordinates():
    """Turned and stretched, with the tensor turned back, x says the same; so do its products in the model's metric."""
    rng = np.random.default_rng(0)
    R, T_0, T, x, log_q = (
        torch.from_numpy(rng.normal(size=s)).float() for s in ((9, 4), (7, 4), (3, 7, 4), (5, 3), (5, 7))
    )
    change = torch.from_numpy(rng.normal(size=(3, 3))).float()
    log_q = log_q.log_softmax(1)
    one = MeaningModel(R, T_0, T, x, log_q)
    other = MeaningModel(R, T_0, torch.einsum("cd,dvk->cvk", torch.linalg.inv(change), T), x @ change, log_q)
    said = Said(2, torch.full((6,), 2), torch.arange(6), torch.from_numpy(rng.integers(0, 3, (6, 7))).float())
    assert one.nll([said]).item() == pytest.approx(other.nll([said]).item(), rel=1e-4)
    assert one.vectors() @ one.vectors().T == pytest.approx(other.vectors() @ other.vectors().T, rel=1e-3)


def test_the_model_is_the_formula():
    """−log P of a verse by hand: T_x = T_0 + Σ x_d T_d."""
    rng = np.random.default_rng(1)
    R, T_0, T, x, q = (rng.normal(size=s) for s in ((4, 2), (5, 2), (3, 5, 2), (2, 3), (2, 5)))
    model = MeaningModel(*(torch.from_numpy(values) for values in (R, T_0, T, x, q)))
    count = np.array([[1.0, 0, 2, 0, 1]])
    logits = (T_0 + sum(x[1, d] * T[d] for d in range(3))) @ R[3] + q[0]
    expected = -(count[0] * (logits - np.log(np.exp(logits).sum()))).sum()
    said = Said(1, torch.tensor([0]), torch.tensor([3]), torch.from_numpy(count))
    assert model.nll([said]).item() == pytest.approx(expected)


def test_scores_of_a_world_without_relatives():
    truth = Truth([language(iso, iso) for iso in "abcd"], 100)
    assert np.isnan(neighbours(np.eye(4), truth)["family_accuracy"])
    assert np.isnan(scores(np.eye(4), truth)["gqd"])


def world(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.tsv").write_text(text, encoding="utf-8")
    return folder


HEAD = "iso\tname\tfamily\tbranch_id\tpath\n"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "texts.tsv: not there"),
        ({"texts": "iso\tverse\ttext\naaa\t1\ta b\n"}, "languages.tsv: not there"),
        ({"texts": "iso\tverse\ttext\naaa\t1\n", "languages": HEAD}, "texts.tsv"),
        (
            {"texts": "iso\tverse\ttext\naaa\t1\ta b\n", "languages": HEAD + "bbb\tB\tf\tb\tf > b\n"},
            "says nothing of 'aaa'",
        ),
    ],
)
def test_wrong_files_are_named(files, said, cache, tmp_path):
    cfg = configuration(cache, "data=verses", f"data.path={world(tmp_path / 'w', **files)}")
    with pytest.raises(AtdError, match=said) as error:
        kinship.run(cfg, tmp_path)
    assert "\n" not in str(error.value)
