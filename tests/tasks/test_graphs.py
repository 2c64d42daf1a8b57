"""Vectors of graphs: planted shapes found again, chance where classes mean nothing, one vector for a graph."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

from atd.errors import AtdError
from atd.vocabulary import UNK
from datamodules.graphs import Graphs, drawn_folds, labels_of
from datamodules.readers.graphs import Graph
from tasks import graphs
from tasks.engine.rows import Outcome
from tasks.graphs.classifier import (
    ALONE,
    WITH_SIZE,
    accuracies,
    damped,
    gaussian_kernel,
    kernels_of,
    linear_kernel,
    majority,
    size_kernel,
)
from tasks.graphs.report import lead, scores, verdict
from tasks.graphs.vectors import difference, graph2vec, histogram, in_fisher_metric, inferred, learned
from tasks.learning.corpora import open_corpus
from tests.small_runs import cached

SMALL = ["task=graphs", "task.depths=[1,2]", "trainer.min_steps=60", "trainer.threads=1"]
SMALL += ["task.graph2vec.D=16", "task.graph2vec.epochs=40"]
SMALL += ["model.K=16", "model.F=16", "model.D=8", "logger=none", "task.C=[10]", "task.method=pca"]
configuration = partial(cached, SMALL)


def test_planted_shapes_are_told_apart_and_shuffled_ones_are_not(cache, tmp_path):
    result = graphs.run(configuration(cache, "task.seeds=2", "task.depths=[2]"), tmp_path)
    found = {row: values["accuracy"] for row, values in result.rows.items()}
    knowing = ("atd", "atd-plain", "graph2vec", "graph2vec-in-order", "wl-histogram", "wl-kernel")
    assert min(found[row] for row in knowing) > 80
    assert abs(found["size"] - 100 / 3) < 15
    assert {"seeds_SHAPES_sd", "above_graph2vec_SHAPES"} < set(result.rows["atd"])
    assert found["majority"] == pytest.approx(100 / 3)
    assert abs(found["shuffled"] - 100 / 3) < 15
    assert result.rows["atd"]["moved"] < 1e-6
    assert result.verdict.startswith("The class of ") and "by graph2vec" in result.verdict
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


def test_the_fisher_metric_does_not_depend_on_the_coordinates_of_x(cache, tmp_path):
    """Turned by any orthogonal matrix, with the weights turned along, x has the same products."""
    data = open_corpus(configuration(cache))
    assert isinstance(data, Graphs)
    model = learned(data, configuration(cache), tmp_path, "turned", seed=0).double()
    x_nD = np.random.default_rng(0).normal(size=(5, 8))
    before_nn = linear_kernel(in_fisher_metric(model, x_nD))
    turn_DD = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    assert model.W_fa is not None
    with torch.no_grad():
        for W_FD in (model.W_fd, model.W_fa):
            W_FD.copy_(W_FD @ torch.from_numpy(turn_DD))
    assert np.allclose(linear_kernel(in_fisher_metric(model, x_nD @ turn_DD)), before_nn)
    assert not np.allclose(linear_kernel(x_nD), before_nn)


def test_graph2vec_gives_every_graph_its_own_vector_in_any_order(cache):
    """Of graphs that come shuffled, rows go back to their places: alike graphs have alike vectors."""
    cfg = configuration(cache)
    data = open_corpus(cfg)
    assert isinstance(data, Graphs)
    x_nD = graph2vec(data.encoded["train"], cfg.task.graph2vec, 0, shuffled=True)
    told, _ = accuracies({ALONE: gaussian_kernel(damped(x_nD))}, data.labels, data.folds, [10.0])
    assert np.mean(told) > 80


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
    kernels = {"blind": np.ones((24, 24)), "told": told_nn}
    assert accuracies(kernels, label_n, folds, [1.0]) == ([100, 100], ["told", "told"])
    assert majority(np.array([0, 0, 0, 1]), np.array([0, 3])) == 50


def test_counts_of_labels(cache):
    data = open_corpus(configuration(cache, "data.depth=0"))
    counts = histogram(data.encoded["train"]).toarray()
    first = data.encoded["train"][0]
    occurring = np.bincount(first[first != 0], minlength=len(data.vocabulary))[1:]
    assert counts[0].tolist() == occurring.tolist()
    assert np.allclose(damped(histogram(data.encoded["train"])).toarray(), damped(counts))


def test_kernels_of_depths_and_sizes(cache):
    data = open_corpus(configuration(cache))
    assert isinstance(data, Graphs)
    assert data.sizes[0] == np.sum(data.encoded["train"][0] == 0)  # each node is opened by <unk>
    one_nn, two_nn = np.eye(2), np.ones((2, 2))
    kernels = kernels_of([one_nn, two_nn], np.array([3, 30]))
    assert kernels[ALONE].tolist() == [[1, 0.5], [0.5, 1]]
    assert np.allclose(kernels[WITH_SIZE], kernels[ALONE] * size_kernel(np.array([3, 30])))


def test_scores_and_verdict_over_sets():
    one, again, two = (
        Outcome({"moved": m}, {"accuracy": np.array(a)})
        for m, a in ((1e-9, [40.0, 70.0]), (1e-10, [60.0, 70.0]), (1e-8, [90.0, 90.0]))
    )
    found = scores({"X": [one, again], "Y": [two]})
    assert found["accuracy"] == 75 and found["accuracy_X"] == 60 and found["accuracy_Y_sd"] == 0
    assert found["moved"] == 1e-8 and found["seeds_X_sd"] == pytest.approx(50**0.5) and "seeds_Y_sd" not in found
    rows = {"atd": found, "graph2vec": found | {"accuracy_X": 59.0}, "wl-histogram": found | {"accuracy_Y": 91.0}}
    assert verdict(rows, ["X", "Y"]) == (
        "Inferred vectors are above graph2vec on 1 of 2 sets of graphs; "
        "counts of the labels themselves are above both on Y."
    )


def test_the_interval_of_a_lead_by_hand():
    """Of folds that lead by 1, 2 and 3: mean 2, standard error 1/√3, t of 2 degrees 4.303."""
    assert lead(np.array([51.0, 62.0, 73.0]), np.array([50.0, 60.0, 70.0])) == pytest.approx(
        (2, -0.484, 4.484), abs=1e-3
    )
