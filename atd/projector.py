"""A folder that TensorBoard's projector opens: tensors.tsv, metadata.tsv and what says where they are.

`tensorboard --logdir folder` reads projector_config.pbtxt; the projector on the web is given both tables by hand, or
projector_config.json. Its tables know no quotes, so a tab is written `\\t`, a line end `\\n`, a backslash twice.

n names, K numbers of a vector.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from atd.files import whole
from atd.named_vectors import Vectors, checked

TENSORS = "tensors.tsv"
METADATA = "metadata.tsv"
PBTXT = f'embeddings {{\n  tensor_name: "vectors"\n  tensor_path: "{TENSORS}"\n  metadata_path: "{METADATA}"\n}}\n'
ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
EMPTY = "\\0"  # a line without a letter would be passed over
LETTERS = {escape: letter for letter, escape in ESCAPES.items()} | {EMPTY: ""}


def write(folder: Path, vectors: Vectors) -> None:
    """The metadata has a header if it has several columns, as TensorBoard wants it."""
    with whole(folder / TENSORS) as part, part.open("w", newline="\n") as file:
        file.writelines("\t".join(f"{x:.9g}" for x in x_K) + "\n" for x_K in vectors.x_nK.tolist())
    with whole(folder / METADATA) as part, part.open("w", newline="\n", encoding="utf-8") as file:
        if vectors.columns:
            file.write(_line("name", *vectors.columns))
        file.writelines(_line(name, *others) for name, others, _ in vectors.rows())
    one = {"tensorName": "vectors", "tensorShape": list(vectors.x_nK.shape)}
    config = {"embeddings": [one | {"tensorPath": TENSORS, "metadataPath": METADATA}]}
    for ending, text in (("json", json.dumps(config, indent=2) + "\n"), ("pbtxt", PBTXT)):
        with whole(folder / f"projector_config.{ending}") as part:
            part.write_text(text, encoding="utf-8")


def read(path: Path) -> Vectors:
    """From the folder, or its tensors.tsv. Values of columns come back as text."""
    folder = path if path.is_dir() else path.parent
    rows = (folder / TENSORS).read_text(encoding="utf-8").splitlines()
    x_nK = np.array([row.split("\t") for row in rows], dtype=np.float32)
    with (folder / METADATA).open(newline="\n", encoding="utf-8") as file:
        lines = [[_unescaped(cell) for cell in line.removesuffix("\n").split("\t")] for line in file]
    header = lines.pop(0) if len(lines) == len(rows) + 1 else ["name"]
    columns = {name: [line[i] for line in lines] for i, name in enumerate(header) if i}
    return checked(folder, Vectors([line[0] for line in lines], x_nK, columns))


def _line(*cells: Any) -> str:
    return "\t".join(map(_escaped, cells)) + "\n"


def _escaped(value: Any) -> str:
    return "".join(ESCAPES.get(letter, letter) for letter in str(value)) or EMPTY


def _unescaped(text: str) -> str:
    return re.sub(r"\\[\\tnr0]", lambda found: LETTERS[found[0]], text)
