"""What the commands of `atd` do. Results go to stdout or to the file that --out names.

n texts, D attribute dim.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from atd.errors import AtdError
from atd.estimator import AttributeModel
from atd.models import load
from atd.table import column_of, texts_of
from atd.table_files import read_columns
from atd.trained import Given

SETTINGS = (  # of a model and its training, as `atd fit` and the estimator call them
    *("K", "F", "D", "context", "epochs", "min_steps", "batch_size", "lr", "min_count"),
    *("validation", "seed", "precision", "threads"),
)


def fit(asked: Namespace) -> None:
    settings = {name: getattr(asked, name) for name in SETTINGS if getattr(asked, name) is not None}
    old = load(asked.init_from) if asked.init_from else None
    if old is None and asked.attributes is None and asked.formula is None:
        raise AtdError("say what describes the texts: --attributes age gender, or --formula 'age*gender'")
    model = AttributeModel(
        asked.attributes,
        asked.formula,
        asked.continuous or (),
        text=asked.text,
        group=asked.group,
        tokeniser={"language": asked.language},
        init_from=old,
        freeze=not asked.no_freeze,
        verbose=sys.stderr.isatty(),
        **settings,
    )
    wanted = [name for term in model.terms(old=old) for name in term]
    table = read_columns(asked.table, [asked.text, *wanted, *([asked.group] if asked.group else [])])
    model.fit(table)
    trained = model.trained
    model.save(asked.out)
    held = "" if model.perplexity_ is None else f", perplexity {model.perplexity_:.1f} on rows held out"
    learned = f"{len(trained.attributes)} attributes and {len(trained.vocabulary):,} words"
    print(f"{asked.out}: {learned}, {len(model.history_)} epochs{held}")


def similar(asked: Namespace) -> None:
    found = load(asked.model).most_similar(asked.word, given_of(asked.given), asked.n, min_count=asked.min_count)
    write_rows([[word, f"{cosine:.3f}"] for word, cosine in found])


def compare(asked: Namespace) -> None:
    found = load(asked.model).compare(asked.word, asked.a, asked.b, asked.n, asked.min_count)
    parts = {"both": found.common, f"only {asked.a}": found.only_a, f"only {asked.b}": found.only_b}
    write_rows([[name, " ".join(words)] for name, words in parts.items()])


def generate(asked: Namespace) -> None:
    trained = load(asked.model)
    for seed in range(asked.seed, asked.seed + asked.n):
        print(trained.generate(given_of(asked.given), asked.words, seed, asked.temperature))


def encode(asked: Namespace) -> None:
    """csv: a line for every text; npy: the matrix (n×D)."""
    trained = load(asked.model)
    x_nD = trained.encode(texts_in(asked))
    if asked.out and asked.out.endswith(".npy"):
        np.save(asked.out, x_nD)
        return
    rows = [[f"{value:.6g}" for value in x_D] for x_D in x_nD.tolist()]
    write_rows([[f"x{d}" for d in range(x_nD.shape[1])], *rows], asked.out, ",")


def predict(asked: Namespace) -> None:
    """A line for every text: the likeliest value and its probability."""
    trained = load(asked.model)
    values, p_nV = trained.probabilities(texts_in(asked), asked.column)
    best_n = p_nV.argmax(1)
    rows = [[values[best], f"{p[best]:.3f}"] for best, p in zip(best_n, p_nV, strict=True)]
    write_rows([["value", "probability"], *rows], asked.out, ",")


def export(asked: Namespace) -> None:
    """A file of word vectors, or to a folder all that the model knows."""
    vectors = late("export")
    trained, given = load(asked.model), given_of(asked.given)
    if Path(asked.out).suffix:
        print(vectors.export(trained, asked.out, asked.kind, given))
        return
    chosen = {"kinds": [asked.kind]} if asked.kind else {}
    for one in vectors.write_folder(trained, asked.out, given=[] if given is None else [given], **chosen):
        print(f"{one.path}: {one.what}")


def card(asked: Namespace) -> None:
    text = late("card").card(load(asked.model))
    if asked.out:
        Path(asked.out).write_text(text, encoding="utf-8")
    else:
        print(text, end="")


def effects(asked: Namespace) -> None:
    """The words whose use differs most between the values of a column, the surest first."""
    trained = load(asked.model)
    table = read_columns(asked.texts, [asked.text, asked.column])
    column = next((one for one in trained.design.columns if one.name == asked.column), None)
    if column is None or column.knots is not None:
        names = ", ".join(one.name for one in trained.design.columns if one.knots is None)
        raise AtdError(f"{asked.column!r} is no column of names of this model; it has {names}")
    ids_nJ, _ = column.encode(column_of(table, asked.column))
    found = late("effects").effects(trained.tokens(texts_of(table, asked.text)), ids_nJ[:, 0], trained.vectors())
    rows = []
    for i in found.order()[: asked.n]:
        word = trained.vocabulary.words[found.words_W[i]]
        rows.append([word, f"{found.distance_W[i]:.3f}", f"{found.p_W[i]:.4f}", f"{found.q_W[i]:.4f}"])
    write_rows([["word", "distance", "p", "q"], *rows], asked.out)


def explore(asked: Namespace) -> None:
    """The platform's page, which runs from a checkout."""
    program = Path(__file__).resolve().parent.parent / "run.py"
    if not program.is_file():
        raise AtdError("the explorer is part of the platform: in a checkout, pip install -e '.[page]', then the same")
    trained_at = json.dumps(str(Path(asked.model).resolve()))
    done = subprocess.call([sys.executable, str(program), "task=explore", f"checkpoint={trained_at}"])
    if done:
        raise AtdError(f"the explorer ended with code {done}")


def late(name: str) -> Any:
    """A module of the library that only one command needs."""
    from importlib import import_module

    try:
        return import_module(f"atd.{name}")
    except ImportError as error:
        raise AtdError(f"this needs {error.name or name}, which is not installed") from None


def texts_in(asked: Namespace) -> list[str]:
    return texts_of(read_columns(asked.texts, [asked.text]), asked.text)


def given_of(words: Sequence[str] | None) -> Given:
    """`gender=f age=20s` as columns and values; one word alone is a name or a sum of names."""
    if not words or len(words) == 1:
        return words[0] if words else None
    pairs = [word.partition("=") for word in words]
    if strange := [word for word, (_, sign, _) in zip(words, pairs, strict=True) if not sign]:
        raise AtdError(f"--given {strange[0]}: of several, each is a column and its value, such as gender=f")
    return {name: value for name, _, value in pairs}


def write_rows(rows: Iterable[Sequence[str]], out: str | None = None, sign: str = "\t") -> None:
    if out is None:
        csv.writer(sys.stdout, delimiter=sign, lineterminator="\n").writerows(rows)
        return
    with open(out, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=sign, lineterminator="\n").writerows(rows)
