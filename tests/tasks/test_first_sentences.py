"""The sentence that a report begins with: numbers of the rows, and the rival that is best, whichever it is."""

from __future__ import annotations

import pytest

from tasks import effects, generation, languages, sentiment

GENERATION = {
    "atd": {"perplexity": 80.24, "below_lbl": 15.2, "style_accuracy": 61.23},
    "real text": {"style_accuracy": 87.0},
    "chance": {"style_accuracy": 5.56},
}


def test_generation_says_what_samples_are_taken_for():
    said = generation.verdict(GENERATION)
    assert said == (
        "Held-out text has perplexity 80.2, 15 % below a model that knows no attributes. Of samples 61.2 % are taken "
        "for what they were asked to be, of real text 87.0 % (chance: 5.6 %)."
    )
    alone = {**GENERATION, "atd": {"perplexity": 80.24, "style_accuracy": 61.23}}
    assert generation.verdict(alone).startswith("Held-out text has perplexity 80.2. Of samples")


@pytest.mark.parametrize(("power", "best"), [(0.7, "conText, finds 70 %"), (0.1, "compass, finds 20 %")])
def test_effects_name_the_best_rival_and_not_a_row_of_their_own(power, best):
    rows = {
        "effects": {"power": 0.745, "shuffles_without_find": 96.5, "coverage": 95.3},
        "effects, subject left in": {"power": 0.99},
        "conText": {"power": power},
        "compass": {"power": 0.2},
    }
    said = effects.verdict(rows)
    assert said.startswith("Of the words whose use was changed 74 % are found") and f"the best rival, {best}" in said
    assert "In 96 % of the shuffles" in said and said.endswith("hold the truth in 95 %.")


def test_languages_stand_beside_counts_and_chance():
    rows = {"atd": 81.3, "char-ngrams": 85.4, "chance": 22.9}
    assert languages.verdict({name: {"family_accuracy": score} for name, score in rows.items()}, "family") == (
        "The nearest language is of the same family for 81.3 % of the languages by their vectors; 85.4 by counts of "
        "characters, 22.9 by chance."
    )


@pytest.mark.parametrize(
    ("scores", "others"),
    [
        ({"atd": 38.4, "word-average": 40.9, "mlp": 40.3}, "; word-average: 40.9."),
        ({"atd": 38.4, "word-average": 40.9, "atd-tree": 50.0}, "; word-average: 40.9; atd-tree: 50.0."),
        ({"atd": 51.0, "word-average": 40.9}, "; word-average: 40.9."),
        ({"atd": 51.0}, "."),
    ],
)
def test_sentiment_stands_beside_the_word_average_and_the_best(scores, others):
    said = sentiment.verdict({name: {"fine": score} for name, score in scores.items()}, "atd")
    assert said == f"atd gives {scores['atd']:.1f} % of the test sentences the right one of five labels{others}"


def test_an_ensemble_stands_beside_the_papers_model_too():
    rows = {"word-average": 40.9, "atd": 39.0, "atd-tree": 49.3, "atd-best": 49.6}
    said = sentiment.verdict({name: {"fine": score} for name, score in rows.items()}, "atd-best")
    assert said.endswith("the right one of five labels; word-average: 40.9; atd: 39.0.")
