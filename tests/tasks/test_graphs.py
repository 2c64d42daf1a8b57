"""Vectors of graphs: planted shapes found again, chance where classes mean nothing, one vector for a graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from atd.errors import AtdError
from atd.vocabulary import UNK
from datamodules.graphs import Graphs, drawn_folds, labels_of
from datamodules.readers.graphs import Graph
from tasks import graphs
from tasks.graphs.classifier import accuracies, damped, gaussian_kernel, linear_kernel, majority
from tasks.graphs.report import scores, verdict
from tasks.graphs.vectors import difference, histogram, inferred, learned
from tasks.learning.corpora import open_corpus

ROOT = Path(__file__).parent.parent.parent
SMALL = ["task=graphs", "task.depths=[1,2]", "task.graph2vec.epochs=20", "trainer.min_steps=60", "trainer.threads=1"]
SMALL += ["model.K=16", "model.F=16", "model.D=8", "logger=none", "task.C=[10]", "task.method=pca"]


def configuration(cache: Path, *overrides: str):
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("config", [*SMALL, f"paths.cache={cache}", *overrides])


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def test_planted_shapes_are_told_apart_and_shuffled_ones_are_not(cache, tmp_path):
    result = graphs.run(configuration(cache), tmp_path)
    found = {row: values["accuracy"] for row, values in result.rows.items()}
    assert min(found["atd"], found["graph2vec"], found["wl-histogram"], found["wl-kernel"]) > 80
    assert found["majority"] == pytest.approx(100 / 3)
    assert abs(found["shuffled"] - 100 / 3) < 15
    assert result.rows["atd"]["moved"] < 1e-6
    assert result.verdict.startswith("Inferred vectors are ")
    assert "map_SHAPES" in {getattr(section, "name", "") for section in result.sections}


def test_an_unseen_graph_has_one_vector_whatever_order_and_seed(cache, tmp_path):
    """Under a model that was learned from other graphs, beside graphs that do not matter."""
    cfg = configuration(cache)
    data = open_corpus(cfg)
    assert isinstance(data, Graphs)
    held = data.folds[0]
    part = data.part(np.setdiff1d(np.arange(len(data.labels)), held))
    model = learned(part, cfg, tmp_path, "part", seed=0)
    unseen = part.encoded["all"].take(held)
    x_nD = inferred(model, unseen, cfg)
    assert difference(model, unseen, x_nD, cfg) < 1e-6
    among_all_nD = inferred(model, part.encoded["all"], cfg, seed=5)
    assert np.abs(among_all_nD[held] - x_nD).max() < 1e-6
    assert np.abs(x_nD).max() > 1e-3


def test_weights_that_see_some_graphs_only_know_the_labels_of_these_only(cache):
    data = open_corpus(configuration(cache))
    assert isinstance(data, Graphs)
    part = data.part(np.arange(3))
    known = set(part.encoded["train"].tokens) | {0}
    assert set(part.encoded["all"].tokens) <= known < set(data.encoded["train"].tokens)
    assert part.attributes == ["0", "1", "2"] and len(part.encoded["all"]) == len(data.labels)


def test_labels_are_those_of_weisfeiler_and_lehman():
    """A path a–b–a: its ends are alike at any depth, and numbering its nodes otherwise changes nothing."""
    path = Graph([1, 2, 1], [[1], [0, 2], [1]], 0)
    again = Graph([2, 1, 1], [[1, 2], [0], [0]], 0)
    (words,), (others,) = labels_of([path], 2), labels_of([again], 2)
    first, middle, last = words[:4], words[4:8], words[8:]
    assert first == last != middle and sorted(words) == sorted(others)
    assert [word.split(":")[0] for word in first] == [UNK, "0", "1", "2"]
    assert first[1] == "0:1" and middle[1] == "0:2"


def test_without_tags_the_first_label_is_the_number_of_neighbours():
    (words,) = labels_of([Graph([0, 0, 0], [[1], [0, 2], [1]], 0)], 0)
    assert words == [UNK, "0:1", UNK, "0:2", UNK, "0:1"]


def test_folds_are_drawn_with_equal_shares_of_classes():
    label_n = np.repeat([0, 1], [20, 40])
    folds = drawn_folds(label_n)
    assert sorted(np.concatenate(folds)) == list(range(60))
    assert all(np.bincount(label_n[fold]).tolist() == [2, 4] for fold in folds)


def test_a_class_of_too_few_graphs_is_refused(cache, tmp_path):
    (tmp_path / "ONE.txt").write_text("2\n1 0\n5 0\n1 1\n5 0\n")
    with pytest.raises(AtdError, match="class 0 has 1 graphs; a class needs at least 6"):
        open_corpus(configuration(cache, "data=graphs", f"data.path={tmp_path}", "data.dataset=ONE"))


def test_shuffled_classes_need_vectors(cache, tmp_path):
    with pytest.raises(AtdError, match="shuffled judges the vectors of atd"):
        graphs.run(configuration(cache, "task.rows=[shuffled]"), tmp_path)


def test_kernels_and_folds_by_hand():
    x_nD = np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 0.0]])
    assert linear_kernel(x_nD).tolist() == [[1, 2, 0], [2, 4, 0], [0, 0, 9]]
    far = np.array([[0, 1, 10], [1, 0, 13], [10, 13, 0]])
    assert np.allclose(gaussian_kernel(x_nD), np.exp(-far / far.mean()))
    assert np.allclose(damped(np.array([[0.0, 4.0], [0.0, 0.0]])), [[0, 2], [0, 0]])
    label_n = np.repeat([0, 1], 12)
    told_nn = gaussian_kernel(label_n[:, None] + 0.0)
    folds = [np.array([0, 12]), np.array([1, 13])]
    assert accuracies({3: np.ones((24, 24)), 2: told_nn}, label_n, folds, [1.0]) == ([100, 100], [2, 2])
    assert majority(np.array([0, 0, 0, 1]), np.array([0, 3])) == 50


def test_counts_of_labels(cache):
    data = open_corpus(configuration(cache, "data.depth=0"))
    counts = histogram(data.encoded["train"]).toarray()
    first = data.encoded["train"][0]
    occurring = np.bincount(first[first != 0], minlength=len(data.vocabulary))[1:]
    assert np.allclose(counts[0], occurring / np.linalg.norm(occurring))


def test_scores_and_verdict_over_sets():
    from tasks.engine.rows import Outcome

    one, two = (
        Outcome({"moved": m}, {"accuracy": np.array(a)}) for m, a in ((1e-9, [50.0, 70.0]), (1e-8, [90.0, 90.0]))
    )
    found = scores({"X": one, "Y": two})
    assert (
        found["accuracy"] == 75 and found["accuracy_X"] == 60 and found["accuracy_Y_sd"] == 0 and found["moved"] == 1e-8
    )
    rows = {"atd": found, "graph2vec": found | {"accuracy_X": 59.0}, "wl-histogram": found | {"accuracy_Y": 91.0}}
    assert verdict(rows, ["X", "Y"]) == (
        "Inferred vectors are above graph2vec on 1 of 2 sets of graphs; "
        "counts of the labels themselves are above both on Y."
    )
