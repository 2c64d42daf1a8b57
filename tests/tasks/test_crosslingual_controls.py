"""What the cross-lingual claims stand beside: a lexicon, an SVD, spelling, and a dictionary of other texts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from test_crosslingual import configuration

from atd.errors import AtdError
from atd.perceptron import AveragedPerceptron
from atd.ragged import Ragged, offsets_of
from atd.vocabulary import Vocabulary
from datamodules.pairs import Pairs
from datamodules.sample import translations as planted_words
from tasks.crosslingual.claims import Measure, Scores, compared, controls_of, measures, show_claims
from tasks.crosslingual.controls import CONTROLS
from tasks.crosslingual.dictionary import Dictionary, find_dictionary, of_file, of_verses
from tasks.crosslingual.evaluation import Findings, evaluate, nearest_is_own, translate_words
from tasks.crosslingual.lexicon import dice, strongest, translations
from tasks.crosslingual.rows import rows_of
from tasks.crosslingual.spaces import Space
from tasks.crosslingual.topics import few_columns, fitted
from tasks.engine.result import Result
from tasks.engine.rows import Outcome


def ragged(*texts: list[int]) -> Ragged:
    return Ragged(np.concatenate(texts).astype(np.int32), offsets_of([len(t) for t in texts]))


def test_dice_coefficients():
    """2·both / (one + other), counted in sentences; specials, numbers 0 to 2, have none."""
    pairs = Pairs((0, 1), ragged([3, 3, 4], [3, 0], [4]), ragged([5, 4], [5], [4, 1]))
    table = dice(pairs, 5, 6).toarray()
    assert table[3, 5] == pytest.approx(2 * 2 / (2 + 2)) and table[4, 4] == pytest.approx(1)
    assert table[3, 4] == pytest.approx(2 * 1 / (2 + 2)) and table[4, 5] == pytest.approx(2 * 1 / (2 + 2))
    assert not table[:3].any() and not table[:, :3].any()


def test_the_strongest_entries_of_a_row():
    table = sparse.csr_array(np.array([[0.1, 0.5, 0.4, 0.3], [0.0, 0.0, 0.0, 0.0], [0.9, 0.01, 0.8, 0.0]]))
    assert strongest(table, 2, 0.05).toarray().tolist() == [[0, 0.5, 0.4, 0], [0, 0, 0, 0], [0.9, 0, 0.8, 0]]


def test_translations_are_mutual_and_bring_their_other_forms():
    table = sparse.csr_array(np.array([[0.8, 0.5, 0.2, 0.0], [0.0, 0.0, 0.3, 0.1], [0.7, 0.0, 0.0, 0.6]]))
    # 0 and column 0 are each other's best; column 1's best is 0, at more than half; row 1 is below 0.4;
    # row 2's best, column 0, has a better one
    assert translations(table, 0.4) == [(0, 0), (0, 1)]


def test_few_columns_change_no_prediction():
    random = np.random.default_rng(0)
    topic = random.integers(0, 4, 120)
    x = sparse.random_array((120, 900), density=0.03, rng=random, format="csr")
    x = sparse.csr_array(x + sparse.csr_array(np.eye(900)[topic * 50] * 0.4))
    small, small_test = few_columns(x[np.arange(80)], x[np.arange(80, 120)])
    assert small.shape[1] <= 80
    for classifier in ("perceptron", "logistic"):
        there = fitted(classifier, small, topic[:80], 0).predict(small_test)
        whole = fitted(classifier, x[np.arange(80)].toarray(), topic[:80], 0).predict(x[np.arange(80, 120)].toarray())
        assert (there == whole).mean() > 0.97, classifier
    assert isinstance(fitted("perceptron", small, topic[:80], 0), AveragedPerceptron)


def test_retrieval_of_sparse_and_dense_rows_is_the_same():
    random = np.random.default_rng(1)
    a = random.random((50, 20)) * (random.random((50, 20)) < 0.3)
    b = a + 0.2 * random.random((50, 20))
    right = nearest_is_own(a, b)
    assert 0 < right.sum() < 50
    assert (nearest_is_own(sparse.csr_array(a), sparse.csr_array(b)) == right).all()


@pytest.fixture(scope="module")
def corpus(cache, tmp_path_factory):
    cfg = configuration(cache)
    rows, controls = rows_of(cfg, tmp_path_factory.mktemp("out"))
    return controls["lexicon"].data, rows["atd"].task


@pytest.fixture(scope="module")
def found(corpus) -> dict[str, Findings]:
    """Every control on the sample."""
    data, task = corpus
    dictionary = find_dictionary(None, data, sample=True)
    return {name: evaluate(kind(data), task, dictionary, 0) for name, kind in CONTROLS.items()}


def test_controls_find_what_was_planted(found):
    """A lexicon needs no more than sentence pairs, spelling not even those: names and numbers are spelt alike."""
    scores = {name: findings.scores for name, findings in found.items()}
    assert scores["lexicon"]["heldout_en_de"] > 95 and scores["lexicon"]["words_p1"] > 85
    assert scores["lexicon"]["sib200_en_de"] > scores["spelling"]["sib200_en_de"] > scores["majority"]["sib200_en_de"]
    assert scores["lsi"]["heldout_de_en"] > 80 > scores["spelling"]["heldout_de_en"] > 100 / 120
    assert scores["ceiling"]["sib200_de_en"] > 60


def test_a_ceiling_and_a_majority_say_nothing_of_lines_and_words(found):
    for name in ("ceiling", "majority"):
        assert {metric.split("_")[0] for metric in found[name].scores} == {"sib200", "rcv"}
    assert found["majority"].scores["sib200_en_de"] == pytest.approx(found["lexicon"].verdicts[0].majority)


def test_a_score_knows_how_many_items_it_is_of(found):
    items = found["lexicon"].items
    assert items["sib200_en_de"] == 70 and 100 <= items["heldout_en_de"] <= 120 and items["words_p1"] > 50


def test_a_word_that_a_row_does_not_know_is_wrong(corpus):
    data, _ = corpus
    words = planted_words()["de"]
    right = {
        a: {b.lower()} for a, b in words.items() if a in data.vocabularies[0] and b.lower() in data.vocabularies[1]
    }
    known, strange = Findings(), Findings()
    space = CONTROLS["lexicon"](data)
    translate_words(known, space, Dictionary("known", right))
    translate_words(strange, space, Dictionary("half of it strange", right | {f"{a}xyz": b for a, b in right.items()}))
    assert strange.scores["words_known"] == pytest.approx(50)
    assert strange.scores["words_p1"] == pytest.approx(known.scores["words_p1"] / 2)


class Fixed(Space):
    """Words as alike as a table says."""

    def __init__(self, likeness: np.ndarray):
        words = ["<unk>", "<s>", "<#>", "a", "b", "c", "d", "e"]
        vocabulary = Vocabulary(words, range(8, 0, -1))
        super().__init__(SimpleNamespace(vocabularies=[vocabulary] * 2, languages=["en", "de"], bible=["de"]))  # type: ignore[arg-type]
        self.likeness = likeness

    def documents(self, *_):
        raise NotImplementedError

    def similarity(self, words_Q):
        return self.likeness[list(words_Q)].copy()


def test_any_translation_of_the_dictionary_is_right():
    likeness = np.zeros((8, 8))
    likeness[3] = [9, 9, 9, 0, 5, 4, 3, 2]  # specials are never an answer; b is the likest, then c, d, e
    likeness[4] = [0, 0, 0, 5, 4, 3, 2, 1]
    space = Fixed(likeness)
    found = Findings()
    translate_words(found, space, Dictionary("", {"a": {"b", "x"}, "b": {"c"}}))
    assert found.scores == {"words_p1": 50, "words_p5": 100, "words_known": 100}
    verses = Findings()
    translate_words(verses, space, Dictionary("", {"a": {"b"}}, verses=True))  # the row learns from these verses
    assert not verses.scores


def test_a_dictionary_of_muse_is_read(corpus, tmp_path):
    path = tmp_path / "en-de.5000-6500.txt"
    path.write_text("House haus\nhouse\tHaus\nhouse gebäude\nnowhere\n", encoding="utf-8")
    assert of_file(path).entries == {"house": {"haus", "gebäude"}}
    with pytest.raises(
        AtdError, match=r"task.dictionary=.*no-such.txt: No such file or directory; give a file of a word"
    ):
        of_file(tmp_path / "no-such.txt")
    path.write_text("xyzzy plugh\n")
    with pytest.raises(AtdError, match=r"en-de.5000-6500.txt has no pair of words that both vocabularies have"):
        find_dictionary(str(path), corpus[0], sample=True)


def test_a_dictionary_of_verses(tmp_path):
    """A word for a word in every verse; marks are no entries."""
    folder = tmp_path / "parallel" / "bible"
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    stems = ["ark", "bread", "corn", "dove", "earth", "fire", "gold", "hill"]
    verses = [random.choice(8, 3, replace=False) for _ in range(200)]
    for language, ending in (("en", ""), ("de", "en")):
        lines = [f"Gen.1.{i}\t" + " ".join(stems[j] + ending for j in v) + " ." for i, v in enumerate(verses)]
        (folder / f"{language}.tsv").write_text("\n".join(lines) + "\n")
    found = of_verses(tmp_path, "en-de", "fast")
    assert found.verses and found.entries == {stem: {stem + "en"} for stem in stems}


def outcome(value: float, metric: str = "heldout", items: int = 2000) -> Outcome:
    metrics = [f"{metric}_en_de", f"{metric}_de_en"]
    return Outcome(dict.fromkeys(metrics, value), facts={"items": dict.fromkeys(metrics, items)})


MEASURE = Measure("Held-out lines", ("heldout_en_de", "heldout_de_en"))


def test_two_standard_errors_make_a_difference():
    level = MEASURE.of("a", [outcome(50.0)]), MEASURE.of("b", [outcome(52.0)])
    apart = MEASURE.of("a", [outcome(50.0)]), MEASURE.of("b", [outcome(56.0)])
    assert level[0].beside(level[1]) == "level with"
    assert (apart[0].beside(apart[1]), apart[1].beside(apart[0])) == ("below", "above")
    seeds = MEASURE.of("a", [outcome(v) for v in (40.0, 50.0, 60.0)])
    assert str(seeds) == "50.0 ± 10.0 / 50.0 ± 10.0" and seeds.beside(apart[1]) == "level with"
    assert str(Scores("a", (50.0, 51.0), (0.0, 0.0), (1.0, 1.0))) == "50.0 / 51.0"


def row(method: str, limit: int | None) -> SimpleNamespace:
    return SimpleNamespace(task=SimpleNamespace(method=method, limit={"en-de": limit}, pairs=["en-de"]))


def test_a_control_learns_from_no_more_than_the_row():
    controls = {"lexicon": row("lexicon", None), "lexicon-low": row("lexicon", 10_000)}
    controls |= {"spelling": row("spelling", None), "ceiling": row("ceiling", None)}
    assert controls_of(row("ranking", None), controls) == ["lexicon", "spelling"]  # type: ignore[arg-type]
    assert controls_of(row("ranking", 10_000), controls) == ["lexicon-low", "spelling"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shared", "verdict"), [(70.0, "wins"), (30.0, "loses"), (50.5, "makes no certain difference")]
)
def test_sharing_is_judged_by_the_rows(shared, verdict):
    outcomes = {"atd-low": [outcome(shared)], "separate": [outcome(50.0)], "lexicon-low": [outcome(40.0)]}
    known = measures(outcomes, "en-de")
    assert [measure.title for measure in known] == ["retrieval of held-out lines"]
    said = compared("Sharing", "atd-low", "separate", outcomes, known)
    numbers = f"{shared:.1f} / {shared:.1f} against 50.0 / 50.0"
    assert said == f"Sharing (atd-low against separate) {verdict} in retrieval of held-out lines ({numbers})."


def test_the_report_says_that_a_claim_falls():
    """From the rows alone: the same words change when the numbers do."""
    rows = {"atd": row("ranking", None)}
    controls = {"lexicon": row("lexicon", None), "spelling": row("spelling", None)}
    for value, verdict in ((77.0, "below"), (97.0, "above")):
        outcomes = {"atd": [outcome(value)], "lexicon": [outcome(90.0)], "spelling": [outcome(40.0)]}
        result = Result("crosslingual", "atd/heldout_en_de", {})
        show_claims(result, rows, controls, outcomes)  # type: ignore[arg-type]
        text, table, chart = result.sections
        assert text.paragraphs[1] == f"In retrieval of held-out lines: atd {verdict} lexicon (90.0 / 90.0)."
        assert table.rows == [["retrieval of held-out lines", "atd", f"{value} / {value}", verdict,
                               "lexicon", "90.0 / 90.0"]]  # fmt: skip
        assert chart.name == "beside_controls_heldout_en_de"
