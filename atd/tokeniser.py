"""Text to tokens, fast because no rule is applied to the same piece of text twice.

Rules of tokenisation look no further than white space. So the text is split at white space, and a rule is asked once
for every *distinct* piece ("don't," → do n't ,); its parts are put in place of the pieces by array indexing. Three
million words of Europarl hold 76,000 distinct pieces. Columns of Arrow are split and numbered in threads
(`atd.arrow_text`). Case folding and numbers come last, on the distinct tokens alone, so that a tagger can see the text
as it was written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, TypeAlias

import numpy as np

from atd.errors import AtdError
from atd.ragged import Ragged, offsets_of
from atd.settings import one_of
from atd.vocabulary import NUM

if TYPE_CHECKING:
    import pyarrow as pa

    Texts: TypeAlias = Sequence[str | None] | pa.Array | pa.ChunkedArray

ABBREVIATIONS = {  # regular expressions: a full stop after these belongs to them and ends no sentence
    "en": "mr|mrs|messrs|ms|dr|st|rev|hon|esq|prof|capt|col|gen|lieut|lt|sgt|jr|sr|vol|vols|etc|viz|vs",
    "de": "hr|fr|dr|prof|nr|bzw|usw|vgl|ca|abs|str|st",
    "fr": "m|mm|mme|mlle|dr|pr|etc|cf|st|ste",
}
KINDS = ("fast", "spacy", "whitespace", "characters")
ELIDING = ("ca", "fr", "it", "oc")  # l'homme → l' homme
_SPACE = re.compile(r"\s+", re.ASCII)


@dataclass
class Tokens(Ragged):
    """Tokenised documents: `tokens` are numbers (int32) of `types`, the distinct tokens."""

    types: list[str]

    def counts(self, documents: np.ndarray | None = None) -> dict[str, int]:
        """How often every type occurs, in all documents or those of a mask."""
        tokens = self.tokens if documents is None else self.tokens[np.repeat(documents, self.lengths)]
        return dict(zip(self.types, np.bincount(tokens, minlength=len(self.types)).tolist()))

    def document(self, d: int) -> list[str]:
        return [self.types[i] for i in self[d]]

    def renamed(self, names: Iterable[str]) -> Tokens:
        """The same tokens under other names, one per type; types of one name become one."""
        table: dict[str, int] = {}
        place = np.array([table.setdefault(name, len(table)) for name in names], dtype=np.int32)
        return Tokens(place[self.tokens] if len(place) else self.tokens, self.offsets, list(table))


@dataclass(frozen=True)
class Tokeniser:
    """`kind` is fast (our own rules), spacy (its rules for `language`), whitespace (the text is tokenised already), or
    characters, white space among them.

    `lowercase` and `numbers` (3,000 → `<#>`) say what `fold` does to a token before the vocabulary sees it.
    """

    kind: Annotated[str, one_of(*KINDS)] = "fast"
    language: str = "en"
    lowercase: bool = True
    numbers: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise AtdError(f"there is no tokeniser of kind {self.kind!r}; it is one of {', '.join(KINDS)}")

    @classmethod
    def of(cls, settings: Tokeniser | Mapping | str) -> Tokeniser:
        """From plain values: a mapping of the fields above, or the kind alone."""
        if isinstance(settings, Tokeniser):
            return settings
        return cls(settings) if isinstance(settings, str) else cls(**settings)

    @property
    def key(self) -> dict:
        """What a cache key must hold of it."""
        if self.kind != "spacy":
            return asdict(self)
        from importlib.metadata import version

        return asdict(self) | {"spacy": version("spacy")}

    def __call__(self, texts: Texts) -> Tokens:
        """Tokens as written, before folding; a missing text has none."""
        return self._numbered(texts, fold=False)

    def pieces(self, texts: Texts) -> Tokens:
        """What a rule is asked about: the pieces between white space, or characters."""
        return characters(texts) if self.kind == "characters" else _pieces(texts)

    def fold(self, token: str) -> str:
        """The word of the vocabulary that a token stands for."""
        if self.kind != "characters":
            if self.numbers and _NUMBER.fullmatch(token):
                return NUM
            token = token.translate(QUOTES)
        return token.lower() if self.lowercase else token

    def folded(self, texts: Texts) -> Tokens:
        return self._numbered(texts, fold=True)

    def _numbered(self, texts: Texts, fold: bool) -> Tokens:
        from atd.numbering import numbered

        found, types = numbered(self, texts, fold)
        return Tokens(found.tokens, found.offsets, types)

    def words(self, text: str) -> list[str]:
        """The folded tokens of one text, say what a user typed."""
        return self.folded([text]).document(0)

    def word_rule(self, fold: bool = True) -> Callable[[str], list[str]]:
        """A function from a piece of text to its words, or to its tokens as written."""
        rule = self.rule()
        return (lambda piece: list(map(self.fold, rule(piece)))) if fold else rule

    def rule(self) -> Callable[[str], list[str]]:
        """A function from a piece of text to its tokens."""
        if self.kind == "fast":
            return fast_rule(self.language)
        if self.kind in ("whitespace", "characters"):
            return lambda piece: [piece] if piece else []
        try:
            import spacy
        except ImportError:
            raise AtdError("the tokeniser of kind 'spacy' needs spaCy: pip install spacy") from None
        try:
            tokenizer = spacy.blank(self.language).tokenizer
        except ImportError:
            fix = "use the tokeniser of kind 'fast'"
            raise AtdError(f"spaCy has no tokenizer for language {self.language!r}; {fix}") from None
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
def combining() -> list[int]:
    """Accents and vowel signs written as characters of their own: parts of words, but no \\w."""
    return [c for c in range(0x300, 0x20000) if unicodedata.category(chr(c)) in ("Mn", "Mc")]


def _marks() -> str:
    """The same as ranges of an expression."""
    cuts = np.split(combining(), np.flatnonzero(np.diff(combining()) > 1) + 1)
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in cuts)


_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
QUOTES = str.maketrans("’‘“”", "''\"\"")


def _pieces(texts: Texts) -> Tokens:
    """White-space separated pieces of every text; an empty piece stands at either end that is white space."""
    if type(texts).__module__.startswith("pyarrow"):
        from atd.arrow_text import pieces

        return pieces(texts)
    split = [_SPACE.split(text or "") for text in texts]
    table: dict[str, int] = {}
    flat = [table.setdefault(piece, len(table)) for part in split for piece in part]
    return Tokens(np.array(flat, dtype=np.int32), offsets_of([len(part) for part in split]), list(table))


def characters(texts: Texts) -> Tokens:
    """Every character a token: spelling, case, punctuation and layout are all there."""
    plain: Iterable[str | None] = getattr(texts, "to_pylist", lambda: texts)()
    points = [np.frombuffer((text or "").encode("utf-32-le", "surrogatepass"), dtype="<u4") for text in plain]
    found, flat = np.unique(np.concatenate([np.zeros(0, "<u4"), *points]), return_inverse=True)
    return Tokens(flat.astype(np.int32), offsets_of([len(part) for part in points]), [chr(point) for point in found])
