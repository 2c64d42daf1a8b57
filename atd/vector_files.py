"""Files of named vectors, in the formats that other programs read; what is written here can be read back.

    write("words.safetensors", Vectors(names, x_nK))
    read("words.safetensors").x_nK

| kind | what it holds besides names and vectors |
|---|---|
| word2vec, word2vec-binary | nothing; blanks in names become `_` |
| safetensors | columns of numbers, each a tensor; the names are JSON in the metadata |
| parquet, arrow, csv | all columns |
| projector | all columns; a folder that TensorBoard opens |

n names, K numbers of a vector.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from atd import projector, vector_tables, word2vec
from atd.errors import AtdError, printable, reason_of
from atd.files import whole
from atd.named_vectors import Vectors, checked

ENDINGS = {
    "word2vec": ".txt",
    "word2vec-binary": ".bin",
    "safetensors": ".safetensors",
    "parquet": ".parquet",
    "arrow": ".arrow",
    "csv": ".csv",
    "projector": "",  # a folder
}
KINDS = tuple(ENDINGS)
OF_ENDING = {ending: kind for kind, ending in ENDINGS.items() if ending} | {".feather": "arrow", ".vec": "word2vec"}
HEADER = 100_000_000  # bytes that the header of a safetensors file may have


def write(path: str | Path, vectors: Vectors, kind: str | None = None) -> Path:
    """Write one file, of a projector one folder. What was there stays until the new file is whole."""
    path = Path(path)
    kind = kind or OF_ENDING.get(path.suffix.lower())
    if kind is None:
        raise AtdError(f"{path}: its ending says no kind; use {', '.join(OF_ENDING)}, or give a kind of {_kinds()}")
    if kind not in WRITERS:
        raise AtdError(f"{path}: there is no kind {kind!r}; it is one of {_kinds()}")
    if strange := next(filter(taken, vectors.columns), None):
        raise AtdError(f"{path}: no column can be called {strange!r}, which is taken; rename it")
    try:
        WRITERS[kind](path, vectors)
    except ModuleNotFoundError as error:
        raise _absent(path, error) from None
    except OSError as error:
        raise AtdError(f"{path}: cannot be written ({error.strerror or error}); choose another place") from None
    return path


def read(path: str | Path, kind: str | None = None) -> Vectors:
    """Names and vectors of a file, or of a projector's folder, that `write` or another program wrote."""
    path = Path(path)
    kind = kind or kind_of(path)
    if kind not in READERS:
        raise AtdError(f"{path}: there is no kind {kind!r}; it is one of {_kinds()}")
    if not path.exists():
        raise AtdError(f"{path}: no such file; give a file of vectors, such as words.txt or words.safetensors")
    try:
        return _sound(path, READERS[kind](path))
    except AtdError:
        raise
    except ModuleNotFoundError as error:
        raise _absent(path, error) from None
    except Exception as error:
        raise AtdError(f"{path}: not readable ({printable(reason_of(error))}); write or fetch it anew") from None


def _sound(path: Path, vectors: Vectors) -> Vectors:
    """The same, if names are text and vectors are numbers."""
    if not vectors.x_nK.size:
        raise AtdError(f"{path}: holds no vectors, or vectors of no numbers; write or fetch it anew")
    if len(wrong := np.flatnonzero(~np.isfinite(vectors.x_nK).all(1))):
        name = printable(str(vectors.names[wrong[0]]))
        raise AtdError(f"{path}: the vector of {name!r} is not of numbers; write or fetch it anew")
    if (strange := next((name for name in vectors.names if not isinstance(name, str)), "")) != "":
        raise AtdError(f"{path}: {printable(repr(strange))} is a name that is no text; write it anew")
    return vectors


def lookup(path: str | Path, wanted: set[str]) -> dict[str, np.ndarray]:
    """The vectors (K) of the names that are wanted, as far as a file has them."""
    path = Path(path)
    if kind_of(path).startswith("word2vec"):
        return word2vec.read(path, wanted)
    found = read(path)
    return {name: x_K for name, x_K in zip(found.names, found.x_nK, strict=True) if name in wanted}


def taken(column: str) -> bool:
    """Whether the files themselves have a column of this name."""
    return column in ("name", "vector", "vectors") or vector_tables.NUMBERED.fullmatch(column) is not None


def kind_of(path: Path) -> str:
    """The kind of a file that is there; one of an ending that is not known is taken for word2vec or GloVe."""
    if path.is_dir() or path.name == projector.TENSORS:
        return "projector"
    return OF_ENDING.get(path.suffix.lower(), "word2vec")


def _kinds() -> str:
    return ", ".join(KINDS)


def _absent(path: Path, error: ModuleNotFoundError) -> AtdError:
    package = str(error.name).split(".")[0]
    return AtdError(f"{path}: needs the package {package}, which is not installed; pip install {package}")


def _write_word2vec(path: Path, vectors: Vectors) -> None:
    names = word2vec.without_blanks(path, vectors.names)
    with whole(path) as part, part.open("wb") as file:
        word2vec.write_text(file, names, vectors.x_nK)


def _write_word2vec_binary(path: Path, vectors: Vectors) -> None:
    names = word2vec.without_blanks(path, vectors.names)
    with whole(path) as part, part.open("wb") as file:
        word2vec.write_binary(file, names, vectors.x_nK)


def _read_word2vec(path: Path) -> Vectors:
    found = word2vec.read(path)
    return Vectors(list(found), np.stack(list(found.values())))


def _write_safetensors(path: Path, vectors: Vectors) -> None:
    from safetensors.numpy import save_file

    names = json.dumps(list(vectors.names), ensure_ascii=False)
    if len(names.encode()) > HEADER // 2:  # quotes and backslashes are written twice
        raise AtdError(f"{path}: the names are too long for the header of a safetensors file; write parquet")
    columns = {name: np.asarray(column) for name, column in vectors.columns.items()}
    numbers = {name: np.ascontiguousarray(column) for name, column in columns.items() if column.dtype.kind in "biuf"}
    with whole(path) as part:
        save_file({"vectors": np.ascontiguousarray(vectors.x_nK), **numbers}, part, {"names": names})


def _read_safetensors(path: Path) -> Vectors:
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        names = json.loads((file.metadata() or {}).get("names", "null"))
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    tables = [name for name, tensor in tensors.items() if tensor.dim() == 2]
    if not isinstance(names, list) or ("vectors" not in tables and len(tables) != 1):
        raise AtdError(f"{path}: needs a tensor `vectors` (n×K) and in its metadata `names`, a JSON list of n names")
    x_nK = tensors.pop("vectors" if "vectors" in tables else tables[0]).float().numpy()
    return checked(path, Vectors(names, x_nK, {name: tensor.numpy() for name, tensor in tensors.items()}))


WRITERS: dict[str, Callable[[Path, Vectors], None]] = {
    "word2vec": _write_word2vec,
    "word2vec-binary": _write_word2vec_binary,
    "safetensors": _write_safetensors,
    "parquet": vector_tables.write_parquet,
    "arrow": vector_tables.write_arrow,
    "csv": vector_tables.write_csv,
    "projector": projector.write,
}
READERS: dict[str, Callable[[Path], Vectors]] = {
    "word2vec": _read_word2vec,
    "word2vec-binary": _read_word2vec,
    "safetensors": _read_safetensors,
    "parquet": vector_tables.read_parquet,
    "arrow": vector_tables.read_arrow,
    "csv": vector_tables.read_csv,
    "projector": projector.read,
}
