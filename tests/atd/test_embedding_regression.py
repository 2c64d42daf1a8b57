"""Embedding regression: by hand on a few words, unbiased where nothing differs, and conText's own published figures."""

from __future__ import annotations

import csv
import gzip
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from atd.embedding_regression import occurrences, regress

CONGRESS = Path(os.environ.get("ATD_DATA", "data")) / "congress"


def test_company_is_of_the_same_text_and_has_a_vector():
    tokens = np.array([1, 0, 2, -1, 0, 3, 3, 0])
    owner = np.array([0, 0, 0, 0, 0, 1, 1, 1])
    vectors = np.array([[9.0, 9], [1, 0], [0, 1], [4, 4]])
    has = np.array([False, True, True, True])
    mean, text = occurrences(tokens, owner, 0, vectors, has, reach=2)
    assert text.tolist() == [0, 0, 1]
    np.testing.assert_allclose(mean, [[0.5, 0.5], [0, 1], [4, 4]])
    mean, _ = occurrences(tokens, owner, 0, vectors, has & (np.arange(4) != 2), reach=2)
    np.testing.assert_allclose(mean, [[1, 0], [4, 4]])  # the second has no company left


def test_a_planted_difference_is_found_and_its_norm_is_not_too_large():
    random = np.random.default_rng(0)
    group, noise = np.arange(400) % 2, random.normal(size=(400, 30))
    X = np.column_stack([np.ones(400), group])
    found = regress(noise + 0.2 * group[:, None], X, permutations=200)
    assert found.norm_k[1] > 1.2  # what is there is 30 · 0.2²
    assert abs(found.debiased_k[1] - 1.2) < 0.3 and found.p_k[1] == 0
    np.testing.assert_allclose(found.coefficients_kK[1], (noise + 0.2)[1::2].mean(0) - noise[::2].mean(0))


def test_without_a_difference_the_debiased_norm_is_zero_on_average_and_p_uniform():
    random = np.random.default_rng(1)
    X = np.column_stack([np.ones(120), np.arange(120) % 3 == 0]).astype(float)
    found = [regress(random.normal(size=(120, 20)), X, permutations=50, seed=i) for i in range(200)]
    debiased = np.array([f.debiased_k[1] for f in found])
    assert abs(debiased.mean()) < 3 * debiased.std() / len(found) ** 0.5
    assert 0.01 < np.mean([f.p_k[1] < 0.05 for f in found]) < 0.1


@pytest.fixture(scope="module")
def congress():
    """The quick start of conText: (tokens with empty places, the speech of each, the words, their vectors, A, rows)."""
    if not CONGRESS.is_dir():
        pytest.skip("needs congress/ under ATD_DATA")
    with gzip.open(CONGRESS / "speeches.tsv.gz", "rt") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    with gzip.open(CONGRESS / "glove_subset.tsv.gz", "rt") as file:
        table = [line.rstrip("\n").split("\t") for line in file]
    with gzip.open(CONGRESS / "transform.tsv.gz", "rt") as file:
        A = np.loadtxt(file)
    stop = set((CONGRESS / "stopwords_en.txt").read_text().split())
    kept = [[w for w in r["text"].split() if not w.isdigit() and w not in stop and len(w) > 2] for r in rows]
    count = Counter(word for text in kept for word in text)
    id_of = {word: i for i, word in enumerate(w for w, n in count.items() if n >= 5)}
    vectors, has = np.zeros((len(id_of), 300)), np.zeros(len(id_of), bool)
    for word, *numbers in table:
        if word in id_of:
            vectors[id_of[word]], has[id_of[word]] = np.array(numbers, float), True
    tokens = np.array([id_of.get(word, -1) for text in kept for word in text])
    owner = np.repeat(np.arange(len(rows)), [len(text) for text in kept])
    return tokens, owner, id_of, vectors, has, A, rows


def test_context_s_published_norms_are_reproduced(congress):
    tokens, owner, id_of, vectors, has, A, rows = congress
    mean, speech = occurrences(tokens, owner, id_of["immigration"], vectors, has, reach=6)
    assert len(mean) == 924
    party, gender = (np.array([row[name] for row in rows])[speech] for name in ("party", "gender"))
    X = np.column_stack([np.ones(924), party == "R", gender == "M"]).astype(float)
    found = regress(mean @ A.T, X, permutations=100)
    np.testing.assert_allclose(found.norm_k[1:], [10.139940, 6.908761], rtol=1e-5)
    np.testing.assert_allclose(found.debiased_k[1:], [8.668252, 5.154713], rtol=1e-5)
    assert found.p_k[1:].tolist() == [0, 0]


def test_context_s_published_cosines_along_a_number_are_reproduced(congress):
    tokens, owner, id_of, vectors, has, A, rows = congress
    mean, speech = occurrences(tokens, owner, id_of["immigration"], vectors, has, reach=6)
    score = np.array([float(row["nominate_dim1"]) for row in rows])
    B = regress(mean @ A.T, np.column_stack([np.ones(len(speech)), score[speech]]), permutations=0).coefficients_kK
    fitted = B[0] + np.quantile(score, [0.05, 0.1, 0.9, 0.95])[:, None] * B[1]
    for word, published in (
        ("reform", [0.6692875, 0.6644484, 0.4734498, 0.4680526]),
        ("enforce", [0.4565472, 0.4707653, 0.6425993, 0.6440665]),
    ):
        own = vectors[id_of[word]]
        cosines = fitted @ own / np.linalg.norm(fitted, axis=1) / np.linalg.norm(own)
        np.testing.assert_allclose(cosines, published, rtol=1e-4)
