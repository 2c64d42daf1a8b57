"""Attribute vectors of new texts under a trained model: a text or a file in, a table of vectors out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch

from atd.errors import AtdError
from atd.lm import MultiplicativeLM
from atd.settings import one_of
from atd.tokeniser import Tokeniser
from atd.vocabulary import UNK_ID
from tasks.engine.check import Fits
from tasks.engine.result import Result
from tasks.engine.settings import typed

if TYPE_CHECKING:
    import pyarrow as pa
    from omegaconf import DictConfig

    from tasks.learning.models import Trained

SHOWN = 20  # texts in the report

FITS = Fits()


@dataclass(frozen=True)
class Settings:
    name: str
    text: str | None
    path: str | None  # a file: one text per line, or a column of a .csv, .tsv or .arrow file
    column: str
    format: Annotated[str, one_of("arrow", "csv")]
    tokeniser: dict[str, Any]  # for checkpoints that do not say how their corpus was tokenised


def run(cfg: DictConfig, out: Path) -> Result:
    from tasks.learning.inference import predict
    from tasks.learning.models import load

    task = typed(Settings, cfg.task)
    if cfg.checkpoint is None:
        raise AtdError("checkpoint: give a trained model, such as checkpoint=outputs/attributes/2026-01-31_12-00-00")
    texts = read_texts(task)
    trained = load(cfg.checkpoint)
    if not isinstance(trained.model, MultiplicativeLM) or len(trained.vocabularies) > 1:
        raise AtdError(f"checkpoint={cfg.checkpoint}: inference needs model=atd or model=paper, with one vocabulary")
    trained.tokeniser = trained.tokeniser or Tokeniser.of(task.tokeniser)
    tokens, offsets = trained.tokens(texts).flat
    found = predict(trained.model, tokens, offsets, cfg.inference, seed=cfg.seed, accelerator=cfg.trainer.accelerator)
    table = as_table(texts, found, trained)
    path = write(table, out, task.format)
    known = torch.diff(torch.cat([torch.zeros(1), (tokens != UNK_ID).float().cumsum(0)])[offsets])
    words = float(known.sum())
    row = {
        "texts": len(texts),
        "known_words": words,
        "perplexity": float((found.nll.sum() / max(words, 1)).exp()),
        "converged": float(100 * found.converged.double().mean()) if len(texts) else 100.0,
        "iterations": float(found.iterations.double().mean()) if len(texts) else 0.0,
    }
    result = Result("infer", "infer/perplexity", {"infer": row}, lower_is_better=True)
    result.text("Where the vectors are", [f"{path.name}: one row per text, vector in x (D = {found.x.shape[1]})."])
    shown = [[t[:120], a, float(c), int(i)] for t, a, c, i in zip(
        texts[:SHOWN], table["nearest"].to_pylist(), table["cosine"].to_pylist(), table["iterations"].to_pylist(),
        strict=False)]  # fmt: skip
    result.table("Texts", ["text", "nearest attribute", "cosine", "iterations"], shown)
    return result


def read_texts(task: Settings) -> list[str]:
    """task.text, or the lines of a text file, or a column of a CSV or Arrow file."""
    if (task.text is None) == (task.path is None):
        raise AtdError('text, task.path: give one of them, as in text="a fine film" or task.path=texts.csv')
    if task.text is not None:
        return [task.text]
    path = Path(str(task.path))
    try:
        if path.suffix in (".csv", ".tsv", ".arrow", ".feather"):
            return read_column(path, task.column)
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise AtdError(f"task.path={path}: not readable ({error}); give a UTF-8 text, CSV or Arrow file") from None


def read_column(path: Path, column: str) -> list[str]:
    import pyarrow as pa
    from pyarrow import csv, feather

    try:
        if path.suffix in (".csv", ".tsv"):
            delimiter = "," if path.suffix == ".csv" else "\t"
            options = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
            table = csv.read_csv(path, parse_options=options)
        else:
            table = feather.read_table(path)
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise AtdError(f"task.path={path}: not readable ({reason}); give a UTF-8 text, CSV or Arrow file") from None
    if column not in table.column_names:
        raise AtdError(f"task.column={column}: {path} has the columns {', '.join(table.column_names)}")
    return ["" if text is None else str(text) for text in table[column].to_pylist()]


def as_table(texts: list[str], found, trained: Trained) -> pa.Table:
    """One row per text: the vector, the trained attribute nearest to it, and the solver's certificate."""
    import pyarrow as pa

    x, L = (torch.nn.functional.normalize(v, dim=1) for v in (found.x, trained.model.vectors().detach()))
    cosine, nearest = (x @ L.T).max(1)
    return pa.table(
        {
            "text": texts,
            "x": pa.FixedSizeListArray.from_arrays(found.x.flatten().numpy(), found.x.shape[1]),
            "nearest": [trained.attributes[i] for i in nearest.tolist()],
            "cosine": cosine.numpy(),
            "nll": found.nll.numpy(),
            "iterations": found.iterations.numpy(),
            "converged": found.converged.numpy(),
            "gradient": found.grad_norm.numpy(),
        }
    )


def write(table: pa.Table, out: Path, kind: str) -> Path:
    """Arrow keeps x as a list; CSV spreads it over the columns x0, x1, …"""
    import pyarrow as pa
    from pyarrow import csv, feather

    path = out / f"vectors.{kind}"
    if kind == "arrow":
        feather.write_feather(table, path, compression="uncompressed")
        return path
    x = np.stack(table["x"].to_pylist()) if len(table) else np.zeros((0, table["x"].type.list_size))
    spread = table.drop_columns(["x"])
    for d in range(x.shape[1]):
        spread = spread.append_column(f"x{d}", pa.array(x[:, d]))
    csv.write_csv(spread, path)
    return path
