"""tf-idf of posts as written, and the classifier on top of it against scikit-learn's."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from omegaconf import OmegaConf
from scipy import sparse

from atd.softmax_classifier import SoftmaxClassifier
from tasks.learning.tfidf import TfIdf, counts

ROOT = Path(__file__).parent.parent.parent.parent


def test_tfidf_knows_only_the_texts_it_was_fitted_on():
    table = counts(pa.array(["Ok Ok !!! ok", "ok !!! yes", "no ... Ok", "only here zzz zzz"]))
    assert sorted(table[0].data.tolist()) == [1, 1, 2]  # Ok twice, "!!!" one token, ok another word than Ok
    fitted = TfIdf(min_df=2).fit(table[:3])
    assert fitted.kept.tolist() == sorted(fitted.kept) and len(fitted.kept) == 3  # Ok, ok, !!!
    np.testing.assert_allclose(sparse.linalg.norm(fitted.transform(table[:3]), axis=1), 1, rtol=1e-6)
    assert fitted.transform(table[3:]).nnz == 0


def race(table: sparse.csr_matrix, author: np.ndarray, train: np.ndarray, test: np.ndarray, options: dict) -> dict:
    """Seconds and accuracy of our classifier and of scikit-learn's one-vs-rest log loss, two threads each."""
    from sklearn.linear_model import SGDClassifier

    tfidf = TfIdf().fit(table[train])
    S, S_test = tfidf.transform(table[train]), tfidf.transform(table[test])
    torch.set_num_threads(2)
    found = {}
    for name, model in (
        ("ours", SoftmaxClassifier(**options)),
        ("scikit-learn", SGDClassifier(loss="log_loss", n_jobs=2, random_state=0)),
    ):
        started = time.perf_counter()
        model.fit(S, author[train])
        found[name] = (time.perf_counter() - started, 100 * model.score(S_test, author[test]))
    torch.set_num_threads(1)
    return found


@pytest.mark.slow
def test_one_real_fold_is_five_times_faster_than_scikit_learn(real_data, tmp_path):
    from datamodules.blogs import Blogs, folds

    options = OmegaConf.to_container(OmegaConf.load(ROOT / "conf/task/authorship.yaml").task.classifier)
    posts = Blogs(name="blogs", path=real_data, context=5, batch_size=1, seed=0, cache=tmp_path).prolific_posts()
    author = posts["author"].to_numpy()
    found = race(counts(posts["text"]), author, *folds(author)[0], options)
    print(found)
    assert found["scikit-learn"][0] > 5 * found["ours"][0], found
    assert found["ours"][1] >= max(50, found["scikit-learn"][1]), found
