"""Authors by gensim's paragraph vectors."""

from __future__ import annotations

import numpy as np

from tasks.authors.classifiers import columns
from tasks.authors.study import JUDGED, Study
from tasks.engine.rows import Outcome
from tasks.learning.doc2vec import infer_document, train_dbow


def by_doc2vec(study: Study, seed: int) -> Outcome:
    """gensim's paragraph vectors, inferred for all texts alike, and a regression on them."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    study.open()
    words = study.corpora["words"].vocabulary.words

    def lists(part: str) -> list[list[str]]:
        texts = study.part("words", part)
        return [[words[i] for i in texts[d]] for d in range(len(texts))]

    model = train_dbow(lists("train"), D=200, window=5, min_count=2, epochs=20, seed=seed)
    vectors = {
        part: np.array([infer_document(model, text, epochs=20) for text in lists(part)]) for part in ("train", *JUDGED)
    }
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    classifier.fit(vectors["train"], study.labels("train"))
    found = {part: classifier.decision_function(x) if len(x) else x for part, x in vectors.items() if part in JUDGED}
    return Outcome(arrays={part: columns(s, classifier.classes_, len(study.authors)) for part, s in found.items()})
