"""Text to tokens, fast because no rule is applied to the same piece of text twice.

Rules of tokenisation look no further than white space. So the text is split at white space and dictionary-encoded by
Arrow, in threads; a rule is asked once for every *distinct* piece ("don't," → do n't ,); and the parts are put in place
of the pieces by array indexing. Three million words of Europarl hold 76,000 distinct pieces. Case folding and numbers
come last, on the distinct tokens alone, so that a tagger can see the text as it was written.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atd.errors import AtdError
from atd.vocabulary import NUM
from datamodules.sentences import ABBREVIATIONS

KINDS = ("fast", "spacy", "whitespace")
ELIDING = ("ca", "fr", "it", "oc")  # l'homme → l' homme
SLICE = 1 << 22  # bytes of text one thread encodes at a time


@dataclass
class Tokens:
    """Tokenised documents: `index` (n_tokens,) int32 into `types`, the distinct tokens; `offsets` (n_docs+1,) int64."""

    index: np.ndarray
    offsets: np.ndarray
    types: list[str]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def counts(self, documents: np.ndarray | None = None) -> dict[str, int]:
        """How often every type occurs, in all documents or those of a mask."""
        index = self.index if documents is None else self.index[np.repeat(documents, np.diff(self.offsets))]
        return dict(zip(self.types, np.bincount(index, minlength=len(self.types)).tolist()))

    def document(self, d: int) -> list[str]:
        return [self.types[i] for i in self.index[self.offsets[d] : self.offsets[d + 1]]]

    def renamed(self, names: Iterable[str]) -> Tokens:
        """The same tokens under other names, one per type; types of one name become one."""
        table: dict[str, int] = {}
        place = np.array([table.setdefault(name, len(table)) for name in names], dtype=np.int32)
        return Tokens(place[self.index] if len(place) else self.index, self.offsets, list(table))


@dataclass(frozen=True)
class Tokeniser:
    """`kind` is fast (our own rules), spacy (its rules for `language`) or whitespace (the text is tokenised already).

    `lowercase` and `numbers` (3,000 → `<#>`) say what `fold` does to a token before the vocabulary sees it.
    """

    kind: str = "fast"
    language: str = "en"
    lowercase: bool = True
    numbers: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise AtdError(f"data.tokeniser.kind={self.kind}: must be one of {', '.join(KINDS)}")

    @classmethod
    def of(cls, settings: Tokeniser | Mapping | str) -> Tokeniser:
        """From configuration: a mapping of the fields above, or the kind alone."""
        if isinstance(settings, cls):
            return settings
        return cls(settings) if isinstance(settings, str) else cls(**settings)

    @property
    def key(self) -> dict:
        """What a cache key must hold of it."""
        if self.kind != "spacy":
            return asdict(self)
        from importlib.metadata import version

        return asdict(self) | {"spacy": version("spacy")}

    def __call__(self, texts: pa.Array | pa.ChunkedArray) -> Tokens:
        """Tokens as written, before folding; a missing text has none."""
        return _replace_pieces(_pieces(texts), self.rule())

    def fold(self, token: str) -> str:
        """The word of the vocabulary that a token stands for."""
        if self.numbers and _NUMBER.fullmatch(token):
            return NUM
        token = token.translate(_PLAIN)
        return token.lower() if self.lowercase else token

    def folded(self, texts: pa.Array | pa.ChunkedArray) -> Tokens:
        tokens = self(texts)
        return tokens.renamed(map(self.fold, tokens.types))

    def words(self, text: str) -> list[str]:
        """The folded tokens of one text, say what a user typed."""
        return self.folded(pa.array([text])).document(0)

    def rule(self) -> Callable[[str], list[str]]:
        """A function from a piece of text without white space to its tokens."""
        if self.kind == "fast":
            return fast_rule(self.language)
        if self.kind == "whitespace":
            return lambda piece: [piece] if piece else []
        import spacy

        try:
            tokenizer = spacy.blank(self.language).tokenizer
        except ImportError:
            fix = "spaCy has no tokenizer for it; use data.tokeniser.kind=fast"
            raise AtdError(f"data.tokeniser.language={self.language}: {fix}") from None
        return lambda piece: [token.text for token in tokenizer(piece) if not token.is_space]


@cache
def fast_rule(language: str) -> Callable[[str], list[str]]:
    """Numbers, abbreviations, words, marks (runs of dots or dashes as one); English clitics and Romance elisions are
    split off, as in Penn Treebank text. An underscore, emphasis in plain text files, is no token."""
    marks = _marks()
    letters = f"(?:[^\\W\\d_]++[{marks}]*+)++"  # possessive: what is a word is never tried again as two
    short = ABBREVIATIONS.get(language, "(?!)")
    coarse = re.compile(
        rf"\d+(?:[.,:]\d+)*(?![^\W_]) | (?<!\w)(?i:{short})\. | (?<!\w)(?:[^\W\d_]\.){{2,}}"
        rf"| (?:{letters}|\d+)+(?:['’]{letters})* | [{marks}]+ | \.{{2,}} | -{{2,}} | [^\w\s]",
        re.VERBOSE,
    )
    clitic = re.compile(r"(.+?)(n['’]t|['’](?:s|m|d|re|ve|ll))", re.IGNORECASE)
    elision = re.compile(r"aujourd['’]hui|[^'’]+['’]?|['’]", re.IGNORECASE)

    def split(piece: str) -> list[str]:
        if piece.isalpha():
            return [piece]
        tokens = coarse.findall(piece)
        if "'" not in piece and "’" not in piece:
            return tokens
        return [part for token in tokens for part in finer(token)]

    def finer(token: str) -> list[str]:
        if language == "en" and (match := clitic.fullmatch(token)):
            return list(match.groups())
        return elision.findall(token) if language in ELIDING else [token]

    return split


@cache
def _marks() -> str:
    """Accents and vowel signs written as characters of their own are parts of words, but no \\w: as ranges."""
    points = [c for c in range(0x300, 0x20000) if unicodedata.category(chr(c)) in ("Mn", "Mc")]
    cuts = np.split(points, np.flatnonzero(np.diff(points) > 1) + 1)
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in cuts)


_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_PLAIN = str.maketrans("’‘“”", "''\"\"")


def _pieces(texts: pa.Array | pa.ChunkedArray) -> Tokens:
    """White-space separated pieces of every text; an empty piece stands at either end that is white space."""
    column = texts if isinstance(texts, pa.ChunkedArray) else pa.chunked_array([texts])
    rows = max(1, len(column) * SLICE // max(column.nbytes, 1))
    slices = [column.slice(i, rows).combine_chunks() for i in range(0, len(column), rows)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # Arrow works outside the interpreter lock
        parts = list(pool.map(_slice_pieces, slices))
    if not parts:
        return Tokens(np.zeros(0, np.int32), np.zeros(1, np.int64), [])
    whole = pa.chunked_array([flat for flat, _ in parts]).unify_dictionaries()
    index = [chunk.indices.to_numpy() for chunk in whole.chunks]
    lengths = np.concatenate([lengths for _, lengths in parts])
    types = whole.chunk(0).dictionary.to_pylist()
    return Tokens(np.concatenate(index), np.concatenate([[0], np.cumsum(lengths)]), types)


def _slice_pieces(texts: pa.Array) -> tuple[pa.DictionaryArray, np.ndarray]:
    lists = pc.ascii_split_whitespace(pc.fill_null(texts, ""))
    return lists.flatten().dictionary_encode(), pc.list_value_length(lists).to_numpy()


def _replace_pieces(pieces: Tokens, rule: Callable[[str], list[str]]) -> Tokens:
    """Every piece replaced by the tokens that `rule` makes of its type."""
    table: dict[str, int] = {}
    parts = [[table.setdefault(token, len(table)) for token in rule(piece)] for piece in pieces.types]
    count = np.array([len(p) for p in parts], dtype=np.int64)
    flat = np.array([i for p in parts for i in p], dtype=np.int32)
    first = np.cumsum(count) - count
    n = count[pieces.index]
    ends = np.cumsum(n)
    where = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first[pieces.index] - ends + n, n)
    offsets = np.concatenate([[0], ends])[pieces.offsets].astype(np.int64)
    return Tokens(flat[where], offsets, list(table))
