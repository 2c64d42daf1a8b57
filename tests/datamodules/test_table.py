"""Rows become documents, columns attributes; every attribute is trained on."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atd.errors import AtdError
from atd.settings import check_call
from atd.table import random_split
from datamodules.summary import describe
from datamodules.table import TableCorpus
from datamodules.values import binned, repeats

HEADER = ["text", "age", "gender"]
ROWS = [[f"word{i % 7} and w{i}", str(20 + i % 30), "f" if i % 3 else "m"] for i in range(120)] + [["alone", "", "x"]]


COMMON = {"name": "table", "context": 2, "batch_size": 32, "seed": 0, "text": "text", "attributes": ["gender"]}


def corpus(folder: Path, rows: list = ROWS, **options) -> TableCorpus:
    path = folder / "table.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([HEADER, *rows])
    data = TableCorpus(**COMMON | {"path": path, "cache": folder / "cache"} | options)
    data.prepare_data()
    data.setup()
    return data


def rows(data: TableCorpus) -> list[tuple[str, str, list[str]]]:
    """(split, text, attribute names) of every document."""
    return [
        (name, " ".join(data.vocabulary.decode(part[d])), [data.attributes[i] for i in np.ravel(part.attributes[d])])
        for name, part in data.encoded.items()
        for d in range(len(part))
    ]


def test_a_tuple_is_an_attribute(tmp_path):
    data = corpus(tmp_path, attributes=["gender", "age"], compose=False, bins={"age": 3})
    assert data.attributes == sorted(data.attributes) and "f/20–29" in data.attributes
    assert "x/missing" in data.attributes and len(data.attributes) == 7
    for _, text, (name,) in rows(data):
        if text != "alone":
            i = int(text.rpartition("w")[2]) if "<unk>" not in text else None
            assert i is None or name.startswith(ROWS[i][2])


def test_composed_attributes(tmp_path):
    data = corpus(tmp_path, attributes=["gender", "age"], compose=True, min_count=1)
    assert data.attributes[:3] == ["gender=f", "gender=m", "gender=x"] and len(data.attributes) == 3 + 31
    assert data.encoded["train"].attributes.shape[1] == 2
    known = {text: [f"gender={g}", f"age={a or 'missing'}"] for text, a, g in ROWS}
    found = {text: names for _, text, names in rows(data) if "<unk>" not in text}
    assert len(found) > 80 and all(known[text] == names for text, names in found.items())
    batch = next(iter(data.train_dataloader()))
    assert batch.attribute.shape == (len(batch), 2)


def test_a_tuple_may_add_to_its_values(tmp_path):
    data = corpus(tmp_path, attributes=["gender", "age"], compose="residual", bins={"age": 2}, min_count=1)
    for part in data.encoded.values():
        for ids in part.attributes:
            gender, age, both = (data.attributes[i] for i in ids)
            assert both == f"{gender.removeprefix('gender=')}/{age.removeprefix('age=')}"


def test_values_of_a_single_column_need_no_prefix(tmp_path):
    data = corpus(tmp_path, attributes=["gender"], compose=True)
    assert data.attributes == ["f", "m", "x"]
    assert data.encoded["train"].attributes.ndim == 1


def test_columns_stay_readable(tmp_path):
    data = corpus(tmp_path, attributes=["gender"])
    for part in data.encoded.values():
        assert [data.attributes[i] for i in part.attributes] == part.columns["value:gender"].to_pylist()


@pytest.mark.parametrize("name", ["split", "group", "text", "tokens", "attributes", "shares", "value:split"])
def test_a_column_may_have_any_name(name, tmp_path):
    """Also those that the program itself uses."""
    path = tmp_path / "named.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["body", "who", name], *([r[0], str(i % 9), r[2]] for i, r in enumerate(ROWS))])
    options = {"path": path, "cache": tmp_path / "cache", "text": "body", "attributes": [name], "group": "who"}
    data = TableCorpus(**COMMON | options)
    data.prepare_data()
    data.setup()
    assert data.attributes == ["f", "m", "x"]
    for part in data.encoded.values():
        assert [data.attributes[i] for i in part.attributes] == part.columns[f"value:{name}"].to_pylist()
        assert part.columns["group"].dtype.kind == "i"
    assert any(line.startswith(f"{name}: 3 values: f ") for line in describe(data))


def test_the_split_is_drawn_by_its_own_seed(tmp_path):
    splits = {}
    for seed, split_seed in ((0, 0), (1, 0), (0, 1)):
        data = corpus(tmp_path, seed=seed, split_seed=split_seed, min_count=1)
        splits[seed, split_seed] = {t for s, t, _ in rows(data) if s == "train"}
        assert [len(part) for part in data.encoded.values()] == [97, 12, 12]
    assert splits[0, 0] == splits[1, 0] != splits[0, 1]


@settings(max_examples=50)
@given(st.integers(0, 99), st.lists(st.integers(0, 5), min_size=40, max_size=80), st.booleans())
def test_every_attribute_is_trained_on(seed, values, two):
    attributes = np.array(values)
    if two:
        attributes = np.stack([attributes, attributes[::-1] + 6], axis=1)
    split = random_split(attributes, 0.1, seed)
    held = round(0.1 * len(values))
    assert np.bincount(split, minlength=3).tolist() == [len(values) - 2 * held, held, held]
    assert set(np.unique(attributes[split == 0])) == set(np.unique(attributes))


@given(st.lists(st.one_of(st.none(), st.integers(-50, 50)), min_size=1, max_size=60), st.integers(2, 6))
def test_bins_are_ranges_in_order(values, n):
    column = pa.array([None if v is None else str(v) for v in values], pa.string())
    if all(v is None for v in values):
        with pytest.raises(AtdError, match="no number"):
            binned(Path("t"), "age", column, n)
        return
    out = binned(Path("t"), "age", column, n)
    names = [name for name in out.dictionary.to_pylist() if name != "missing"]
    assert 1 <= len(names) <= n
    ends: list[float] = []
    for name in names:
        inside = [v for v, found in zip(values, out.to_pylist()) if found == name]
        assert name == (f"{min(inside)}–{max(inside)}" if min(inside) < max(inside) else f"{inside[0]}")
        ends += [min(inside), max(inside)]
    assert ends == sorted(ends)
    assert [v is None for v in values] == [name == "missing" for name in out.to_pylist()]


def test_a_column_may_give_the_split(tmp_path):
    parts = ["train", "Val", " test ", "", "train", "dev"]
    given = [[text, parts[i % 6], "f" if i % 5 else "m"] for i, (text, *_) in enumerate(ROWS)]
    data = corpus(tmp_path, given, split="age", holdout_words=None, min_count=1)
    found = Counter(name for name, *_ in rows(data))
    assert found == {"train": 41, "val": 40, "test": 20}
    texts = {text for name, text, _ in rows(data) if name == "train"}
    assert "word0 and w0" in texts and "word3 and w3" not in texts


def test_texts_of_unknown_origin_are_read_beside(tmp_path):
    (tmp_path / "more.csv").write_text('text,id\n"Who, me?",1\nyes,2\n')
    assert corpus(tmp_path, unknown=str(tmp_path / "more.csv")).unknown_texts() == ["Who, me?", "yes"]
    assert corpus(tmp_path).unknown_texts() == []
    with pytest.raises(AtdError, match=r"data\.unknown=nowhere\.csv: no such table"):
        corpus(tmp_path, unknown="nowhere.csv").unknown_texts()


def test_many_files_are_one_corpus(tmp_path):
    whole = corpus(tmp_path, min_count=1)
    parts = tmp_path / "parts"
    parts.mkdir()
    for i, delimiter in enumerate(",;\t"):
        with open(parts / f"{i}.csv", "w", newline="") as file:
            csv.writer(file, delimiter=delimiter).writerows([HEADER, *ROWS[i * 41 : (i + 1) * 41]])
    for path in (parts, parts / "*.csv"):
        data = TableCorpus(**COMMON | {"path": path, "cache": tmp_path / "cache", "min_count": 1})
        data.prepare_data()
        data.setup()
        assert sorted(rows(data)) == sorted(rows(whole))
        assert [one["delimiter"] for one in data.encoded["train"].meta["sources"]] == [",", ";", "\t"]


def test_batches_and_the_whole_are_encoded_alike(tmp_path, monkeypatch):
    from datamodules.readers import delimited

    whole = corpus(tmp_path, attributes=["gender", "age"], continuous=["age"])
    monkeypatch.setattr(delimited, "BLOCK", 200)
    parts = corpus(tmp_path, attributes=["gender", "age"], continuous=["age"], cache=tmp_path / "other")
    assert parts.vocabulary == whole.vocabulary and parts.attributes == whole.attributes
    for name, part in whole.encoded.items():
        other = parts.encoded[name]
        for field in ("tokens", "offsets", "attributes", "shares"):
            np.testing.assert_array_equal(getattr(part, field), getattr(other, field))


def test_rows_count_by_their_weight(tmp_path):
    weighted = [[text, str(i % 4), gender] for i, (text, _, gender) in enumerate(ROWS)]
    data = corpus(tmp_path, weighted, weights="age", min_count=1)
    plain = corpus(tmp_path, weighted, min_count=1)
    weight = {text: int(n) for text, n, _ in weighted}
    before = Counter(text for split, text, _ in rows(plain) if split == "train")
    after = Counter(text for split, text, _ in rows(data) if split == "train")
    assert {text: weight[text] for text in before if weight[text] and text != "alone"} == after - Counter(["alone"])
    assert after["alone"] == 1  # of weight 0, but the only row of its attribute
    assert len(data.encoded["test"]) == len(plain.encoded["test"])
    assert data.vocabulary.counts.sum() == sum(n * len(text.split()) for text, n in after.items())


def test_a_fraction_of_a_weight_is_drawn():
    times = repeats(Path("t"), "w", np.full(4000, 2.25), seed=0)
    assert set(times) == {2, 3} and abs(times.mean() - 2.25) < 0.03
    for strange, says in (([1, -1], "row 2 has none"), ([1, np.nan], "row 2 has none"), ([50, 70], "60 on average")):
        with pytest.raises(AtdError, match=says):
            repeats(Path("t"), "w", np.array(strange, float), seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"rows": [[t, "", g] for t, _, g in ROWS], "attributes": ["age"]},
            "'age' is empty in every row; leave it out",
        ),
        (
            {"rows": [[f"w{i}", str(i), "f"] for i in range(1500)], "attributes": ["age"]},
            r"'age' has 1,500 values in 1,500 rows, as identifiers do; use data.continuous=\[age\] or data.bins",
        ),
        ({"weights": "gender"}, "data.weights needs numbers in 'gender'"),
        ({"attributes": ["size"]}, "no column 'size'; the columns are text, age, gender"),
        ({"bins": {"age": 3}}, r"data\.bins\.age: not among data\.attributes, which are gender"),
        ({"bins": {"gender": 3}}, "data.bins needs numbers in 'gender'"),
        ({"attributes": ["text2"]}, "no column 'text2'"),
        ({"rows": ROWS[:4], "attributes": ["age"]}, "4 rows of 4 attributes are too few"),
        ({"path": "nowhere.csv"}, "nowhere.csv: no such table"),
        ({"split": "gender"}, "column 'gender' says 'f'; data.split needs train, val or test, or nothing"),
        (
            {"rows": [[t, a, "train"] for t, a, _ in ROWS], "attributes": ["age"], "split": "gender"},
            "column 'gender' never says val; data.split needs train, val and test",
        ),
        (
            {
                "rows": [
                    [t, a, "test" if a == "20" else "train" if i < 90 else "val"]
                    for i, (t, a, _) in enumerate(ROWS[:120])
                ],
                "attributes": ["age"],
                "split": "gender",
            },
            "1 values of age are in no row that column gender puts in train",
        ),
    ],
)
def test_mistakes_are_one_line(tmp_path, options, message):
    with pytest.raises(AtdError, match=message) as error:
        if "path" in options:
            data = corpus(tmp_path)
            data.path = Path(options["path"])
            data.prepare_data()
        else:
            corpus(tmp_path, **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, None),
        ({"attributes": []}, "attributes=[]: must be a list of columns, such as [age,gender]"),
        ({"attributes": "age"}, "attributes=age: must be a list of columns, such as [age,gender]"),
        ({"bins": {"age": 1}}, "bins={'age': 1}: must be a mapping, each value a whole number, 2 or more, or null"),
        ({"holdout": 0.9}, "holdout=0.9: must be a number above 0, at most 0.3"),
        ({"holdout": 0}, "holdout=0: must be a number above 0, at most 0.3"),
        ({"split_seed": -1}, "split_seed=-1: must be a whole number, 0 or more"),
        ({"compose": 1}, "compose=1: must be true, false or residual"),
        ({"min_count": 0}, "min_count=0: must be a whole number, 1 or more"),
        ({"max_size": 3}, "max_size=3: must be a whole number, 4 or more, or null"),
        ({"batch_size": 0}, "batch_size=0: must be a whole number, 1 or more"),
        ({"context": 2.5}, "context=2.5: must be a whole number, 1 or more"),
        ({"tokeniser": "slow"}, "tokeniser=slow: must be one of fast, spacy, whitespace, characters, or a mapping"),
        ({"tokeniser": {"kind": "slow"}}, "tokeniser.kind=slow: must be one of fast, spacy, whitespace, characters"),
        ({"tokeniser": {"kind": "fast", "lower": True}}, "tokeniser.lower: no such key (did you mean lowercase?)"),
        ({"tokeniser": {"lowercase": "yes"}}, "tokeniser.lowercase=yes: must be true or false"),
        ({"holdut": 0.1}, "holdut: no such key (did you mean holdout?)"),
    ],
    ids=str,
)
def test_every_value_has_its_rule(options, says):
    """They are on the constructor's parameters, and looked at before the class is made."""
    fine = {"name": "table", "path": "t.csv", "cache": "c", "context": 2, "batch_size": 32, "seed": 0}
    fine |= {"text": "text", "attributes": ["gender", "age"], "tokeniser": {"kind": "fast", "language": "en"}}
    if says is None:
        check_call(TableCorpus, fine | options, "data")
        return
    with pytest.raises(AtdError) as error:
        check_call(TableCorpus, fine | options, "data")
    assert str(error.value).startswith(f"data.{says}")


def test_a_vocabulary_without_words_is_refused(tmp_path):
    with pytest.raises(AtdError, match=r"data\.min_count=999: no word of data=table occurs so often; lower it"):
        corpus(tmp_path, min_count=999)
