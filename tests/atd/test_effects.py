"""Effects: moments against all permutations, company by hand, p and intervals where the truth is known, speeches."""

from __future__ import annotations

import csv
import gzip
import itertools
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from atd.effects import effects
from atd.effects.company import Company, cells_of, table_of
from atd.effects.permutations import (
    discoveries,
    fatter,
    interval,
    moments,
    noise_along,
    sums_of_cells,
    sums_of_slope,
    sums_of_vectors,
    tail,
)
from atd.effects.words import along_number, between_values
from atd.errors import AtdError
from atd.ragged import Ragged, offsets_of
from tasks.effects.planted import draw, world
from tasks.effects.rivals import count_vectors, regression

CONGRESS = Path(os.environ.get("ATD_DATA", "data")) / "congress"


@pytest.mark.parametrize("n", [6, 7])
def test_moments_are_those_of_all_permutations(n):
    random = np.random.default_rng(n)
    x = random.exponential(size=(n, 3))
    x -= x.mean(0)
    code = np.array([0, 0, 0, 1, 1, 2, 2])[:n] if n == 7 else np.array([0, 0, 0, 0, 1, 1])
    number = random.exponential(size=n)
    number -= number.mean()
    count = np.bincount(code)
    same = (code[:, None] == code) / count[code][:, None] - 1 / n
    slope = np.outer(number, number) / (number @ number)
    orders = np.array(list(itertools.permutations(range(n))))
    for L, sums in ((same, sums_of_cells(count)), (slope, sums_of_slope(number))):
        t = np.einsum("ij,pij->p", x @ x.T, L[orders[:, :, None], orders[:, None, :]])
        skewness = np.mean((t - t.mean()) ** 3) / t.std() ** 3
        np.testing.assert_allclose(moments(sums_of_vectors(x), sums, n), (t.mean(), t.var(), skewness), rtol=1e-8)


def test_the_tail_is_pearson_s_and_q_is_benjamini_and_hochberg_s():
    from scipy.stats import false_discovery_control, pearson3

    z, skewness = np.linspace(-2, 8, 30), np.linspace(-0.9, 2, 30)
    np.testing.assert_allclose(tail(z, skewness), pearson3.sf(z, skewness), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(tail([1.96], [0.0]), [0.025], rtol=1e-2)
    p = np.random.default_rng(0).random(50) ** 3
    np.testing.assert_allclose(discoveries(p), false_discovery_control(p))


@pytest.mark.parametrize("stretch", [1.0, 4.0])  # 4: one direction has most of the noise, and the tail is long
@pytest.mark.parametrize("shift", [0.15, 0.3, 0.45])
def test_p_is_that_of_shuffled_values_also_with_unequal_weights_and_far_documents(stretch, shift):
    random = np.random.default_rng(3)
    y, u = random.standard_t(3, size=(60, 8)), random.uniform(0.3, 3, 60)
    y[:, 0] *= stretch
    value = np.arange(60) // 30
    y[value == 1, 0] += shift * y[:, 0].std()
    p = between_values(y.copy(), u, value, 5, 2).p
    shares = np.array([between_values(y.copy(), u, random.permutation(value), 5, 2).p for _ in range(1000)])
    share = np.mean(shares <= p)
    assert p == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 1000) + 0.004)


def test_the_long_tail_of_few_directions_is_seen():
    """One direction only: the statistic is a χ² with one degree of freedom."""
    from scipy.stats import chi2

    for z in (3.0, 6.0, 9.0):
        p = tail(z, np.sqrt(8.0)) * fatter(z, np.array([1.0]), 1)
        assert p == pytest.approx(chi2.sf(1 + z * np.sqrt(2), 1), rel=0.1)
    weights = np.array([5.0, 1, 1, 1, 1, 1, 1, 1])
    draws = np.random.default_rng(0).chisquare(1, size=(400_000, 8)) @ weights
    spread = np.sqrt(2 * np.square(weights).sum())
    skewness = 8 * (weights**3).sum() / spread**3
    for z in (3.0, 5.0):
        share = np.mean(draws >= weights.sum() + z * spread)
        assert tail(z, skewness) * fatter(z, weights, 1) == pytest.approx(share, rel=0.15)


def test_company_counts_other_words_near_by_once_and_the_rest_of_the_text_without_them():
    tokens = np.array([1, 0, 2, 0, 3, 3, 1, 1, 0, 2, 2, 2])
    texts = Ragged(tokens, np.array([0, 8, 12]))
    vectors = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])  # word 0 has none
    company = Company(texts, table_of(vectors, tokens), reach=2)
    cells = cells_of(tokens, texts.owner, tokens == 0, 2)
    assert (cells.document_c.tolist(), cells.times_c.tolist()) == ([0, 1], [2, 1])
    y, z, has = company.means(cells, 0, 2)
    rows = company.table_Vr[:, :-1]
    np.testing.assert_allclose(y, [(rows[1] + rows[2] + 2 * rows[3]) / 4, rows[2]], atol=1e-6)
    np.testing.assert_allclose(z, [2 * rows[1] / 32, rows[2] / 31], atol=1e-6)
    assert has.all()


@pytest.mark.parametrize("true", [0.0, 0.3, 2.0])
def test_intervals_cover_and_estimates_are_unbiased(true):
    """Three values, unequal noise, few documents; the mean over pairs of squared distances is `true`."""
    random = np.random.default_rng(5)
    value = np.repeat([0, 1, 2], [15, 25, 40])
    centre = np.zeros((3, 12))
    centre[0, 0] = np.sqrt(1.5 * true)  # two of the three pairs are this far apart
    spread = np.linspace(0.8, 1.2, 12)
    found = []
    for _ in range(700):
        y = centre[value] + spread * random.normal(size=(80, 12))
        one = between_values(y, np.ones(80), value, 10, 3)
        found.append((one.effect, one.linear, one.anywhere, one.square))
    effect, linear, anywhere, square = np.array(found).T
    along = noise_along(effect, linear, anywhere, square, np.zeros(len(effect), bool))
    low, high = interval(effect, along, square)
    assert abs(effect.mean() - true) < 4 * effect.std() / np.sqrt(700) + 0.01 * true
    covered = np.mean((low <= true) & (true <= high))
    assert covered > 0.96 if true == 0 else 0.92 < covered < 0.975


def test_two_equal_values_and_the_same_as_a_number_agree():
    random = np.random.default_rng(1)
    y, value = random.normal(size=(80, 5)), np.arange(80) % 2
    y[value == 1, 0] += 1
    as_values = between_values(y.copy(), np.ones(80), value, 10, 2)
    as_number = along_number(y.copy(), np.ones(80), value.astype(float), 10, 0.5)
    for name in ("effect", "linear", "anywhere", "square", "p"):
        assert getattr(as_number, name) == pytest.approx(getattr(as_values, name), rel=0.05), name


@pytest.fixture(scope="module")
def generated():
    """(world, texts, value of each, vectors without those of the planted words)."""
    of = world(0, V=600, subjects=12, pairs=15, share=0.6, length=80)
    texts, value = draw(of, 500, np.random.default_rng(0))
    vectors = count_vectors(texts, of.V, 20)
    vectors[of.planted] = 0
    return of, texts, value, vectors


def test_planted_changes_are_found_and_the_rate_of_false_ones_is_as_promised(generated):
    of, _, _, vectors = generated
    power, false = [], []
    for seed in range(4):
        texts, value = draw(of, 500, np.random.default_rng(seed))
        found = effects(texts, value, vectors)
        planted = np.isin(found.words_W, of.planted)
        rows = found.found(0.05)
        power.append(planted[rows].sum() / planted.sum())
        false.append(np.mean(~planted[rows]))
        assert np.median(found.effect_W[planted]) > 10 * abs(np.median(found.effect_W[~planted]))
    assert np.mean(power) > 0.6 and np.mean(false) < 0.12


def test_the_table_shows_counts_and_the_surest_first(generated):
    of, texts, value, vectors = generated
    found = effects(texts, value, vectors)
    assert ((found.low_W <= found.high_W) & (found.low_W >= 0)).all()
    assert (found.documents_WA.min(1) >= 10).all() and (found.occurrences_WA >= found.documents_WA).all()
    row = found.table([str(i) for i in range(of.V)], ["a", "b"])[0]
    assert row["q"] == found.q_W.min() and row["documents a"] >= 10 and int(row["word"]) in of.planted
    assert len(found.company(int(found.order()[0]), 1, 7)) == 7


def test_under_shuffled_values_p_is_uniform_where_that_of_occurrences_is_not(generated):
    _, texts, value, vectors = generated
    random = np.random.default_rng(7)
    first = effects(texts, value, vectors)
    runs = [effects(texts, random.permutation(value), vectors, measure=first.measure) for _ in range(6)]
    p = np.concatenate([run.p_W for run in runs])
    assert 0.03 < np.mean(p < 0.05) < 0.07 and 0.43 < np.mean(p < 0.5) < 0.57 and np.mean(p < 0.001) < 0.004
    effect = np.concatenate([run.effect_W for run in runs])
    assert abs(effect.mean()) < 0.1 * np.median(np.concatenate([run.high_W for run in runs]))
    words = first.words_W[::3]
    shares = []
    for _ in range(2):
        tokens_p, *_ = regression(texts, random.permutation(value), vectors, words, 100)
        shares.append(np.mean(tokens_p < 0.05))
    assert np.mean(shares) > 0.07


def test_a_number_and_several_values_are_tested_too(generated):
    of, texts, value, vectors = generated
    random = np.random.default_rng(2)
    planted = of.planted
    number = value + random.normal(size=len(value)) / 2
    along = effects(texts, number, vectors)
    assert len(set(along.words_W[along.found()]) & set(planted)) > 0.3 * len(planted)
    assert len(set(along.words_W[along.found()]) - set(planted)) <= 0.3 * len(along.found())  # 3.5 % on average
    three = np.where(random.random(len(value)) < 0.3, 2, value)
    among = effects(texts, three, vectors, words=planted)
    assert set(among.words_W) <= set(planted) and among.documents_WA.shape[1] == 3
    assert len(among.found()) > 0.3 * len(among)
    unknown = np.where(np.arange(len(value)) < 50, -1, value)
    assert effects(texts, unknown, vectors).documents_WA.sum() < effects(texts, value, vectors).documents_WA.sum()


def test_groups_are_the_evidence_when_they_are_given(generated):
    """Every document twice is no news: with copies as groups p stays as it was."""
    _, texts, value, vectors = generated
    twice = Ragged(np.tile(texts.tokens, 2), offsets_of(np.tile(texts.lengths, 2)))
    once = effects(texts, value, vectors)
    fooled = effects(twice, np.tile(value, 2), vectors, measure=once.measure)
    grouped = effects(
        twice, np.tile(value, 2), vectors, measure=once.measure, groups_n=np.tile(np.arange(len(texts)), 2)
    )
    assert grouped.words_W.tolist() == once.words_W.tolist()
    assert np.corrcoef(np.log(grouped.p_W), np.log(once.p_W))[0, 1] > 0.97
    assert np.median(fooled.p_W[np.isin(fooled.words_W, once.words_W)]) < np.median(once.p_W) - 0.1
    with pytest.raises(AtdError, match="several values"):
        effects(texts, value, vectors, groups_n=np.arange(len(texts)) // 50)


def test_what_cannot_be_is_said_in_one_line(generated):
    _, texts, value, vectors = generated
    with pytest.raises(AtdError, match="values for"):
        effects(texts, value[:-1], vectors)
    with pytest.raises(AtdError, match="number the names"):
        effects(texts, value.astype(str), vectors)
    with pytest.raises(AtdError, match="lower min_documents"):
        effects(texts, value, vectors, min_documents=10_000)
    with pytest.raises(AtdError, match="3 or more"):
        effects(texts, value, vectors, min_documents=1)
    with pytest.raises(AtdError, match="vectors"):
        effects(texts, value, vectors[:50])


def test_immigration_differs_by_party_and_by_gender_as_context_says():
    """conText's own sample, where 924 occurrences give p = 0 for both.

    286 speeches have the word. Over speeches conText's regression gives p = 0 and 0.017.
    """
    if not CONGRESS.is_dir():
        pytest.skip("needs congress/ under ATD_DATA")
    with gzip.open(CONGRESS / "speeches.tsv.gz", "rt") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    with gzip.open(CONGRESS / "glove_subset.tsv.gz", "rt") as file:
        table = {line.split("\t")[0]: np.array(line.split("\t")[1:], float) for line in file}
    stop = set((CONGRESS / "stopwords_en.txt").read_text().split())
    kept = [[w for w in r["text"].split() if not w.isdigit() and w not in stop and len(w) > 2] for r in rows]
    words = [w for w, n in Counter(w for text in kept for w in text).items() if n >= 5]
    id_of = {w: i for i, w in enumerate(words)}
    texts = Ragged(np.array([id_of.get(w, -1) for t in kept for w in t], np.int32), offsets_of([len(t) for t in kept]))
    vectors = np.array([table.get(w, np.zeros(300)) for w in words])
    for column, value in (("party", "R"), ("gender", "M")):
        found = effects(texts, np.array([int(row[column] == value) for row in rows]), vectors, reach=6)
        i = found.words_W.tolist().index(id_of["immigration"])
        effect = f"{found.effect_W[i]:.4f} [{found.low_W[i]:.4f}, {found.high_W[i]:.4f}]"
        print(f"immigration by {column}: {effect}, p {found.p_W[i]:.1e}, documents {found.documents_WA[i]}")
        assert found.p_W[i] < 0.05 and found.effect_W[i] > 0
        if column == "party":
            assert found.low_W[i] > 0.05 and found.q_W[i] < 1e-4
            home = [{words[j] for j in found.company(i, a, 8)} for a in (0, 1)]
            assert "reform" in home[0] and "patrol" in home[1]
