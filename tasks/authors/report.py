"""What is shown of an attribution study."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from atd.files import whole
from atd.lm import MultiplicativeLM
from atd.models import load
from atd.own_counts import OwnCounts
from atd.ragged import Ragged
from tasks.authors.counts import counted
from tasks.authors.figures import drawn, length_curve, reliability_diagram
from tasks.authors.gate import best_of, remembered
from tasks.authors.habits import Evidence, of_each_character, of_each_word, runs
from tasks.authors.measures import difference
from tasks.authors.open_set import OpenSet, area
from tasks.authors.probabilities import Probabilities
from tasks.authors.scores import MEANING
from tasks.authors.study import Study
from tasks.engine.result import Result
from tasks.engine.wording import beginning

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from tasks.authors.settings import Settings

NONE = "none of these"
RANKED = 3  # authors named for every unknown text
HABITS = 8  # of every author
LISTED = 60  # authors in a table, most
TEXTS = 20  # of each author, of the test part, that are looked at for habits
SHOWN_WORDS = 150  # of a coloured text
PAIRS = (  # with the model, and the same without it
    ("atd", "kneser-ney-words"),
    ("atd-both", "counts-both"),
    ("classifier", "classifier-likelihoods"),
    ("classifier-likelihoods", "classifier-counts"),
    ("classifier-likelihoods", "classifier-ngrams"),
    ("stacked", "stacked without atd"),
)
STRONG = 2.0  # nats by which a word is coloured fully


def show_scores(result: Result, study: Study, found: Probabilities) -> None:
    """What each row is, and how far it lies from all of them together."""
    label = study.labels("test")
    right = {row: found.log_p(row, "test").argmax(1) == label for row in found.mixed}
    rows = []
    for row in found.mixed:
        gain = "" if row == "stacked" else str(difference(right["stacked"], right[row], label))
        rows.append([row, MEANING.get(row, "together: " + ", ".join(found.mixed[row])), gain])
    result.table(
        "The rows",
        ["", "what it is", "stacked is better by"],
        rows,
        f"{len(label):,} test texts by {len(study.authors):,} authors. The last column is in points of macro accuracy, "
        "the mean over authors of the share of their texts attributed rightly, with a 95 % interval over texts.",
    )
    best, chance = result.rows["stacked"], 100 / len(study.authors)
    result.verdict = (
        f"Of {len(study.authors):,} authors the right one is found for {best['macro_accuracy']:.1f} % of the texts "
        f"(chance: {chance:.1f} %), and probabilities are off by {best['calibration_error']:.1f} points."
    )


def show_gain(result: Result, study: Study, found: Probabilities) -> None:
    """What the multiplicative model adds to rows that do as well without it."""
    label = study.labels("test")
    right = {row: found.log_p(row, "test").argmax(1) == label for pair in PAIRS for row in pair if row in found.mixed}
    pairs = [(ours, theirs) for ours, theirs in PAIRS if ours in right and theirs in right]
    rows = [[ours, theirs, str(difference(right[ours], right[theirs], label))] for ours, theirs in pairs]
    if rows:
        note = (
            "In points of macro accuracy, with a 95 % interval over texts. Where it holds zero, the model adds nothing."
        )
        result.table("What the model adds", ["", "is better than", "by"], rows, note)


def show_curves(result: Result, study: Study, found: Probabilities) -> None:
    label, log_p = study.labels("test"), found.log_p("stacked", "test")
    caption = "Are the probabilities true? On the line they are. Groups of equal size, with 95 % intervals."
    result.figure("reliability", reliability_diagram(log_p, label), caption)
    chosen = {row: found.log_p(row, "test") for row in drawn(found.mixed)}
    caption = (
        "How much text is needed: test texts in groups of equal size by their length; the band is a 95 % interval."
    )
    result.figure("length", length_curve(chosen, found.words["test"], label), caption, "How much text is needed")


def open_set(study: Study, found: Probabilities) -> OpenSet:
    scores = dict(zip(found.mixed["stacked"], found.scores("stacked", "val"), strict=True))
    return OpenSet().fit(scores, found.log_p("stacked", "val"), found.words["val"], study.labels("val"))


def known_probability(judge: OpenSet, found: Probabilities, part: str) -> np.ndarray:
    scores = dict(zip(found.mixed["stacked"], found.scores("stacked", part), strict=True))
    return judge.known(scores, found.log_p("stacked", part), found.words[part])


def show_open_set(result: Result, study: Study, found: Probabilities) -> None:
    """Texts by authors who were left out of training."""
    if not len(found.words["strangers"]):
        return
    judge = open_set(study, found)
    test, strangers = (known_probability(judge, found, part) for part in ("test", "strangers"))
    result.rows["stacked"]["open_set_auc"] = 100 * area(test, strangers)
    rows = [["by one of the known authors", len(test), 100 * float((test > 0.5).mean())]]
    rows += [["by an author left out", len(strangers), 100 * float((strangers > 0.5).mean())]]
    result.table(
        "None of these?",
        ["test texts", "number", "taken for one of these, %"],
        rows,
        f"Area under the curve: {result.rows['stacked']['open_set_auc']:.1f} %.",
    )


def show_unknown(result: Result, study: Study, found: Probabilities, out: Path) -> None:
    """Who wrote the texts of unknown authorship, if any of these did; unknown.csv has the probability of everyone."""
    if not study.asked:
        return
    known = known_probability(open_set(study, found), found, "unknown")
    p_nA = known[:, None] * np.exp(found.log_p("stacked", "unknown"))
    rows, lines = [], []
    for i, text in enumerate(study.asked):
        order = np.argsort(-p_nA[i])[:RANKED]
        named = ", ".join(f"{study.authors[a]} {100 * p_nA[i, a]:.0f} %" for a in order)
        none = 1 - known[i]
        verdict = NONE if none > p_nA[i].max() else study.authors[order[0]]
        rows.append([i + 1, verdict, named, f"{100 * none:.0f} %", beginning(text, 80)])
        lines.append([i + 1, verdict, *(f"{p:.4f}" for p in (none, *p_nA[i])), text])
    with whole(out / "unknown.csv") as part, part.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["row", "verdict", NONE, *study.authors, "text"], *lines])
    note = (
        f"Probabilities that together with “{NONE}” sum to 100 %. They suppose a text like those of the table. "
        "unknown.csv beside this report has those of all authors."
    )
    result.table("Texts of unknown authorship", ["row", "verdict", "likeliest authors", NONE, "text"], rows, note)


def show_habits(result: Result, study: Study, found: Probabilities, task: Settings, cfg: DictConfig, out: Path) -> None:
    """The words and runs of characters that tell authors apart, and some texts with what each word says."""
    if "atd" not in found.mixed:
        return
    judge = WordJudge.of(study, found, task, best_of(out, cfg.seed, task))
    label = study.labels("test")
    chosen = some_texts(label, min(len(study.authors), LISTED))
    texts = study.part("words", "test").take(chosen)
    evidence = [Evidence("words", texts, study.corpora["words"].vocabulary.words, texts.tokens, judge.said(texts))]
    if "kneser-ney-characters" in found.mixed:
        evidence.append(character_evidence(study, task, chosen))
    rows = [
        [study.authors[a], *("  ".join(one.habits(label[chosen], a, HABITS)) for one in evidence)]
        for a in range(min(len(study.authors), LISTED))
    ]
    result.table(
        "Habits",
        ["author", *(f"telling {one.name}" for one in evidence)],
        rows,
        f"What says most for its author in up to {TEXTS} of his test texts, found in at least three. ␣ is a blank.",
    )
    show_marked(result, study, found, judge, task)


def some_texts(label_n: np.ndarray, authors: int) -> np.ndarray:
    """Texts drawn at random, up to TEXTS of each of the first authors."""
    order = np.random.default_rng(0).permutation(len(label_n))
    drawn = [order[label_n[order] == a][:TEXTS] for a in range(authors)]
    return np.sort(np.concatenate(drawn))


@dataclass(frozen=True)
class WordJudge:
    """The trained model with its memory: what each word of a text says for every author."""

    model: MultiplicativeLM
    memory: OwnCounts
    study: Study
    samples: int

    @classmethod
    def of(cls, study: Study, found: Probabilities, task: Settings, checkpoint: Path) -> WordJudge:
        model = load(checkpoint).model
        assert isinstance(model, MultiplicativeLM)
        memory = remembered(study, study.training().encoded["train"], task.order.words)
        memory.share_A = np.array(found.outcomes["atd"][0].facts["share"])
        return cls(model, memory, study, task.samples)

    def said(self, texts: Ragged) -> np.ndarray:
        """In nats (T×A)."""
        x_AD = self.study.vectors(self.model)
        return of_each_word(self.model, self.memory, texts, x_AD, self.study.log_prior, self.samples)


def character_evidence(study: Study, task: Settings, chosen: np.ndarray) -> Evidence:
    texts = study.part("characters", "test").take(chosen)
    said_TA = of_each_character(counted(study, "characters", task.order.characters), texts, study.log_prior)
    return Evidence("characters", texts, *runs(texts, study.corpora["characters"].vocabulary.words), said_TA)


def show_marked(result: Result, study: Study, found: Probabilities, judge: WordJudge, task: Settings) -> None:
    """Texts whose words are coloured by what they say for the likeliest author."""
    part = "unknown" if study.asked else "test"
    texts = study.part("words", part)
    shown = np.arange(len(texts)) if part == "unknown" else np.random.default_rng(0).permutation(len(texts))
    shown = shown[: task.shown]
    if not len(shown):
        return
    likeliest = found.log_p("stacked", part).argmax(1)
    heads = texts.take(shown).heads(SHOWN_WORDS)
    said_TA = judge.said(heads)
    names = study.corpora["words"].vocabulary.words
    samples = [
        (f"{part} {d + 1}: {study.authors[likeliest[d]]}?", coloured(heads, i, names, said_TA[:, likeliest[d]]))
        for i, d in enumerate(shown)
    ]
    result.marked(
        "What decided",
        ["Blue words speak for the author named, orange ones against him; the stronger the colour, the more."],
        samples,
    )


def coloured(texts: Ragged, i: int, names: list[str], said_T: np.ndarray) -> list[tuple[str, float]]:
    own = slice(texts.offsets[i], texts.offsets[i + 1])
    weights = np.clip(said_T[own] / STRONG, -1, 1)
    return [(names[word], float(weight)) for word, weight in zip(texts[i], weights, strict=True)]
