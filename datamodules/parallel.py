"""A user's own parallel text: columns of a table, or line-aligned files, in any two languages or more.

The lines are laid out in a folder of the cache under the names that `readers/parallel.py` knows, beside links to what
the data folder has of topics and dictionaries. From there on they are like any parallel text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import filelock
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.settings import TEXT, listed, mapped, number, one_of, optional, whole
from atd.tokeniser import KINDS
from atd.vocabulary import SPECIALS
from datamodules.cache import explained, fingerprint
from datamodules.europarl_rcv import EuroparlRCV
from datamodules.multilingual import Text, encode_texts, read_parts, sides
from datamodules.readers.files import Place, has_text
from datamodules.readers.table import TableReader, find_tables
from datamodules.readers.topics import SOURCES

LINKED = ("crosslingual", "reuters", "parallel/bible", "parallel/bible_nt")  # of the data folder
FEWEST = 100  # lines, of which a tenth each is held out for val, for heldout, for dev and for test


class ParallelCorpus(EuroparlRCV):
    """`sides` says where each language is: {en: english, fi: finnish} names columns of the table `path`, or files in
    the folder `path`, line i of one the translation of line i of the other. A row that lacks a side is left out of the
    pairs that need it. The last lines are dev and test, a tenth each, at most 2000.

    `data`: the folder in which topics and dictionaries are looked for. The other settings are those of `EuroparlRCV`.
    """

    def __init__(
        self,
        *,
        name: str,
        path: str | Path,
        sides: Annotated[Mapping[str, str], mapped(TEXT)],
        data: str | Path,
        cache: str | Path,
        pairs: Sequence[str],
        batch_size: Annotated[int, whole(1)],
        seed: Annotated[int, whole(0)],
        limit: Mapping[str, Annotated[int | None, optional(whole(1))]] | None = None,
        holdout: Annotated[int, whole(1)] = 2000,
        topic_sets: Annotated[Sequence[str], listed(one_of(*SOURCES))] = (),
        unpaired: bool = False,
        vectors: str | Path | None = None,
        tokeniser: Annotated[str, one_of(*KINDS)] = "fast",
        min_count: Annotated[int, whole(1)] = 2,
        max_size: Annotated[int | None, optional(whole(len(SPECIALS) + 1))] = None,
        compounds: bool = False,
        dropout: Annotated[float, number(0, 0.99)] = 0.0,
        rebuild: bool = False,
    ):
        super().__init__(
            name=name,
            path=path,
            cache=cache,
            pairs=pairs,
            batch_size=batch_size,
            seed=seed,
            limit=limit,
            holdout=holdout,
            topic_sets=topic_sets,
            unpaired=unpaired,
            vectors=vectors,
            tokeniser=tokeniser,
            min_count=min_count,
            max_size=max_size,
            compounds=compounds,
            dropout=dropout,
            rebuild=rebuild,
        )
        self.given = Path(path)
        self.sides = dict(sides)
        self.data = Path(data)
        for pair in self.pairs:
            if strange := [language for language in pair.split("-") if language not in self.sides]:
                known = ", ".join(self.sides)
                raise AtdError(
                    f"task.pairs={pair}: data.sides has {known} but no {strange[0]}; such as task.pairs=[en-fi]"
                )

    def prepare_data(self) -> None:
        self.path = self._laid_out()
        super().prepare_data()

    def inputs(self) -> list[Path]:
        """The line-aligned files of a folder, or the files of a table."""
        if self.given.is_dir():
            files = [self.given / name for name in self.sides.values()]
            if all(file.is_file() for file in files):
                return files
            if any(file.is_file() for file in files):
                absent = next(file for file in files if not file.is_file())
                raise AtdError(f"{absent}: missing; data.sides must name a file of the folder for each language")
        return find_tables(self.given)

    def _laid_out(self) -> Path:
        """The folder of the cache, made if it is not there."""
        key = [fingerprint(self.inputs()), self.sides, self.pairs, str(self.data.resolve())]
        name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
        folder = self.cache / f"{self.name}-lines-{name}"
        with explained(folder):
            self.cache.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(f"{folder}.lock"):
                if not (folder / "done").exists():
                    self._lay_out(folder)
                    (folder / "done").touch()
        return folder

    def _lay_out(self, folder: Path) -> None:
        table = self._lines()
        folder.mkdir(exist_ok=True)
        for pair in self.pairs:
            a, b = pair.split("-")
            both = table.filter(pc.and_(has_text(table[a]), has_text(table[b])))
            if len(both) < FEWEST:
                raise AtdError(f"{self.given}: {len(both)} lines in both {a} and {b}; at least {FEWEST} are needed")
            for language in (a, b):
                lines = pc.replace_substring_regex(both[language], r"[\r\n]+", " ").to_pylist()
                name = f"europarl-v7.{pair}.{language}"
                (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
        for name in LINKED:
            link = folder / name
            if (self.data / name).exists() and not link.exists():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to((self.data / name).resolve())

    def _lines(self) -> pa.Table:
        """A column for each language."""
        files = self.inputs()
        if not self.given.is_dir() or files != [self.given / name for name in self.sides.values()]:
            first, *others = self.sides.values()
            table = pa.concat_tables(TableReader(self.given, first, others, drop_empty=True))
            return table.rename_columns(list(self.sides))
        columns = {language: Place(file).lines() for language, file in zip(self.sides, files)}
        sizes = {language: len(lines) for language, lines in columns.items()}
        if len(set(sizes.values())) > 1:
            counts = ", ".join(f"{self.sides[language]} {n}" for language, n in sizes.items())
            raise AtdError(f"{self.given}: the files differ in their lines ({counts}); line i must translate line i")
        return pa.table(columns)

    def _build(self) -> EncodedCorpus:
        """Every line is in the language its side says."""
        texts: list[Text] = []
        for pair in self.pairs:
            language = pair.split("-")[1]
            for part, table in read_parts(self.path, pair, self.limit.get(pair), self.holdout).items():
                if part != "unpaired" or self.unpaired:
                    own = np.full(len(table), language)
                    texts += sides(pair, part, table, own, own)
        texts.sort(key=lambda text: text.part != "train")  # training lines first, as in every parallel corpus
        return encode_texts(texts, self.pivot, self.kind, self.min_count, self.max_size, self.vectors)
