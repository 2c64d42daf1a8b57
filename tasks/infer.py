"""Attribute vectors of new texts under a trained model: a text or a file in, a table of vectors out."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch

from atd import vector_files
from atd.errors import AtdError
from atd.files import whole
from atd.lm import MultiplicativeLM
from atd.named_vectors import Vectors
from atd.settings import Name, one_of
from atd.tokeniser import Tokeniser
from atd.vector_files import ENDINGS, KINDS
from atd.vocabulary import UNK_ID
from tasks.engine.check import Fits
from tasks.engine.result import Result
from tasks.engine.settings import typed
from tasks.engine.wording import beginning, counted

if TYPE_CHECKING:
    import pyarrow as pa
    from omegaconf import DictConfig

    from atd.inference import Inferred
    from tasks.learning.models import Trained

SHOWN = 20  # texts in the report
COLUMNS = ("text", "x", "nearest", "cosine", "nll", "iterations", "converged", "gradient")  # of the output
OUR_KEYS = {"path": "task.path", "text": "task.column", "drop_empty": "task.drop_empty"}  # of those of data=table
PLACE = "the names are the places of the texts, from 0;"
HOLDS = {
    "arrow": "one row per text, vector in x;",
    "parquet": "one row per text, vector in x;",
    "csv": "one row per text, vector in x0, x1, …;",
    "projector": f"a folder for TensorBoard; {PLACE}",
    "safetensors": f"the tensor `vectors` and the columns of numbers; {PLACE}",
    "word2vec": f"vectors alone; {PLACE}",
    "word2vec-binary": f"vectors alone; {PLACE}",
}

FITS = Fits()
GROUPS = {"text": Name | None}  # a key beside the task's own: short for task.text


@dataclass(frozen=True)
class Settings:
    name: str
    text: Name | None
    path: str | None  # a text file of one text per line, or a table as data=table reads it
    column: str  # of the table: its texts
    keep: list[str]  # columns of the table that stand beside the vectors
    drop_empty: bool  # leave rows without text out; else they are an error
    format: Annotated[str, one_of(*KINDS)]
    tokeniser: dict[str, Any]  # for checkpoints that do not say how their corpus was tokenised


def run(cfg: DictConfig, out: Path) -> Result:
    from tasks.learning.inference import predict
    from tasks.learning.models import load

    task = typed(Settings, cfg.task)
    if cfg.checkpoint is None:
        raise AtdError("checkpoint: give a trained model, such as checkpoint=outputs/attributes/2026-01-31_12-00-00")
    table = read_texts(task)
    trained = load(cfg.checkpoint)
    if not isinstance(trained.model, MultiplicativeLM) or len(trained.vocabularies) > 1:
        raise AtdError(f"checkpoint={cfg.checkpoint}: inference needs model=atd or model=paper, with one vocabulary")
    trained.tokeniser = trained.tokeniser or Tokeniser.of(task.tokeniser)
    tokens, offsets = trained.tokens(table["text"]).flat
    found = predict(trained.model, tokens, offsets, cfg.inference, seed=cfg.seed, accelerator=cfg.trainer.accelerator)
    table = as_table(table, found, trained)
    path = write(table, found.x.numpy(), out, task.format)
    known = torch.diff(torch.cat([torch.zeros(1), (tokens != UNK_ID).float().cumsum(0)])[offsets])
    words = float(known.sum())
    row = {
        "texts": len(table),
        "known_words": int(words),
        "perplexity": float((found.nll.sum() / max(words, 1)).exp()),
        "converged": float(100 * found.converged.double().mean()),
        "iterations": float(found.iterations.double().mean()),
    }
    result = Result("infer", "infer/perplexity", {"infer": row}, lower_is_better=True)
    often = Counter(table["nearest"].to_pylist()).most_common(1)[0]
    nearest = often[0] if len(table) == 1 else f"for {often[1]:,} of them {often[0]}"
    result.verdict = (
        f"{counted(len(table), 'text')} with {counted(int(words), 'known word')}: the vectors are in {path.name}, "
        f"{len(found.x[0])} numbers for each text. The nearest attribute is {nearest}."
    )
    result.text("Where the vectors are", [f"{path.name}: {HOLDS[task.format]} D = {len(found.x[0])}."])
    names = ("text", "nearest", "cosine", "iterations")
    shown = table.slice(0, SHOWN).select(names).to_pylist()
    rows = [
        [beginning(one["text"], 120), one["nearest"], float(one["cosine"]), int(one["iterations"])] for one in shown
    ]
    result.table("Texts", ["text", "nearest attribute", "cosine", "iterations"], rows)
    return result


def read_texts(task: Settings) -> pa.Table:
    """Table(text, *keep): task.text, the lines of a text file, or a table as data=table reads it."""
    import pyarrow as pa

    from datamodules.readers.files import Place
    from datamodules.readers.table import FORMATS, read_table

    if (task.text is None) == (task.path is None):
        raise AtdError('text, task.path: give one of them, as in text="a fine film" or task.path=texts.csv')
    if taken := next((name for name in task.keep if name in COLUMNS or vector_files.taken(name)), None):
        raise AtdError(f"task.keep={taken}: the output has a column of this name; rename it in the table")
    if task.text is not None:
        return pa.table({"text": [task.text]})
    path = Path(str(task.path))
    kind = path.name.removesuffix(".gz").removesuffix(".zst").rpartition(".")[2].lower()
    if path.is_file() and kind not in FORMATS:
        if task.keep:
            raise AtdError(f"task.keep={task.keep[0]}: {path} has lines and no columns; give a table")
        return pa.table({"text": Place(path).lines()})
    try:
        return read_table(path, task.column, task.keep, task.drop_empty)
    except AtdError as error:
        raise AtdError(re.sub(r"\bdata\.(\w+)", lambda key: OUR_KEYS.get(key[1], key[0]), str(error))) from None


def as_table(texts: pa.Table, found: Inferred, trained: Trained) -> pa.Table:
    """One row per text: what was kept, the vector, the trained attribute nearest to it, the solver's certificate."""
    import pyarrow as pa

    x, L = (torch.nn.functional.normalize(v, dim=1) for v in (found.x, trained.model.vectors().detach()))
    cosine, nearest = (x @ L.T).max(1)
    return pa.table(
        {
            **{name: texts[name] for name in texts.column_names},
            "x": pa.FixedSizeListArray.from_arrays(found.x.flatten().numpy(), found.x.shape[1]),
            "nearest": [trained.attributes[i] for i in nearest.tolist()],
            "cosine": cosine.numpy(),
            "nll": found.nll.numpy(),
            "iterations": found.iterations.numpy(),
            "converged": found.converged.numpy(),
            "gradient": found.grad_norm.numpy(),
        }
    )


def write(table: pa.Table, x_nD: np.ndarray, out: Path, kind: str) -> Path:
    """Arrow and Parquet keep x as a list; CSV spreads it over the columns x0, x1, …

    The other kinds name the texts by their place, from 0, and hold of the columns what they can.
    """
    import pyarrow as pa
    from pyarrow import csv, feather, parquet

    path = out / f"vectors{ENDINGS[kind]}"
    others = table.drop_columns(["x"])
    if kind not in ("arrow", "parquet", "csv"):
        columns = {name: others[name].to_pylist() for name in others.column_names}
        return vector_files.write(path, Vectors(list(map(str, range(len(table)))), x_nD, columns), kind)
    with whole(path) as part:
        if kind == "arrow":
            feather.write_feather(table, str(part), compression="uncompressed")
        elif kind == "parquet":
            parquet.write_table(table, part)
        else:
            numbers = {f"x{d}": pa.array(x_nD[:, d]) for d in range(x_nD.shape[1])}
            csv.write_csv(pa.table({name: others[name] for name in others.column_names} | numbers), part)
    return path
