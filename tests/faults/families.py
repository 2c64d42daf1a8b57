"""The forms of files by family, and how each is read."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from safetensors.numpy import save

from atd import vector_files
from atd.pretrained import read_vectors
from atd.table_files import read_columns
from atd.vocabulary import Vocabulary
from datamodules.readers.archive import extract
from datamodules.readers.bible import read_bible, read_verse_pairs
from datamodules.readers.blogs import read_authors, read_blogs
from datamodules.readers.books import read_books
from datamodules.readers.folder import FolderReader
from datamodules.readers.monolingual import read_monolingual
from datamodules.readers.parallel import read_pairs
from datamodules.readers.table import read_table
from datamodules.readers.tagged import read_tagged
from datamodules.readers.topics import read_topics
from datamodules.readers.trees import read_trees
from datamodules.sentences import split_all
from tests.faults import seeds

KNOWN = Vocabulary.from_counts({"the": 5, "cat": 3, "dog": 2})


@dataclass(frozen=True)
class Seed:
    """Files under a folder, by name, and what reads them; the first file is the one that is damaged."""

    files: dict[str, bytes]
    read: Callable[[Path], object]


def table(ending: str, data: bytes) -> Seed:
    return Seed({f"t.{ending}": data}, lambda folder: read_table(folder / f"t.{ending}", "text", ["age"], True))


def library(ending: str, data: bytes) -> Seed:
    columns = ["text", "age"][: 1 if ending == "txt" else 2]
    return Seed({f"t.{ending}": data}, lambda folder: read_columns(folder / f"t.{ending}", columns))


def blogs(files: dict[str, bytes]) -> Seed:
    return Seed(files, lambda folder: (read_authors(folder), read_blogs(folder)))


def books(name: str, data: bytes) -> Seed:
    def read(folder: Path) -> tuple:
        table = read_books(folder)
        return table, *split_all(table["text"])

    return Seed({name: data}, read)


def one(name: str, data: bytes, read: Callable[[Path], object]) -> Seed:
    return Seed({name: data}, read)


def lookup(name: str, data: bytes) -> Seed:
    """All the vectors of a file, and those of a vocabulary."""
    return one(name, data, lambda folder: (vector_files.read(folder / name), read_vectors(folder / name, KNOWN)))


def texts(name: str, data: bytes, piece: int | str) -> Seed:
    """A folder of text files."""
    columns = ["folder", "file"]
    return one(name, data, lambda folder: pa.concat_tables(FolderReader(folder, "**/*.txt", None, piece, columns)))


def vectors(files: dict[str, bytes]) -> Seed:
    name = next(name for name in files if name.endswith("tensors.tsv") or len(files) == 1)
    return Seed(files, lambda folder: vector_files.read(folder / name))


def families(scratch: Path) -> dict[str, list[Seed]]:
    """The seeds of every family; `scratch` is a folder to write in."""
    people = b"id\tgender\tage\tindustry\tsign\tposts_total\n7\tmale\t25\tStudent\tLeo\t2\n9\tfemale\t15\tLaw\tLeo\t1\n"
    posts = b"id\tdate\ttext\n7\t31,May,2004\tOne day\n9\t1,June,2004\tAnother\n7\t2,June,2004\tx\n"
    kaggle = b'id,gender,age,topic,sign,date,text\n7,male,25,Student,Leo,"31,May,2004","One ""day""\nmore"\n'
    bible = b"Gen.1.1\tIn the beginning\nGen.1.2\tAnd the earth\nGen.1.3\tAnd God said\n"
    europarl = "Resumption of the session\n\u2028Please rise .\nThank you\nx\n".encode() * 3
    sib = b"index_id\tcategory\ttext\n1\tscience\tRain falls\n2\tsports\tThey won\n"
    labels = b"Gen.1.1\tFaith\nGen.1.3\tGrace\n"
    xml = "blogs/7.male.25.Student.Leo.xml"
    parts = {kind: seeds.written(kind, scratch) for kind in vector_files.KINDS}
    return {
        "csv and tsv": [
            table("csv", seeds.csv_rows(",")),
            table("csv", b"text,age\nx y,1\nz,2\n"),
            table("tsv", seeds.csv_rows("\t")),
            table("csv", seeds.csv_rows(";").decode().encode("utf-16")),
            table("csv", "text;age\nÀ la carte;1\n5 €;2\n".encode("cp1252")),
            table("csv.gz", gzip.compress(seeds.csv_rows(","))),
            table("csv.zst", seeds.zst(seeds.csv_rows(","))),
        ],
        "jsonl and json": [
            table("jsonl", seeds.json_rows()),
            table("json", b"[" + seeds.json_rows(",\n") + b"]"),
            table("json", b'[{"text": "x", "age": 1}]'),
            table("ndjson.gz", gzip.compress(seeds.json_rows())),
        ],
        "parquet": [
            table("parquet", seeds.parquet()),
            table("parquet", seeds.parquet(compression="none", use_dictionary=False)),
            table("parquet", seeds.parquet(compression="zstd", data_page_version="2.0", write_page_index=True)),
            table("parquet", seeds.parquet(compression="gzip", row_group_size=2, store_schema=False)),
        ],
        "arrow and feather": [
            table("arrow", seeds.arrow()),
            table("arrow", seeds.arrow(stream=True)),
            table("feather", seeds.arrow(compression="lz4")),
            table("arrow", seeds.arrow(stream=True, compression="zstd")),
            table("arrow", seeds.arrow(columns=seeds.other_types())),
            table("arrow.zst", seeds.zst(seeds.arrow())),
        ],
        "blogs, tables": [
            blogs({"blogs/authors.tsv": people, "blogs/some_posts.tsv": posts}),
            blogs({"blogs/some_posts.tsv": posts, "blogs/authors.tsv": people}),
            blogs({"blogs/blogtext.csv": kaggle}),
            blogs({"blogtext.csv.gz": gzip.compress(kaggle)}),
        ],
        "blogs, xml": [
            blogs({xml: seeds.BLOG}),
            blogs({xml: seeds.BLOG + b"</Blog>", "blogs/9.female.15.Law.Leo.xml": seeds.BLOG}),
            blogs({"blogs.zip": seeds.zipped(**{xml.replace("/", "__"): seeds.BLOG})}),
        ],
        "books": [
            books("gutenberg/emma.txt", seeds.BOOK.encode()),
            books("gutenberg/bible.txt", b"The Book of Ruth\n\n1:1 Now it came.\n\n1:2 And the name.\n\n1:3 And\n"),
            books("gutenberg.zip", seeds.zipped(gutenberg__emma_dot_txt=seeds.BOOK.encode())),
        ],
        "trees": [
            one("sst/train.txt", seeds.TREES, lambda folder: read_trees(folder, "train", unescape=True)),
            one(
                "trainDevTestTrees_PTB.zip",
                seeds.zipped(trees__train_dot_txt=seeds.TREES),
                lambda folder: read_trees(folder, "train"),
            ),
        ],
        "tagged": [
            one(
                "pos/a_train.txt", b"It/PRP works/VBZ ./.\n1\\/2/CD x/NN\n", lambda folder: read_tagged(folder, "train")
            ),
            one("pos/a_train.conllu", seeds.CONLLU, lambda folder: read_tagged(folder, "train", "upos")),
        ],
        "parallel": [
            Seed(
                {"parallel/train.en-de.en": europarl, "parallel/train.en-de.de": europarl},
                lambda folder: read_pairs(folder, "en-de"),
            ),
            one(
                "europarl/de-en.tgz",
                seeds.tarred(**{f"europarl-v7_dot_de-en_dot_{lang}": europarl for lang in ("de", "en")}),
                lambda folder: read_pairs(folder, "de-en", "test"),
            ),
            one("monolingual/en.txt", europarl, lambda folder: read_monolingual(folder, "en")),
        ],
        "news": [
            one("reuters/en/2286newsML.xml", seeds.NEWS, lambda folder: read_topics(folder, "reuters", "en", "train")),
            one(
                "rcv1/1.xml.gz", gzip.compress(seeds.NEWS), lambda folder: read_topics(folder, "reuters", "en", "train")
            ),
            one(
                "reuters/de/19960820.zip",
                seeds.zipped(**{"1_dot_xml": seeds.NEWS, "2_dot_xml": seeds.NEWS}),
                lambda folder: read_topics(folder, "reuters", "de", "test"),
            ),
            one(
                "rcv2/fr.tgz",
                seeds.tarred(**{"1_dot_xml": seeds.NEWS}),
                lambda folder: read_topics(folder, "reuters", "fr", "dev"),
            ),
        ],
        "topics and bibles": [
            one("crosslingual/sib200/en.train.tsv", sib, lambda folder: read_topics(folder, "sib200", "en", "train")),
            Seed(
                {"crosslingual/taxi1500/labels.dev.tsv": labels, "parallel/bible/en.tsv": bible},
                lambda folder: read_topics(folder, "taxi1500", "en", "dev"),
            ),
            Seed(
                {"parallel/bible/en.tsv": bible, "parallel/bible_nt/cs.tsv": bible},
                lambda folder: (read_bible(folder, "en"), read_verse_pairs(folder, "en-cs")),
            ),
        ],
        "folders of text": [
            texts("a/b.txt", seeds.BOOK.encode()[:300], "file"),
            texts("a/b.txt", seeds.BOOK.encode()[:600], 20),
            texts("a/b.txt.gz", gzip.compress(seeds.BOOK.encode()), "paragraph"),
        ],
        "word vectors": [
            lookup("glove.txt", seeds.vector_text(header=False)),
            lookup("word2vec.txt", seeds.vector_text(header=True)),
            lookup("word2vec.bin", seeds.vector_binary()),
            lookup("word2vec.bin", seeds.vector_binary()),
            lookup("glove.txt.gz", gzip.compress(seeds.vector_text(header=False))),
        ],
        "tables of vectors": [
            *(vectors(files) for kind, files in parts.items() if not kind.startswith("word2vec")),
            vectors({"v.safetensors": save({"x": seeds.NAMED.x_nK}, {"names": '["the", "cat", "Paris"]'})}),
        ],
        "tables of the library": [
            library("csv", seeds.csv_rows(",")),
            library("tsv", b"text\tage\nx y\t1\nz\t2\n"),
            library("csv.gz", gzip.compress(seeds.csv_rows(","))),
            library("jsonl", seeds.json_rows()),
            library("txt", b"one line\nanother\n"),
            library("parquet", seeds.parquet()),
            library("arrow", seeds.arrow()),
            library("arrow", seeds.arrow(stream=True)),
        ],
        "archives": [
            one(
                "a.zip",
                seeds.zipped(a__b_dot_txt=b"one\n" * 9, c=b""),
                lambda folder: extract(folder / "a.zip", folder / "out"),
            ),
            one(
                "a.tgz",
                seeds.tarred(a__b_dot_txt=b"one\n" * 9, c=b"x"),
                lambda folder: extract(folder / "a.tgz", folder / "out"),
            ),
        ],
    }
