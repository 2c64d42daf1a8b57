"""What is cached comes back as it was; damage, full disks and second processes are survived."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.vocabulary import Vocabulary
from datamodules.cache import fingerprint, open_or_build

ROOT = Path(__file__).parents[2]


def make(attributes: str = "document", n: int = 5000, documents: int = 50) -> EncodedCorpus:
    rng = np.random.default_rng(0)
    shape = {"document": documents, "many": (documents, 2), "token": n}[attributes]
    return EncodedCorpus(
        tokens=rng.integers(0, 9, n).astype(np.int32),
        offsets=np.concatenate([[0], np.sort(rng.integers(0, n, documents - 1)), [n]]).astype(np.int64),
        attributes=rng.integers(0, 9, shape).astype(np.int32),
        columns={"title": pa.array([f"t{i}" for i in range(documents)]), "even": np.arange(documents) % 2 == 0},
        meta={"vocabulary": Vocabulary.from_counts({"a": 3, "é": 1}).state(), "attributes": ["x", "y"]},
        per_token=attributes == "token",
    )


def unwanted() -> EncodedCorpus:
    raise AssertionError("the cache should have been used")


def same(a: EncodedCorpus, b: EncodedCorpus) -> bool:
    arrays = all(np.array_equal(getattr(a, x), getattr(b, x)) for x in ("tokens", "offsets", "attributes"))
    columns = all(list(map(str, a.columns[c])) == list(map(str, b.columns[c])) for c in a.columns)
    return arrays and columns and a.meta == b.meta and a.per_token == b.per_token


@pytest.mark.parametrize("attributes", ["document", "many", "token"])
def test_comes_back_as_it_was(tmp_path, attributes):
    made = make(attributes)
    for build in (lambda: made, unwanted):
        opened = open_or_build({"a": 1}, build, tmp_path)
        assert same(opened, made)
        assert opened.tokens.dtype == opened.attributes.dtype == np.int32
        assert opened.attributes.shape == made.attributes.shape
        assert opened.vocabulary.words[3:] == ["a", "é"]
        assert not opened.tokens.flags.owndata and not opened.tokens.flags.writeable  # mapped, not read


def test_an_empty_corpus_comes_back(tmp_path):
    empty = EncodedCorpus(np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int32))
    opened = open_or_build({}, lambda: empty, tmp_path)
    assert len(opened) == 0 and len(opened.tokens) == 0


def test_other_settings_or_files_make_another_cache(tmp_path):
    source = tmp_path / "text"
    source.write_text("one")
    names = set()
    for content, settings in (("one", 1), ("one", 2), ("other", 1)):
        source.write_text(content)
        os.utime(source, ns=(0, len(content)))
        open_or_build({"files": fingerprint([source]), "min_count": settings}, make, tmp_path / "cache")
        names = {p.name for p in (tmp_path / "cache").glob("*.arrow")}
    assert len(names) == 3


def test_rebuild(tmp_path):
    open_or_build({}, make, tmp_path)
    assert len(open_or_build({}, lambda: make(documents=3), tmp_path, rebuild=True)) == 3
    assert len(open_or_build({}, unwanted, tmp_path)) == 3


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        flip,
        lambda p: p.write_bytes(p.read_bytes()[:-100]),
        lambda p: p.write_bytes(b""),
        lambda p: p.with_suffix(".json").write_text("{"),
        lambda p: p.with_suffix(".json").write_text("{}"),
    ],
)
def test_a_damaged_cache_is_built_anew_with_a_warning(tmp_path, damage):
    open_or_build({}, make, tmp_path)
    damage(next(tmp_path.glob("*.arrow")))
    with pytest.warns(UserWarning, match=r"damaged and will be built anew"):
        assert same(open_or_build({}, make, tmp_path), make())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_or_build({}, unwanted, tmp_path)


def test_a_failing_build_leaves_nothing(tmp_path):
    def fails():
        raise AtdError("the text is bad")

    with pytest.raises(AtdError, match="the text is bad"):
        open_or_build({}, fails, tmp_path)
    assert [p.suffix for p in tmp_path.iterdir()] == [".lock"]


def test_a_full_disk_is_one_line_and_leaves_the_old_cache(tmp_path):
    """The limit on file size makes writing fail in the middle, as a full disk does."""
    open_or_build({"a": 1}, make, tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        for key in ({"a": 1}, {"a": 2}):
            with pytest.raises(AtdError, match=r"arrow: cannot be written .*; make room or set paths.cache") as error:
                open_or_build(key, make, tmp_path, rebuild=True)
            assert "\n" not in str(error.value)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    after = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.name in before or p.suffix != ".lock"}
    assert after == before


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AtdError, match=r"cannot be written .*set paths.cache"):
        open_or_build({}, make, tmp_path / "file" / "cache")


def build_slowly(folder: Path, log: Path) -> None:
    def build():
        with open(log, "a") as file:
            file.write("built\n")
        time.sleep(0.5)
        return make()

    assert same(open_or_build({}, build, folder), make())


def test_of_two_processes_one_builds(tmp_path):
    log = tmp_path / "log"
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=build_slowly, args=(tmp_path / "cache", log)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
        assert process.exitcode == 0
    assert log.read_text() == "built\n"


def test_columns_may_be_arrow_arrays(tmp_path):
    made = make()
    made.columns = {"kind": pa.array(["a", "b"] * 25).dictionary_encode(), "gone": pa.array([None, 1] * 25)}
    opened = open_or_build({}, lambda: made, tmp_path).take(np.arange(2, 4))
    assert opened.columns["kind"].to_pylist() == ["a", "b"] and opened.columns["gone"].to_pylist() == [None, 1]


def test_the_key_can_be_read_beside_the_file(tmp_path):
    open_or_build({"min_count": 5, "path": Path("x")}, make, tmp_path, name="books")
    facts = json.loads(next(tmp_path.glob("books-*.json")).read_text())
    assert facts["key"]["min_count"] == 5 and facts["key"]["path"] == "x"


@pytest.mark.slow
def test_fifty_million_tokens_open_in_little_memory(tmp_path):
    open_or_build({}, lambda: make(n=50_000_000, documents=1_000_000), tmp_path)
    code = (
        "import re, sys; from datamodules.cache import open_or_build\n"
        "rss = lambda: int(re.search(r'VmRSS:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        f"before = rss(); c = open_or_build({{}}, None, {str(tmp_path)!r}); print(rss() - before, len(c.tokens))"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    added, tokens = map(int, out.split())
    assert tokens == 50_000_000 and added < 200_000, f"{added} kB"
