"""Parts of speech: a spaCy tagger, installed or trained once from tagged text and kept.

The paper conditions on the Penn tag of the next word. No trained pipeline can be taken for granted, so `load_tagger`
uses one that is installed and otherwise trains spaCy's standard tagger (hash embeddings of words and affixes under
a small convolutional network) on `read_tagged` text; its held-out accuracy is kept with it.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import logging
import os
import random
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import filelock
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track

from atd.settings import number, one_of, optional, whole
from atd.tokeniser import Tokens
from datamodules.cache import explained, fingerprint
from datamodules.readers.tagged import find_tagged, read_tagged

if TYPE_CHECKING:
    from spacy.language import Language

PIECE = 60  # words tagged together at most: the network sees four to each side
STOPS = frozenset(".!?")


@dataclass(frozen=True)
class Recipe:
    """Size of the tagger and how long to train it. As it stands, 93.8 % of the words of English Web Treebank's dev part
    (93.3 % with 2,000 rows, batches of 1,000 words and five epochs)."""

    width: Annotated[int, whole(1)] = 96
    depth: Annotated[int, whole(1)] = 4
    rows: Annotated[int, whole(1)] = 5000  # of the hash embedding of whole words
    epochs: Annotated[int, whole(1)] = 4
    batch_words: Annotated[int, whole(1)] = 400
    dropout: Annotated[float, number(0, 0.99)] = 0.2
    learn_rate: Annotated[float, number(0, open_low=True)] = 0.002
    sentences: Annotated[int | None, optional(whole(1))] = None  # train on the first so many only
    half: Annotated[int | None, optional(one_of(0, 1))] = None  # train on every other sentence, from this one on
    seed: Annotated[int, whole(0)] = 0


class Tagger:
    """Tags words; `accuracy` is the share of held-out words tagged right (None for an installed pipeline)."""

    def __init__(self, nlp: Language, name: str):
        self.nlp, self.name = nlp, name
        self.accuracy: float | None = nlp.meta.get("performance", {}).get("tag_acc")

    def tag(self, sentences: Iterable[Sequence[str]]) -> Iterator[list[str]]:
        """One list of tags per list of words."""
        from spacy.tokens import Doc

        documents = (Doc(self.nlp.vocab, words=list(words)) for words in sentences)
        for document in self.nlp.pipe(documents, batch_size=256):
            yield [token.tag_ for token in document]

    def tag_tokens(self, tokens: Tokens) -> tuple[np.ndarray, list[str]]:
        """(tag of every token as an index (n_tokens,) int32, the tag names, sorted)."""
        table: dict[str, int] = {}
        index = np.empty(len(tokens.tokens), dtype=np.int32)
        cuts = [*_cuts(tokens), len(tokens.tokens)]
        words = ([tokens.types[i] for i in tokens.tokens[a:b]] for a, b in itertools.pairwise(cuts))
        for a, tags in zip(cuts, _shown(self.tag(words), "tagging", len(cuts) - 1)):
            index[a : a + len(tags)] = [table.setdefault(tag, len(table)) for tag in tags]
        names = sorted(table)
        place = np.array([names.index(tag) for tag in table], dtype=np.int32)
        return place[index] if len(table) else index, names


def load_tagger(data_dir: str | Path, cache: str | Path, recipe: Recipe | None = None, language: str = "en") -> Tagger:
    """An installed spaCy pipeline of the language, else the tagger trained on the tagged text under `data_dir`."""
    import spacy

    if installed := _installed(language):
        return Tagger(spacy.load(installed, exclude=["ner", "parser", "lemmatizer"]), installed)
    return trained_tagger(data_dir, cache, recipe or Recipe(), language)


def trained_tagger(data_dir: str | Path, cache: str | Path, recipe: Recipe, language: str = "en") -> Tagger:
    """The tagger trained on the tagged text under `data_dir`, now or before."""
    import spacy

    key = json.dumps(recipe_key(data_dir, recipe, language), sort_keys=True)
    folder = Path(cache) / f"tagger-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    with explained(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(folder.with_suffix(".lock")).acquire()
    with lock:
        if not folder.exists():
            nlp = train_tagger(read_tagged(data_dir, "train"), read_tagged(data_dir, "dev"), recipe, language)
            with explained(folder):
                _keep(nlp, folder)
    return Tagger(spacy.load(folder), folder.name)


def tagger_key(data_dir: str | Path, recipe: Recipe | None = None, language: str = "en") -> dict[str, Any]:
    """What the tags depend on, for the key of a cache that holds them; nothing is trained."""
    import spacy

    if installed := _installed(language):
        return {"pipeline": installed, "version": spacy.util.get_package_version(installed)}
    return recipe_key(data_dir, recipe or Recipe(), language)


def recipe_key(data_dir: str | Path, recipe: Recipe, language: str) -> dict[str, Any]:
    """What a trained tagger depends on."""
    import spacy

    files = fingerprint(place.path for split in ("train", "dev") for place in find_tagged(data_dir, split))
    return {"spacy": spacy.__version__, "recipe": asdict(recipe), "language": language, "files": files}


def train_tagger(train: pa.Table, dev: pa.Table, recipe: Recipe, language: str = "en") -> Language:
    """A pipeline of one tagger; its accuracy on `dev` is in `meta["performance"]`."""
    import spacy
    from spacy.training.batchers import minibatch_by_words
    from thinc.api import Adam, warmup_linear

    nlp = spacy.blank(language)
    embedding = {
        "@architectures": "spacy.HashEmbedCNN.v2",
        "pretrained_vectors": None,
        "width": recipe.width,
        "depth": recipe.depth,
        "embed_size": recipe.rows,
        "window_size": 1,
        "maxout_pieces": 3,
        "subword_features": True,
    }
    nlp.add_pipe("tagger", config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": embedding}})
    logging.getLogger("spacy").setLevel(logging.WARNING)  # it says twice that it begins
    with _seeded(recipe.seed):
        chosen = np.arange(len(train)) if recipe.half is None else np.arange(recipe.half, len(train), 2)
        examples = _examples(nlp, train.take(pa.array(chosen[: recipe.sentences])))
        nlp.initialize(lambda: examples)
        steps = -(-sum(len(e.reference) for e in examples) // recipe.batch_words) * recipe.epochs
        step_sizes: Any = warmup_linear(recipe.learn_rate, steps // 10, steps)
        optimizer = Adam(step_sizes)
        epochs = (random.sample(examples, len(examples)) for _ in range(recipe.epochs))
        batches = (b for epoch in epochs for b in minibatch_by_words(epoch, recipe.batch_words, tolerance=0.2))
        for batch in _shown(batches, "training the tagger", steps):
            nlp.update(batch, sgd=optimizer, drop=recipe.dropout)
            optimizer.step_schedules()
    nlp.meta["performance"] = {"tag_acc": float(nlp.evaluate(_examples(nlp, dev))["tag_acc"])}
    return nlp


def _installed(language: str) -> str | None:
    """The largest installed pipeline of the language that tags."""
    import spacy

    names = [name for name in spacy.util.get_installed_models() if name.startswith(f"{language}_core_")]
    order = {"sm": 0, "md": 1, "lg": 2}
    return max(names, key=lambda name: (order.get(name.rpartition("_")[2], 3), name), default=None)


def _examples(nlp: Language, table: pa.Table) -> list:
    from spacy.tokens import Doc
    from spacy.training import Example

    rows = zip(table["words"].to_pylist(), table["tags"].to_pylist())
    return [Example.from_dict(Doc(nlp.vocab, words=words), {"tags": tags}) for words, tags in rows]


def _cuts(tokens: Tokens) -> Iterator[int]:
    """Where a piece starts that is tagged at once: at every document, after a full stop, or after PIECE words."""
    stop = np.array([word in STOPS for word in tokens.types], dtype=bool)
    ends = np.zeros(len(tokens.tokens) + 1, dtype=bool)
    ends[1:] = stop[tokens.tokens] if len(stop) else False
    ends[tokens.offsets] = True
    last = -1
    for cut in [*np.flatnonzero(ends[:-1]).tolist(), len(tokens.tokens)]:
        while last >= 0 and cut - last > PIECE:
            last += PIECE
            yield last
        if cut < len(tokens.tokens):
            yield (last := cut)


def _shown(items: Iterable, what: str, total: int) -> Iterable:
    """A progress bar, if someone is looking."""
    screen = Console(stderr=True)
    return track(items, what, total=total, console=screen, transient=True, disable=not screen.is_terminal)


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the global generators that spaCy draws from, and put them back: training must not depend on what ran
    before, nor what runs after on whether the tagger was trained or found."""
    from spacy.util import fix_random_seed

    states = random.getstate(), np.random.get_state()
    fix_random_seed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


def _keep(nlp: Language, folder: Path) -> None:
    """Write it under another name first, so that no half-written tagger is ever found."""
    part = Path(tempfile.mkdtemp(prefix=folder.name, dir=folder.parent))
    try:
        nlp.to_disk(part)
        os.replace(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
