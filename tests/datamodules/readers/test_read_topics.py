"""Topics: three sources, one interface."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.readers.topics import SPLITS, read_topics, split_documents

TEXT = st.text(st.characters(exclude_characters="\n\r\t\0", exclude_categories=["Cs"]), min_size=1, max_size=15)


@settings(max_examples=30, deadline=None)
@given(rows=st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1), packed=st.booleans())
def test_sib_items_come_back(folder, write, rows, packed):
    data = folder()
    text = "index_id\tcategory\ttext\n" + "".join("\t".join(row) + "\n" for row in rows)
    write(data / "crosslingual" / "sib200" / "de.dev.tsv", text, packed)
    table = read_topics(data, "sib200", "de", "dev")
    assert table.to_pylist() == [{"id": i, "text": t, "category": c} for i, c, t in rows]


@settings(max_examples=30, deadline=None)
@given(labels=st.dictionaries(st.integers(1, 30), TEXT, min_size=1), texts=st.dictionaries(st.integers(1, 30), TEXT))
def test_taxi_takes_its_text_from_the_bible(folder, write, labels, texts):
    data = folder()
    texts[0] = "never labelled"
    write(data / "crosslingual" / "taxi1500" / "labels.train.tsv", "".join(f"G.{v}\t{c}\n" for v, c in labels.items()))
    write(data / "parallel" / "bible" / "fr.tsv", "".join(f"G.{v}\t{t}\n" for v, t in texts.items()))
    expected = [{"id": f"G.{v}", "text": texts[v], "category": c} for v, c in labels.items() if v in texts]
    if expected:
        assert read_topics(data, "taxi1500", "fr", "train").to_pylist() == expected


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 80), random=st.randoms(use_true_random=False))
def test_document_splits_part_the_whole_whatever_the_order(n, random):
    ids = [str(i) for i in range(n)]
    shuffled = random.sample(ids, n)
    parts = [split_documents(pa.table({"id": ids}), split)["id"].to_pylist() for split in SPLITS]
    assert parts == [split_documents(pa.table({"id": shuffled}), split)["id"].to_pylist() for split in SPLITS]
    assert sorted(parts[0] + parts[1] + parts[2]) == sorted(ids)
    assert [len(part) for part in parts[1:]] == [n // 10, n // 3]


def test_wrong_names_and_missing_files(tmp_path, write, one_line):
    with one_line("'sib'", "reuters, sib200, taxi1500"):
        read_topics(tmp_path, "sib", "en", "train")
    with one_line("'valid'", "train, dev, test"):
        read_topics(tmp_path, "sib200", "en", "valid")
    with one_line("crosslingual/sib200/en.train.tsv"):
        read_topics(tmp_path, "sib200", "en", "train")
    with one_line("NIST", "reuters/en"):
        read_topics(tmp_path, "reuters", "en", "train")
    write(tmp_path / "crosslingual" / "taxi1500" / "labels.dev.tsv", "Gen.1.1\tFaith\n")
    write(tmp_path / "parallel" / "bible" / "en.tsv", "Gen.1.2\tother\n")
    with one_line("labels.dev.tsv", "none of its 1 verses", "en.tsv"):
        read_topics(tmp_path, "taxi1500", "en", "dev")


def test_real_topics(real_data):
    languages = [path.name.split(".")[0] for path in (real_data / "crosslingual" / "sib200").glob("*.dev.tsv")]
    assert len(languages) == 17
    for lang in languages:
        tables = [read_topics(real_data, "sib200", lang, split) for split in SPLITS]
        assert [t.num_rows for t in tables] == [701, 99, 204]
        assert len(set(tables[0]["category"].to_pylist())) == 7
    for lang in ("en", "de", "fr", "cs"):
        tables = [read_topics(real_data, "taxi1500", lang, split) for split in SPLITS]
        assert [t.num_rows for t in tables] == [860, 106, 111]
        assert len(set(tables[0]["category"].to_pylist())) == 6
