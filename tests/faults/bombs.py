"""Small files that cost much: each is refused, or read within the limits on time and memory."""

from __future__ import annotations

import functools
import gzip
import io
import itertools
import json
import lzma
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from atd import vector_files
from atd.pretrained import read_vectors
from atd.table_files import read_columns
from datamodules.readers.archive import extract
from datamodules.readers.table import read_table
from tests.faults import seeds
from tests.faults.families import KNOWN, Seed, books, families, one
from tests.faults.fault import Effort, Fault
from tests.faults.limits import outcomes, record
from tests.faults.readers import folder as fresh
from tests.faults.readers import put

MB = 1 << 20
MUCH = 8 * MB * b"a"  # once, in a frame of its own; frames of gzip and zstd can stand one after another
FRAMES = 256  # 2 GB
BIG = 10  # times, for what cannot stand in frames
QUICK = 5  # of a kind: the first, so those that are made in no time


def faults(effort: Effort) -> Iterator[Fault]:
    with fresh() as scratch:
        for name, made in KINDS.items():
            cases = list(itertools.islice(made(effort), effort.times(10_000, QUICK)))
            data = scratch / "data"
            trial = functools.partial(explode, cases, data)
            found = outcomes(trial, range(len(cases)), str(data))
            again = f"python -m tests.faults bombs --seed {effort.seed}, and of '{name}' the one of number {{case}}"
            yield record(Fault("bombs", name), found, again)


def explode(cases: list[Seed], data: Path, case: int) -> None:
    put(cases[case].files, data)
    cases[case].read(data)


def everywhere(ending: str, data: bytes) -> Iterator[Seed]:
    """The same file as every kind of table, as text, vectors and lines of an archive."""
    for kind in ("csv", "jsonl", "parquet", "arrow"):
        yield table(f"{kind}{ending}", data)
    yield vectors(f"glove.txt{ending}", data)
    for name, seed in (("folders of text", 2), ("blogs, tables", 3), ("news", 1), ("parallel", 2), ("trees", 0)):
        yield instead(name, seed, ending, data)


def instead(family: str, number: int, ending: str, data: bytes) -> Seed:
    """A seed of a family with other bytes in its file."""
    with fresh() as scratch:
        seed = families(scratch / "made")[family][number]
    (name, _), *rest = seed.files.items()
    name = name.removesuffix(".gz") + (".gz" if ending else "")
    return Seed({name: data, **dict(rest)}, seed.read)


def table(ending: str, data: bytes) -> Seed:
    return one(f"t.{ending}", data, lambda folder: read_table(folder / f"t.{ending}", "text", ["age"]))


def library(ending: str, data: bytes) -> Seed:
    return one(f"t.{ending}", data, lambda folder: read_columns(folder / f"t.{ending}", ["text", "age"]))


def vectors(name: str, data: bytes) -> Seed:
    return one(name, data, lambda folder: read_vectors(folder / name, KNOWN))


def all_vectors(name: str, data: bytes) -> Seed:
    return one(name, data, lambda folder: vector_files.read(folder / name))


def archive(name: str, data: bytes) -> Seed:
    return one(name, data, lambda folder: extract(folder / name, folder / "out"))


def packed(effort: Effort) -> Iterator[Seed]:
    """Two gigabytes in two megabytes, by gzip and by zstd."""
    yield from everywhere(".gz", gzip.compress(MUCH, 1) * FRAMES)
    yield from (table(f"{kind}.zst", seeds.zst(MUCH) * FRAMES) for kind in ("csv", "jsonl", "parquet", "arrow"))
    yield table("csv.zst", seeds.zst(b"text,age\n" + MUCH) + seeds.zst(b"x,1\n" * 2 * MB) * FRAMES)


def zips(effort: Effort) -> Iterator[Seed]:
    """One huge member, a zip in a zip, many members, and names that lead out of the folder."""
    for name in ("/etc/x", "../x", "a/../../x", "C:\\x", "..\\x", ""):
        yield archive("a.zip", zip_of({name: b"x"}))
    big = zip_of({"a.txt": BIG * MUCH})
    yield archive("a.zip", big)
    yield archive("a.zip", zip_of({f"{i}.zip": big for i in range(20)}))
    yield books("gutenberg.zip", big)
    yield instead("blogs, xml", 2, "", zip_of({"blogs/7.male.25.Student.Leo.xml": BIG * MUCH}))
    yield instead("trees", 1, "", zip_of({"trees/train.txt": BIG * MUCH}))
    many = zip_of(dict.fromkeys(map(str, range(100_000)), b""))
    yield archive("a.zip", many)
    yield books("gutenberg.zip", many)


def zip_of(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
        for name, data in files.items():
            made.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def tars(effort: Effort) -> Iterator[Seed]:
    """Links, devices, absolute names, a file of holes, sizes that lie, and a huge member in each packing."""
    for name, kind in (("x", tarfile.SYMTYPE), ("x", tarfile.LNKTYPE), ("x", tarfile.CHRTYPE), ("x", tarfile.FIFOTYPE)):
        yield archive("a.tar", tar_of(name, kind, "/etc/passwd"))
    for name in ("/etc/x", "../x", "a/../../x"):
        yield archive("a.tar", tar_of(name))
    yield archive("a.tar", tar_of("x", size=1 << 40))
    yield archive("a.tar", tar_of("x", headers={"GNU.sparse.major": "1", "GNU.sparse.realsize": str(1 << 40)}))
    holes = {"GNU.sparse.size": str(1 << 40), "GNU.sparse.numblocks": "1", "GNU.sparse.map": f"0,0,{1 << 40},0"}
    yield archive("a.tar", tar_of("x", headers=holes))
    whole = tar_of("europarl-v7.de-en.de", data=BIG * MUCH)
    for pack in (lambda data: gzip.compress(data, 1), lambda data: lzma.compress(data, preset=0)):
        yield archive("a.tgz", pack(whole))
        yield instead("parallel", 1, "", pack(whole))


def tar_of(
    name: str,
    kind: bytes = tarfile.REGTYPE,
    target: str = "",
    size: int | None = None,
    headers: dict[str, str] | None = None,
    data: bytes = b"x",
) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    info.size = len(data) if kind == tarfile.REGTYPE else 0
    info.pax_headers = headers or {}
    if size is not None:
        info.size = size
        return info.tobuf(tarfile.GNU_FORMAT) + data
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as made:
        made.addfile(info, io.BytesIO(data) if info.size else None)
    return out.getvalue()


def entities(effort: Effort) -> Iterator[Seed]:
    """Billion laughs, one long entity many times, files and addresses from outside."""
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    for declared, used in (
        (f'<!ENTITY l0 "ha">{laughs}', "&l9;"),
        (f'<!ENTITY a "{"a" * 100_000}">', "&a;" * 100_000),
        ('<!ENTITY x SYSTEM "file:///etc/passwd">', "&x;"),
        ('<!ENTITY x SYSTEM "http://localhost:1/x">', "&x;"),
        ('<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;', ""),
    ):
        text = f"<!DOCTYPE newsitem [{declared}]><newsitem><text><p>{used}</p></text></newsitem>"
        yield instead("news", 0, "", text.encode())
        yield instead("blogs, xml", 0, "", text.encode())
    yield instead("news", 0, "", b'<!DOCTYPE x SYSTEM "file:///dev/zero"><x/>')
    yield instead("news", 0, "", b"<p>" * 300_000)
    yield instead("news", 0, "", b"<x " + b" ".join(b"a%d=''" % i for i in range(200_000)) + b"/>")


def nesting(effort: Effort) -> Iterator[Seed]:
    """Brackets in brackets, closed and not."""
    for deep in (10_000, 30_000, 1_000_000):
        for opening, closing in (("[", "]"), ('{"a":', "}"), ('[{"text":', "}]")):
            for text in (opening * deep, opening * deep + "1" + closing * deep):
                for kind in ("json", "jsonl"):
                    yield table(kind, text.encode())
                yield table("jsonl", b'{"text": "x", "age": ' + text.encode() + b"}")
                yield library("jsonl", text.encode())
    word = "(2 w)"
    for words in (1_000, 40_000, 200_000):
        left = "(2 " * words + word + f" {word})" * words
        for text in (
            left,
            "(2 " * words,
            f"(2 {word} " * words + word + ")" * words,
            "(2" * words + " w" + ")" * words,
        ):
            yield instead("trees", 0, "", text.encode())
    yield instead("trees", 0, "", ("\n".join(["(2 " * 500 + word + f" {word})" * 500] * 2000)).encode())


def wide(effort: Effort) -> Iterator[Seed]:
    """Fields of a hundred megabytes, quotes that never close, a million columns, lines without an end."""
    field = b"a" * effort.times(100 * MB, 20 * MB)
    for text in (b"text,age\n" + field + b",1\n", b'text,age\n"' + field, b'text,age\n"' + field + b'",1\n', field):
        yield table("csv", text)
        yield library("csv", text)
    for text in (b'{"text": "' + field + b'", "age": 1}', b'{"text": "' + field, b'{"age": 1' + b"0" * len(field)):
        yield table("jsonl", text)
    million = [f"c{i}" for i in range(1_000_000)]
    yield table("csv", (",".join(million) + "\n").encode() * 2)
    yield table("tsv", ("\t".join(["text", "age", *million]) + "\n").encode() * 2)
    yield library("csv", (",".join(million) + "\n").encode() * 2)
    yield table("jsonl", json.dumps(dict.fromkeys(million, 1)).encode())
    yield table("csv", b'text,age\n"' + b"\n" * 4 * MB)
    for family, number in (
        ("topics and bibles", 0),
        ("topics and bibles", 1),
        ("blogs, tables", 0),
        ("blogs, tables", 2),
    ):
        yield instead(family, number, "", "\t".join(million).encode())
        yield instead(family, number, "", field)


def runs(effort: Effort) -> Iterator[Seed]:
    """One sign millions of times: what a regular expression could stumble over."""
    size = effort.times(4 * MB, MB // 2)
    chosen = {"books": 0, "folders of text": 1, "blogs, xml": 0, "trees": 0, "tagged": 0, "parallel": 2, "news": 0}
    for family, number in {**chosen, "word vectors": 0, "csv and tsv": 1, "tables of the library": 3}.items():
        for sign in (
            "a",
            "a ",
            ". ",
            ".\n",
            "a\n\n",
            "\n",
            "\n \t",
            '"',
            "'",
            "(2",
            "<date></date>",
            "</post>",
            "a/",
            "1 ",
        ):
            yield instead(family, number, "", b"x" + (sign * (size // len(sign))).encode() + b"x")


def lies(effort: Effort) -> Iterator[Seed]:
    """Headers that speak of more than the file has."""
    for header in ("3 999999999999", "999999999999 3", "3 100000", "3 0", "0 3", f"3 {'9' * 5000}", f"{'9' * 5000} 3"):
        for rows in (seeds.vector_text(header=False), seeds.vector_binary()[4:], b"x" * MB):
            for name in ("v.txt", "v.bin"):
                yield vectors(name, header.encode() + b"\n" + rows)
                yield all_vectors(name, header.encode() + b"\n" + rows)
    whole = seeds.parquet()
    for length in (0, 7, 1 << 24, 2**31 - 1, 2**32 - 1):
        yield table("parquet", whole[:-8] + struct.pack("<I", length) + b"PAR1")
        for form in (seeds.arrow(), seeds.arrow(stream=True)):
            at = form.index(b"\xff\xff\xff\xff") + 4
            yield table("arrow", form[:at] + struct.pack("<I", length) + form[at + 4 :])
    for length in (1 << 40, (1 << 63) - 1, (1 << 64) - 1):
        yield all_vectors("v.safetensors", struct.pack("<Q", length) + b"{}")
        for form in (seeds.arrow(compression="lz4"), seeds.arrow(stream=True, compression="zstd")):
            for size in (12, 16, 20, 32, 36):  # of a buffer unpacked, where one begins
                word = struct.pack("<q", size)
                yield table("arrow", form.replace(word, struct.pack("<Q", length)))
    yield table("parquet", huge_value("parquet"))
    yield table("arrow", huge_value("arrow"))


def huge_value(kind: str) -> bytes:
    """Columns of little that pack a gigabyte into kilobytes."""
    column = pa.array([MUCH.decode()] * 16)
    made, out = pa.table({"text": column, "age": column}), io.BytesIO()
    if kind == "parquet":
        pyarrow.parquet.write_table(made, out, compression="zstd", use_dictionary=False)
    else:
        with pa.ipc.new_file(out, made.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as file:
            file.write_table(made)
    return out.getvalue()


KINDS: dict[str, Callable[[Effort], Iterator[Seed]]] = {
    "two gigabytes packed into two megabytes": packed,
    "zips: huge, nested, many members, names outside": zips,
    "tars: huge, links, devices, holes, names outside": tars,
    "entities of XML": entities,
    "brackets in brackets": nesting,
    "fields and headers without end": wide,
    "one sign millions of times": runs,
    "headers that lie": lies,
}
