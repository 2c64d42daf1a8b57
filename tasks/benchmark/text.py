"""From text to vocabulary, ids and a file of them: Europarl and blogs where they are there, else the sample books.

Every rival gets a list of strings and leaves the same things; ours gets the column of Arrow that its readers give.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.tokeniser import Tokeniser
from datamodules.cache import open_or_build
from datamodules.corpus import sample_folder
from datamodules.encode import encode
from datamodules.readers.blogs import post_batches
from datamodules.readers.books import read_books
from datamodules.readers.parallel import find_pairs
from tasks.benchmark.encoders import Expression, by_spacy, by_tokenizers, written
from tasks.benchmark.measure import Bench, alternate, faster

LINE = 200  # words of a document of the books
TARGET = 2


def encoding(bench: Bench) -> dict[str, dict[str, float]]:
    """In one thread and in two; the rivals in as many threads or processes."""
    threads = range(1, 1 + min(2, len(os.sched_getaffinity(0))))
    names = {1: "encode_{}", 2: "encode_{}_2"}
    return {
        names[n].format(name): against_others(bench, name, texts, n) for name, texts in corpora(bench) for n in threads
    }


def corpora(bench: Bench) -> Iterator[tuple[str, pa.Array]]:
    data = Path(bench.cfg.paths.data)
    some = {"europarl": europarl, "blogs": blogs}
    found = 0
    for name, read in some.items():
        with suppress(AtdError):
            texts = read(data, bench)
            found += 1
            yield name, texts
    if not found:
        yield "books", books(bench)


def europarl(data: Path, bench: Bench) -> pa.Array:
    return find_pairs(data, "en-de")[0].lines()[: bench.size(60_000, 10_000)]


def blogs(data: Path, bench: Bench) -> pa.Array:
    batches = list(islice(post_batches(data), 2))
    return pa.Table.from_batches(batches)["text"].combine_chunks()[: bench.size(8_000, 1_000)]


def books(bench: Bench) -> pa.Array:
    """The sample books, over and over, in documents of some 200 words. Numbers make every repetition new text."""
    words = " ".join(read_books(sample_folder(bench.cfg.paths.cache))["text"].to_pylist()).split()
    random = np.random.default_rng(0)
    out = []
    for copy in range(bench.size(12, 3)):
        renamed = {w: f"{w[0]}{w[1:]}{'' if copy == 0 else copy}" for w in random.permutation(sorted(set(words)))[::4]}
        line = [renamed.get(w, w) for w in words]
        out += [" ".join(line[i : i + LINE]) for i in range(0, len(line), LINE)]
    return pa.array(out)


def against_others(bench: Bench, corpus: str, texts: pa.Array, threads: int) -> dict[str, float]:
    lines = texts.to_pylist()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(torch_threads(threads))
        expression = stack.enter_context(Expression(lines, threads))
        ways: dict[str, Callable[[], object]] = {
            "ours": partial(ours, corpus, texts, folder),
            "expression": lambda: written(expression(), folder),
            "spacy": lambda: written(by_spacy(lines, threads), folder),
        }
        if find_spec("tokenizers"):
            ways["tokenizers"] = lambda: written(by_tokenizers(lines, threads), folder)
        seconds = alternate(ways, bench.rounds)
    words = len(encode(texts, Tokeniser())[0])
    rate = words / float(np.median(seconds["ours"]))
    return faster(seconds, TARGET, tuple(ways)[1:], words=words, words_per_second=rate)


def ours(corpus: str, texts: pa.Array, folder: Path) -> EncodedCorpus:
    """Tokenise, count the vocabulary, encode, write the cache and open it."""

    def build() -> EncodedCorpus:
        ids, offsets, vocabulary = encode(texts, Tokeniser())
        meta = {"vocabulary": vocabulary.state(), "attributes": ["-"]}
        return EncodedCorpus(ids, offsets, np.zeros(len(offsets) - 1, np.int32), meta=meta)

    return open_or_build({"of": corpus}, build, folder, f"benchmark-{corpus}", rebuild=True)


@contextmanager
def torch_threads(n: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)
