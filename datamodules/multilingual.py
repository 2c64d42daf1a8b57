"""Parallel text of several languages around one, the pivot, as one encoded corpus; every language has its vocabulary.

europarl_rcv.py says what a pair, a side, a part and a text are. The way of a line: `read_parts` divides the lines of a
pair into parts; `read_texts` gives each to a language and gathers the training lines of a language, whichever file they
come from; `encode_texts` counts the vocabularies and turns words into numbers.

Why languages are told apart: from 2011 on Parliament printed most speeches untranslated. Five sixths of the "German"
lines of the given dev and test files are in other languages, and so are the last lines of the training file, 5 % of it.
The language that a dev or test line is written in is always found out, since results on German lines are given apart.
With `told_apart` it is found out for all lines and decides whose vocabulary and vector they get, which brings in a
dozen more languages.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.ragged import offsets_of
from atd.tokeniser import Tokeniser
from atd.vocabulary import Vocabulary
from datamodules.encode import count_vocabulary, ids
from datamodules.identify import identify, known_texts
from datamodules.readers.bible import read_verse_pairs
from datamodules.readers.parallel import read_pairs

WRITTEN = ("en", "de", "fr", "it", "es", "nl", "sv", "pl", "ro", "sk", "hu", "fi", "cs")  # languages told apart
FEWEST = 20  # training lines that make a language


@dataclass
class Text:
    """Lines of one language on one side of a part."""

    pair: str
    part: str
    side: str  # source or target
    language: str  # whose vocabulary and vector the lines get
    lines: pa.ChunkedArray
    rows: np.ndarray  # places of the lines in the part, by which the two sides belong together
    written_in: np.ndarray  # the language each line is written in, as far as it was found out

    @property
    def name(self) -> list[str]:
        """By which europarl_rcv.py finds it."""
        return [self.pair, self.part, self.side, self.language]


def read_texts(
    data_dir: Path,
    pairs: Sequence[str],
    limit: Mapping[str, int],
    holdout: int,
    bible: Sequence[str],
    told_apart: bool,
    unpaired: bool = False,
) -> list[Text]:
    """The texts of all parts: first the training lines, language by language, then the others, pair by pair."""
    pivot = pairs[0].split("-")[0]
    known = known_texts(data_dir, list(WRITTEN))
    training: dict[str, list[pa.Table]] = {pair.split("-")[1]: [] for pair in pairs}
    others = []
    for pair in pairs:
        own = pair.split("-")[1]
        for part, table in read_parts(data_dir, pair, limit.get(pair), holdout).items():
            if part == "unpaired" and not unpaired:
                continue
            judged = told_apart or part in ("dev", "test")
            written = identify(table["target"], known) if judged else np.full(len(table), own)
            if part == "train":
                for language, rows in by_language(written).items():
                    training.setdefault(language, []).append(table.take(pa.array(rows)))
            else:
                others.append((pair, part, table, written))
    training.pop(pivot, None)  # a line of the pivot beside itself teaches nothing
    for language in bible:
        verses = read_verse_pairs(data_dir, f"{pivot}-{language}").select(["source", "target"])
        training.setdefault(language, []).append(strings(verses))
    training = {language: tables for language, tables in training.items() if sum(map(len, tables)) >= FEWEST}
    texts = []
    for language, tables in training.items():
        table = pa.concat_tables(tables)
        own_lines = np.full(len(table), language)
        texts += sides(f"{pivot}-{language}", "train", table, own_lines, own_lines)
    for pair, part, table, written in others:
        speaks = np.isin(written, [pivot, *training]) if told_apart else np.zeros(len(table), bool)
        texts += sides(pair, part, table, written, np.where(speaks, written, pair.split("-")[1]))
    return texts


def sides(pair: str, part: str, table: pa.Table, written: np.ndarray, language: np.ndarray) -> list[Text]:
    """The texts of a part: its source side, and one for each language that lines of its target side are given to."""
    pivot = pair.split("-")[0]
    all_rows = np.arange(len(table))
    out = [Text(pair, part, "source", pivot, table["source"], all_rows, np.full(len(table), pivot))]
    for name, rows in by_language(language).items():
        out.append(Text(pair, part, "target", name, table["target"].take(pa.array(rows)), rows, written[rows]))
    return out


def by_language(written: np.ndarray) -> dict[str, np.ndarray]:
    """The places of the lines of every language."""
    return {str(language): np.flatnonzero(written == language) for language in np.unique(written)}


def read_parts(data_dir: Path, pair: str, limit: int | None, holdout: int) -> dict[str, pa.Table]:
    """The lines of a pair, Table(source, target), by part.

    val and heldout are lines taken evenly from the training file, `holdout` each, and freed of sentences that training
    has, too. A limit cuts the training lines afterwards, so that it does not change what is held out.
    """
    whole = strings(read_pairs(data_dir, pair, "train"))
    held = min(holdout, len(whole) // 10)
    role = np.zeros(len(whole), dtype=int)  # 0 train, 1 val, 2 heldout
    role[np.linspace(0, len(whole) - 1, 2 * held).astype(int)] = 1 + np.arange(2 * held) % 2
    train, val, heldout = (whole.filter(pa.array(role == i)) for i in range(3))
    parts = {"train": train.slice(0, limit)}
    if limit is not None:
        parts["unpaired"] = train.slice(limit)
    parts["val"] = unseen(val, train)
    parts["heldout"] = unseen(heldout, train)
    for split in ("dev", "test"):
        parts[split] = strings(read_pairs(data_dir, pair, split))
    return parts


def unseen(held: pa.Table, train: pa.Table) -> pa.Table:
    """The pairs neither side of which is a training sentence, each sentence once."""
    fresh = [pc.invert(pc.is_in(held[side], value_set=train[side].combine_chunks())) for side in held.column_names]
    held = held.filter(pc.and_(*fresh))
    for side in held.column_names:
        first = np.unique(held[side].to_numpy().astype(str), return_index=True)[1]
        held = held.take(pa.array(np.sort(first)))
    return held


def encode_texts(
    texts: Sequence[Text],
    pivot: str,
    kind: str,
    min_count: int,
    max_size: int | None = None,
    vectors: str | Path | None = None,
) -> EncodedCorpus:
    """The texts as one corpus, line after line. Words are numbered within a language, whose number is the attribute.

    A vocabulary is counted on the train and unpaired lines of its language. The columns say of each line which text it
    belongs to, its place in the part and the language it is written in.
    """
    flat = [np.zeros(0, np.int32)] * len(texts)
    lengths = [np.zeros(0, np.int64)] * len(texts)
    vocabularies = {}
    for language in dict.fromkeys([pivot, *(text.language for text in texts)]):
        mine = [i for i, text in enumerate(texts) if text.language == language]
        tokens = Tokeniser(kind, language).folded(pa.chunked_array([c for i in mine for c in texts[i].lines.chunks]))
        counted = [np.full(len(texts[i].lines), texts[i].part in ("train", "unpaired")) for i in mine]
        vocabulary = count_vocabulary(tokens, min_count, max_size, np.concatenate(counted))
        if language == pivot and vectors:
            vocabulary = extended(vocabulary, vectors)
        vocabularies[language] = vocabulary.state()
        words = ids(tokens, vocabulary)
        start = 0
        for i in mine:
            bounds = tokens.offsets[start : start + len(texts[i].lines) + 1]
            flat[i] = words[bounds[0] : bounds[-1]]
            lengths[i] = np.diff(bounds)
            start += len(texts[i].lines)
    sizes = [len(text.lines) for text in texts]
    return EncodedCorpus(
        tokens=np.concatenate(flat),
        offsets=offsets_of(np.concatenate(lengths)),
        attributes=np.repeat([list(vocabularies).index(text.language) for text in texts], sizes).astype(np.int32),
        columns={
            "text": np.repeat(np.arange(len(texts), dtype=np.int32), sizes),
            "row": np.concatenate([text.rows for text in texts]),
            "written_in": pa.array(np.concatenate([text.written_in for text in texts]).astype(str)),
        },
        meta={"vocabularies": vocabularies, "texts": [text.name for text in texts]},
    )


def extended(vocabulary: Vocabulary, vectors: str | Path) -> Vocabulary:
    """The vocabulary and, behind it with count 0, the other words of a file of vectors."""
    path = Path(vectors)
    if not path.is_file():
        raise AtdError(f"{path}: no such file; data.vectors takes a text file of word vectors, plain or gzip")
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        words = [line.split(" ", 1)[0] for line in file]
    new = [w for w in dict.fromkeys(words) if w not in vocabulary and not w.isdigit()]
    return Vocabulary([*vocabulary.words, *new], np.concatenate([vocabulary.counts, np.zeros(len(new), np.int64)]))


def strings(table: pa.Table) -> pa.Table:
    """The same with plain string columns, so that tables of several files can be joined."""
    return table.cast(pa.schema({name: pa.string() for name in table.column_names}))
