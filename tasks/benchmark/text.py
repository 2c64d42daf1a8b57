"""From text to encoded corpus, against spaCy's tokenizer in two processes."""

from __future__ import annotations

import tempfile

import numpy as np
import pyarrow as pa

from atd.encoded import EncodedCorpus
from atd.tokeniser import Tokeniser
from datamodules.cache import open_or_build
from datamodules.corpus import sample_folder
from datamodules.encode import encode
from datamodules.readers.books import read_books
from tasks.benchmark.measure import Bench, alternate, faster

LINE = 200  # words of a document


def documents(bench: Bench) -> list[str]:
    """The sample books, over and over, in documents of some 200 words. Numbers make every repetition new text."""
    books = read_books(sample_folder(bench.cfg.paths.cache))["text"].to_pylist()
    words = " ".join(books).split()
    random = np.random.default_rng(0)
    out = []
    for copy in range(bench.size(12, 3)):
        renamed = {w: f"{w[0]}{w[1:]}{'' if copy == 0 else copy}" for w in random.permutation(sorted(set(words)))[::4]}
        line = [renamed.get(w, w) for w in words]
        out += [" ".join(line[i : i + LINE]) for i in range(0, len(line), LINE)]
    return out


def against_spacy(bench: Bench) -> dict[str, dict[str, float]]:
    import spacy

    lines = documents(bench)
    table = pa.array(lines)
    tokeniser = Tokeniser("fast")
    nlp = spacy.blank("en")
    n = sum(len(line.split()) for line in lines)

    def ours() -> None:
        """Tokenise, count the vocabulary, encode, write the cache and open it."""

        def build() -> EncodedCorpus:
            ids, offsets, vocabulary = encode(table, tokeniser)
            meta = {"vocabulary": vocabulary.state(), "attributes": ["-"]}
            return EncodedCorpus(ids, offsets, np.zeros(len(offsets) - 1, np.int32), meta=meta)

        with tempfile.TemporaryDirectory() as folder:
            open_or_build({"of": "benchmark"}, build, folder, "benchmark")

    def rival() -> None:
        for _ in nlp.pipe(lines, n_process=2, batch_size=64):
            pass

    seconds = alternate({"ours": ours, "rival": rival}, bench.rounds)
    rate = n / float(np.median(seconds["ours"]))
    return {"encode_vs_spacy": faster(seconds, 10, words_per_second=rate, words=n)}
