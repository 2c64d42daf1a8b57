"""A thousand authors from tf-idf, one fold: against scikit-learn's logistic `SGDClassifier` with two jobs."""

from __future__ import annotations

from typing import Any

import numpy as np

from atd.errors import AtdError
from atd.ragged import Ragged
from atd.softmax_classifier import SoftmaxClassifier
from tasks.benchmark import synthetic
from tasks.benchmark.measure import Bench, alternate, faster
from tasks.learning.tfidf import TfIdf, count_table, counts

V, WORDS, POSTS = 30_000, 200, 20
SETTINGS: dict[str, Any] = {  # as in conf/task/authorship
    "epochs": 4,
    "batch_size": 256,
    "lr": 40.0,
    "damping": 0.012,
    "margin": 20.0,
}


def against_sklearn(bench: Bench) -> dict[str, dict[str, float]]:
    """Twenty posts of each author, a tenth of them held out. Both learn the same features."""
    from sklearn.linear_model import SGDClassifier

    posts, author = generated_posts(100) if bench.quick else real_posts(bench) or generated_posts(1000)
    held = np.arange(len(author)) % 10 == 0
    tfidf = TfIdf(min_df=2).fit(posts[~held])
    train, test = tfidf.transform(posts[~held]), tfidf.transform(posts[held])
    fitted: dict = {}

    def ours() -> None:
        fitted["ours"] = SoftmaxClassifier(**SETTINGS).fit(train, author[~held])

    def rival() -> None:
        fitted["rival"] = SGDClassifier(loss="log_loss", n_jobs=2).fit(train, author[~held])

    def hinge() -> None:
        fitted["hinge"] = SGDClassifier(n_jobs=2).fit(train, author[~held])

    seconds = alternate({"ours": ours, "rival": rival, "hinge": hinge}, 2, warm_up=False)  # minutes each
    accuracy = {name: 100 * float(model.score(test, author[held])) for name, model in fitted.items()}
    more: dict[str, Any] = {"accuracy": accuracy["ours"], "rival_accuracy": accuracy["rival"]}
    more |= {"hinge_seconds": float(np.median(seconds["hinge"])), "hinge_accuracy": accuracy["hinge"]}
    return {"classifier_vs_sklearn": faster(seconds, 5, ok=accuracy["ours"] >= accuracy["rival"], **more)}


def real_posts(bench: Bench):
    """Those of the Blog Authorship Corpus, if it is under paths.data."""
    from datamodules.blogs import some_posts
    from datamodules.readers.blogs import prolific, read_authors, read_blogs

    try:
        authors = read_authors(bench.cfg.paths.data)
    except AtdError:
        return None
    table = some_posts(read_blogs(bench.cfg.paths.data, prolific(authors, 1000)), POSTS)
    return counts(table["text"]), table["author"].to_numpy()


def generated_posts(authors: int):
    """Word counts of posts (CSR) and their authors, who each have some hundred pet words."""
    n = POSTS * authors
    flat, offsets, author = synthetic.texts(n, WORDS, V, 20, seed=3)
    random = np.random.default_rng(4)
    author = (author + 20 * random.integers(0, authors // 20, n)) % authors
    pets = np.random.default_rng(5).integers(200, V, (authors, 100))
    own = np.repeat(author, np.diff(offsets))
    chosen = random.random(len(flat)) < 0.04
    flat[chosen] = pets[own[chosen], random.integers(0, 100, chosen.sum())]
    return count_table(Ragged(flat, offsets), V), author
