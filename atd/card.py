"""A model card: what a model was made from, what it knows, what it is for and what not, and how it is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from atd.design import Column, Design
from atd.lm import LogBilinearLM
from atd.vocabulary import SPECIALS

if TYPE_CHECKING:
    from atd.trained import Given, Trained

CHECKPOINT = "trained.ckpt"  # the file beside the card
SHOWN = 50  # values of a column, those with the most text
FEW = 1000  # words of text: a value with less says little

USE = """For questions about the text that the model learned from: how the use of words differs between the values of
a column, which values are alike, and as features for tasks on similar text. Compare its answers with a control, such as
a model whose columns were shuffled."""

LIMITS = """- It describes this text, not people. What differs between the values of a column may come from topic, place
  or time, and from who was sampled. It is no cause, and it says nothing about a single person.
- What its text holds, it repeats: prejudice, errors, and names. The vocabulary lists every word with its count, so
  share the model only where you may share these.
- A value with little text stays near the average of its column. Words that are rare have vectors that say little.
- Compare word vectors by their cosine. Those under different `given` are in one space, those of two trainings are not.
- Words that it never met have no vector. Text that it draws imitates style and states no facts.
- The word2vec files hold names without blanks: each blank is an underscore. The other files hold names as they are."""

GENSIM = """from gensim.models import KeyedVectors

KeyedVectors.load_word2vec_format({file!r}{options})"""

READ = """from atd.vector_files import read

read({file!r}).x_nK  # and .names; it reads every file of vectors here"""


def card(
    trained: Trained,
    files: Iterable[tuple[str, str]] = (),
    metrics: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> str:
    """The card in Markdown. `files` are (name, what is in it), `metrics` the content of metrics.json."""
    files = list(files)
    columns = trained.design.columns if has_attributes(trained) else []
    shown = {**trained.config, **(settings or {})}.items()
    parts = [_title(columns), _summary(trained), _section("Data", _data(trained))]
    parts += [_section(f"Column {cell(column.name)}", _column(trained.design, q)) for q, column in enumerate(columns)]
    parts.append(_section("Settings", table(["setting", "value"], [[name, _public(value)] for name, value in shown])))
    if metrics and metrics.get("rows"):
        parts.append(_section("Metrics", _metrics(metrics)))
    parts += [_section("Intended use", USE), _section("Limits", LIMITS)]
    parts.append(_section("How to load it", _load(trained, [name for name, _ in files])))
    if files:
        parts.append(_section("Files", table(["file", "content"], files)))
    return "\n\n".join(parts) + "\n"


def has_attributes(trained: Trained) -> bool:
    return not isinstance(trained.model, LogBilinearLM)


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [header, ["---"] * len(header), *([cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(value: Any) -> str:
    """One line of text that Markdown shows as it is."""
    if isinstance(value, float):
        return f"{value:.4g}"
    shown = re.sub(r"\s", " ", str(value).replace("\n", "⏎").replace("\t", "⇥"))
    return re.sub(r"([\\`*_|<>\[\]#])", r"\\\1", shown) or "(empty)"


def text_of(given: Given) -> str:
    """What `given` says, in one line."""
    if given is None:
        return "the average text"
    if isinstance(given, str):
        return given
    if isinstance(given, Mapping):
        return ", ".join(f"{column}={value}" for column, value in given.items())
    return "x=" + ",".join(f"{x:.4g}" for x in np.asarray(given).tolist())


def value_words(design: Design, q: int) -> np.ndarray | None:
    """The words of training text that each value of a column has; None if the model does not say."""
    if not len(design.words_A):
        return None
    t = next(t for t, columns in enumerate(design.terms) if q in columns)
    codes = design.combinations[t][:, list(design.terms[t]).index(q)]
    return np.bincount(codes, np.asarray(design.words_A)[design.term_A == t], len(design.columns[q].values))


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}"


def _public(value: Any) -> Any:
    """Of a file its name alone: where it lay is nobody's business."""
    return value.rpartition("/")[2] if isinstance(value, str) and value.startswith(("/", "~")) else value


def _title(columns: Sequence[Column]) -> str:
    names = ", ".join(cell(column.name) for column in columns)
    return f"# Word vectors that depend on {names}" if names else "# Word vectors"


def _summary(trained: Trained) -> str:
    words = sum(len(vocabulary) - len(SPECIALS) for vocabulary in trained.vocabularies)
    out = f"{words:,} words with vectors of {trained.config['K']} numbers"
    if not has_attributes(trained):
        return f"{out}, of a log-bilinear language model."
    attributes = f"{len(trained.attributes):,} attributes with vectors of {trained.config['D']} numbers"
    return f"{out}, and {attributes}: a language model in which a text's attributes change what its words mean."


def _data(trained: Trained) -> str:
    running = sum(int(vocabulary.counts.sum()) for vocabulary in trained.vocabularies)
    unknown = sum(int(vocabulary.counts[0]) for vocabulary in trained.vocabularies)
    tokeniser = "unknown" if trained.tokeniser is None else cell(trained.tokeniser)
    rows: list[list[Any]] = [
        ["words of training text", f"{running:,}"],
        ["of which not in the vocabulary", f"{unknown:,}"],
        ["vocabularies", len(trained.vocabularies)],
    ]
    return table(["", ""], rows) + f"\n\nTokeniser: {tokeniser}"


def _column(design: Design, q: int) -> str:
    """Its values with the words of training text of each, those with the most first."""
    column = design.columns[q]
    words = value_words(design, q)
    order = np.arange(len(column.values)) if words is None else np.argsort(-words, kind="stable")
    known = ["unknown"] * len(order) if words is None else [f"{n:,.0f}" for n in words]
    text = table(["value", "words of training text"], [[column.values[i], known[i]] for i in order[:SHOWN]])
    if len(order) > SHOWN:
        text += f"\n\nAnd {len(order) - SHOWN:,} more."
    if words is not None and (rare := int((words < FEW).sum())):
        text += f"\n\n{rare:,} of {len(order):,} values have less than {FEW:,} words: of these the model knows little."
    if column.knots is not None:
        text += "\n\nA column of numbers: what lies between two of these values has a share of both."
    return text


def _metrics(metrics: Mapping[str, Any]) -> str:
    rows = metrics["rows"]
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    text = table(["", *map(cell, names)], [[row, *(found.get(n, "–") for n in names)] for row, found in rows.items()])
    better = "lower is better" if metrics.get("lower_is_better") else "higher is better"
    return text + f"\n\nThe first to look at is {cell(metrics.get('primary_metric', ''))}; {better}."


def _load(trained: Trained, files: Sequence[str]) -> str:
    """Code for the files that are there."""
    word = trained.vocabulary.words[min(len(SPECIALS), len(trained.vocabulary) - 1)]
    column = trained.design.columns[0]
    given = f", given={{{column.name!r}: {column.values[0]!r}}}" if has_attributes(trained) else ""
    code = [f'import atd\n\ntrained = atd.load("{CHECKPOINT}")\ntrained.most_similar({word!r}{given})']
    gensim = {"words.txt": "", "words.bin": ", binary=True"}
    code += [GENSIM.format(file=file, options=gensim[file]) for file in files if file in gensim][:1]
    code += [READ.format(file=file) for file in files if file.split(".")[0] in ("words", "words-projector")][-1:]
    return "\n\n".join(f"```python\n{part}\n```" for part in code)
