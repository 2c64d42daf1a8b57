"""A large table, made up, and what it costs to read it: `python tests/datamodules/large_table.py write|read <path>`.

Words are drawn by Zipf's law from 300,000; a tenth carry a mark, as in running text.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

ROWS = 1_000_000
WORDS = 60  # of a row, on average
BATCH = 20_000  # rows


def write(path: Path, rows: int = ROWS) -> None:
    """(text, country, year, author) in the format of the file's name."""
    draw = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwyp"))
    words = np.array(["".join(draw.choice(letters, 2 + int(n))) for n in draw.poisson(4, 300_000)], dtype=object)
    words = np.concatenate([words, words[:30_000] + ","])
    shares = 1 / (np.arange(len(words)) % 300_000 + 3)
    shares[300_000:] /= 10
    edges = np.cumsum(shares / shares.sum())
    schema = pa.schema({name: pa.string() for name in ("text", "country", "year", "author")})
    csv = path.suffix == ".csv"
    with pa.csv.CSVWriter(path, schema) if csv else pa.parquet.ParquetWriter(path, schema) as out:
        for first in range(0, rows, BATCH):
            n = min(BATCH, rows - first)
            lengths = draw.poisson(WORDS, n) + 1
            chosen = words[np.minimum(np.searchsorted(edges, draw.random(lengths.sum())), len(words) - 1)]
            texts = [" ".join(part) for part in np.split(chosen, np.cumsum(lengths)[:-1])]
            country = [f"c{i}" for i in draw.integers(0, 40, n)]
            year = [str(i) for i in draw.integers(1990, 2020, n)]
            author = [f"a{i}" for i in draw.integers(0, rows // 20, n)]
            out.write_table(pa.table([texts, country, year, author], schema=schema))


def read(path: Path) -> dict[str, float]:
    """Seconds, words, and the largest resident memory in GB: of imports, and of reading, encoding and caching."""
    from datamodules.table import TableCorpus

    with tempfile.TemporaryDirectory() as cache:
        data = TableCorpus(
            name="large",
            path=path,
            text="text",
            attributes=["country", "year", "author"],
            continuous=["year"],
            context=5,
            batch_size=1024,
            seed=0,
            cache=cache,
            min_count=2,
        )
        imports = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start, used = time.perf_counter(), time.process_time()
        data.prepare_data()
        seconds, used = time.perf_counter() - start, time.process_time() - used
        data.setup()
        words = sum(len(part.tokens) for part in data.encoded.values())
        rows = sum(len(part) for part in data.encoded.values())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "rows": rows,
        "words": words,
        "vocabulary": len(data.vocabulary),
        "seconds": round(seconds, 2),
        "words_per_second": round(words / seconds),
        "words_per_processor_second": round(words / used),
        "imports_GB": round(imports / 2**20, 2),
        "peak_GB": round(peak / 2**20, 2),
    }


if __name__ == "__main__":
    what, name = sys.argv[1:3]
    if what == "write":
        write(Path(name), int(sys.argv[3]) if len(sys.argv) > 3 else ROWS)
    else:
        print(json.dumps(read(Path(name))))
