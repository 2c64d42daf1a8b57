"""Small valid files of every form that a reader takes, to be damaged."""

from __future__ import annotations

import io
import json
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from atd import vector_files

ROWS = [
    ("It was fine, and warm.", "1", "north"),
    ("“Grüße” said nobody;\nthe end", "2", "south"),
    ("a|b\tc d e f g h", "33", "north"),
    ("snow on the old pond", "", "east"),
]
COLUMNS = {
    "text": [row[0] for row in ROWS],
    "age": pa.array([1, 2, None, 33], pa.int32()),
    "place": pa.array([row[2] for row in ROWS]).dictionary_encode(),
    "list": [[1, 2], [], None, [3]],
}
NEWS = """<?xml version="1.0" encoding="iso-8859-1" ?>
<newsitem itemid="2286" id="root" date="1996-08-20" xml:lang="en">
<title>UK: Prices</title><headline>Prices rose &amp; fell</headline>
<text><p>Prices of é went up by 5 per cent.</p>
<p>And down.</p></text>
<metadata><codes class="bip:countries:1.0"><code code="UK"/></codes>
<codes class="bip:topics:1.0"><code code="CCAT"><editdetail date="1996-08-20"/></code><code code="C15"/></codes>
</metadata></newsitem>""".encode("latin-1")
BLOG = (
    b"<Blog>\n<date>31,May,2004</date>\n<post>\n Well & <b>good</b>\n</post>\n<date>1,May,2004</date><post>x</post>\n"
)
BOOK = "[Emma by Jane Austen 1816]\n\nVOLUME I\n\nCHAPTER I\n\n" + "\n\n".join(
    [f"Emma said to Mr. Weston: “No {i}!” Then he left. CHAPTER" for i in range(12)]
)
TREES = b"(3 (2 It) (4 (4 (2 's) (3 very)) (4 great)))\n(1 (2 -LRB-) (0 (1 not) (2 1\\/2)))\n(2 word)\n"
CONLLU = b"# text = It works\n1\tIt\tit\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2-3\tworks\t_\t_\t_\t_\t_\t_\t_\t_\n" * 2 + b"\n"
VECTORS = {"the": [1.0, 2.0, 3.0], "cat": [-1.0, 0.5, 0.25], "Paris": [0.0, 0.0, 1e-3]}
NAMED = vector_files.Vectors(list(VECTORS), np.array(list(VECTORS.values()), np.float32), {"n": np.arange(3)})


def csv_rows(sign: str) -> bytes:
    quoted = [sign.join(f'"{value}"' for value in row) for row in (("text", "age", "place"), *ROWS)]
    return ("\n".join(quoted) + "\n").encode()


def json_rows(between: str = "\n") -> bytes:
    rows = [{"text": t, "age": int(a or 0), "place": p, "more": [{"x": 1.5}]} for t, a, p in ROWS]
    return between.join(map(json.dumps, rows)).encode()


def parquet(**options: object) -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(COLUMNS), out, **options)
    return out.getvalue()


def arrow(stream: bool = False, compression: str | None = None, columns: dict | None = None) -> bytes:
    table, out = pa.table(columns or COLUMNS), io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(out, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=3)
    return out.getvalue()


def other_types() -> dict:
    """Columns that Arrow keeps in other ways."""
    texts = COLUMNS["text"]
    return {"text": pa.array(texts, pa.large_string()), "age": pa.array(texts, pa.string_view())}


def zipped(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), data)
    return out.getvalue()


def tarred(**files: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name.replace("__", "/").replace("_dot_", "."))
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def vector_text(header: bool) -> bytes:
    rows = "".join(f"{word} {' '.join(map(str, x))}\n" for word, x in VECTORS.items())
    return (f"{len(VECTORS)} 3\n" * header + rows).encode()


def vector_binary() -> bytes:
    rows = b"".join(word.encode() + b" " + struct.pack("<3f", *x) + b"\n" for word, x in VECTORS.items())
    return b"%d 3\n" % len(VECTORS) + rows


def written(kind: str, folder: Path) -> dict[str, bytes]:
    """The files of vectors of a kind, as the library writes them."""
    name = f"v{vector_files.ENDINGS[kind]}"
    vector_files.write(folder / name, NAMED, kind)
    files = [folder / name] if (folder / name).is_file() else sorted((folder / name).iterdir(), reverse=True)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def zst(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)
