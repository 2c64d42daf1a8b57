"""What tells authors apart: each row gives every text a score for every author."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.authors.classifiers import by_evidence, by_ngrams
from tasks.authors.counts import by_counts
from tasks.authors.evidence import counts_evidence, gate_evidence
from tasks.authors.gate import VECTORS, best_of, by_gate
from tasks.authors.nearest import by_nearest, vectors_evidence
from tasks.authors.paragraphs import by_doc2vec
from tasks.authors.study import Study
from tasks.engine.rows import Outcome, Row, Store

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from tasks.authors.settings import Settings

MEANING = {
    "atd": "one multiplicative model of words with a vector per author, and a memory of his phrases: the likelihood",
    VECTORS: "atd without the memory",
    "kneser-ney-characters": "counts of character n-grams, all text mixed with the author's own: the likelihood",
    "kneser-ney-words": "counts of word n-grams, all text mixed with the author's own: the likelihood",
    "char-ngrams": "tf-idf of character 2- to 5-grams, linear classifier",
    "word-ngrams": "tf-idf of words and pairs of words, linear classifier",
    "classifier": "n-grams of words and of characters, the likelihoods of atd and the cosine of the text's inferred "
    "vector and each author's, in one linear classifier",
    "classifier-likelihoods": "classifier without the inferred vector",
    "classifier-counts": "classifier-likelihoods with the likelihoods of kneser-ney-words in place of those of atd",
    "classifier-ngrams": "classifier without likelihoods and vector",
    "counts-both": "the likelihoods of kneser-ney-words and kneser-ney-characters together",
    "atd-both": "counts-both and atd-vectors together: words by the model and by counts, characters by counts",
    "char-svm": "tf-idf of character 2- to 5-grams, LinearSVC: what others report",
    "nearest": "the author's vector that is nearest to the text's own, which is inferred from its words",
    "doc2vec": "gensim's paragraph vectors (DBOW), regression",
    "shuffled": "atd, authors dealt to the training texts at random",
}


EVIDENCE = {  # what classifiers read beside n-grams
    "classifier": ("evidence", "evidence-vectors"),
    "classifier-likelihoods": ("evidence",),
    "classifier-counts": ("evidence-counts",),
    "classifier-ngrams": (),
}


def rows_of(study: Study, cfg: DictConfig, task: Settings, out: Path) -> list[Row]:
    """The rows that the settings name, and those that they read."""
    all_seeds, first, once = range(cfg.seed, cfg.seed + task.seeds), (cfg.seed,), (0,)
    store, checkpoint = Store(out / "rows", resumed=True), best_of(out, cfg.seed, task)
    words, characters = task.order.words, task.order.characters
    ways: dict[str, tuple[Callable[[int], Outcome], range | tuple[int]]] = {
        "atd": (partial(by_gate, study, cfg, task, out, False), all_seeds),
        "shuffled": (partial(by_gate, study, cfg, task, out, True), first),
        "kneser-ney-characters": (partial(by_counts, study, "characters", characters), once),
        "kneser-ney-words": (partial(by_counts, study, "words", words), once),
        "char-ngrams": (partial(by_ngrams, study, "char-ngrams"), once),
        "word-ngrams": (partial(by_ngrams, study, "word-ngrams"), once),
        "evidence": (partial(gate_evidence, study, cfg, task, out), all_seeds),
        "evidence-counts": (partial(counts_evidence, study, words), once),
        "evidence-vectors": (partial(vectors_evidence, study, task, out), all_seeds),
        "nearest": (partial(by_nearest, study, checkpoint), first),
        "char-svm": (partial(by_ngrams, study, "char-ngrams", svm=True), once),
        "doc2vec": (partial(by_doc2vec, study), first),
    }
    for name, read in EVIDENCE.items():
        seeds = all_seeds if "evidence" in read else once
        ways[name] = (partial(by_evidence, study, store, read), seeds)
    after = {"nearest": ("atd",), "evidence-vectors": ("evidence",)} | EVIDENCE
    chosen = [*task.rows, *task.controls]
    chosen += dict.fromkeys(read for name in chosen for read in EVIDENCE.get(name, ()))
    return [Row(name, *ways[name], after=after.get(name, ())) for name in chosen]
