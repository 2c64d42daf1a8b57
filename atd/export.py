"""What a trained model knows, in files that other programs read.

    export(trained, "words.txt")                                     # word2vec text, which gensim reads
    export(trained, "words-f.safetensors", given={"gender": "f"})    # every word as `given` uses it
    export_attributes(trained, "attributes.csv")
    write_folder(trained, "model")                                   # the model, its vectors and a card

`atd.vector_files` has the kinds of file, and reads them back. The marks <unk>, <s> and <#> are no words and stay out.

n names, K word dim, D attribute dim, A attributes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from atd.card import CHECKPOINT, card, has_attributes, text_of
from atd.errors import AtdError
from atd.files import whole
from atd.named_vectors import Vectors
from atd.vector_files import ENDINGS, write
from atd.vocabulary import SPECIALS

if TYPE_CHECKING:
    from atd.trained import Given, Trained

LETTERS = 60  # of a `given` in the name of a file


@dataclass(frozen=True)
class Written:
    """A file or a folder, and what is in it."""

    path: Path
    what: str

    @property
    def size(self) -> int:
        """In bytes."""
        files = [self.path] if self.path.is_file() else [file for file in self.path.iterdir() if file.is_file()]
        return sum(file.stat().st_size for file in files)


def export(trained: Trained, path: str | Path, kind: str | None = None, given: Given = None, language: int = 0) -> Path:
    """Write all word vectors: as `given` makes them, or without attributes. The ending of the path says the kind."""
    return write(path, word_vectors(trained, given, language), kind)


def export_attributes(trained: Trained, path: str | Path, kind: str | None = None) -> Path:
    """Write the vector of every attribute."""
    return write(path, attribute_vectors(trained), kind)


def word_vectors(trained: Trained, given: Given = None, language: int = 0) -> Vectors:
    """The words of one vocabulary with their vectors (n×K) and their counts in the training text."""
    vocabulary = trained.vocabularies[language]
    words = slice(len(SPECIALS), None)
    x_nK = np.ascontiguousarray(trained.vectors(given, language)[words], dtype=np.float32)
    return Vectors(vocabulary.words[words], x_nK, {"count": vocabulary.counts[words]})


def attribute_vectors(trained: Trained) -> Vectors:
    """The attributes with their vectors (A×D), the columns each is a value of, and its words of training text."""
    if not has_attributes(trained):
        raise AtdError("a log-bilinear model has no attributes; export its words alone, or train a multiplicative one")
    design = trained.design
    terms = [":".join(design.columns[q].name for q in term) for term in design.terms]
    columns: dict[str, Sequence[Any] | np.ndarray] = {"column": [terms[t] for t in design.term_A]}
    if len(design.words_A):
        columns["words"] = np.asarray(design.words_A, dtype=np.float64)
    x_AD = trained.model.vectors().detach().float().numpy()
    return Vectors(trained.attributes, x_AD, columns)


def write_folder(
    trained: Trained,
    folder: str | Path,
    kinds: Sequence[str] = ("word2vec",),
    given: Sequence[Given] = (),
    attributes: bool = True,
    metrics: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Written]:
    """Write the model, its vectors in every kind of file, and README.md, which says what they are.

    Words are written without attributes and once more under each of `given`. `metrics` (the content of metrics.json)
    and `settings` (name: value) go into the card.
    """
    folder = Path(folder)
    if strange := [kind for kind in kinds if kind not in ENDINGS]:
        raise AtdError(f"{folder}: there is no kind {strange[0]!r}; it is one of {', '.join(ENDINGS)}")
    try:
        out = [Written(trained.save(folder / CHECKPOINT), "the model, for atd.load")]
    except OSError as error:
        raise AtdError(f"{folder}: cannot be written ({error.strerror or error}); choose another place") from None
    for one in (None, *given):
        for language in range(len(trained.vocabularies)):
            found = word_vectors(trained, one, language)
            what = "words" if len(trained.vocabularies) == 1 else f"words of language {language}"
            what += "" if one is None else f" given {text_of(one)}"
            out += _in_kinds(folder, file_name(one, language), found, kinds, what)
    if attributes and has_attributes(trained):
        found = attribute_vectors(trained)
        out += _in_kinds(folder, "attributes", found, kinds, "attributes")
    with whole(folder / "README.md") as part:
        part.write_text(card(trained, [(one.path.name, one.what) for one in out], metrics, settings), encoding="utf-8")
    return [*out, Written(folder / "README.md", "what the model is, how it was made and what it is not for")]


def _in_kinds(folder: Path, name: str, vectors: Vectors, kinds: Sequence[str], what: str) -> list[Written]:
    n, K = vectors.x_nK.shape
    paths = {kind: folder / (name + (ENDINGS[kind] or f"-{kind}")) for kind in kinds}
    content = f"{n:,} {what}, {K} numbers each"
    return [Written(write(path, vectors, kind), f"{content}; {kind}") for kind, path in paths.items()]


def file_name(given: Given = None, language: int = 0) -> str:
    """A name that every file system takes: small letters, digits, - and _. What says more gets a checksum, too."""
    base = "words" if language == 0 else f"words-{language}"
    if given is None:
        return base
    text = text_of(given)
    plain = re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-")[:LETTERS]
    checksum = hashlib.sha256(text.encode()).hexdigest()[:8]
    return "-".join(filter(None, [base, "given", plain, "" if plain == text else checksum]))
