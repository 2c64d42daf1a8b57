"""What a model knows, out to every kind of file and back; as gensim reads it; and the card."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import atd
from atd.design import Column, Design
from atd.errors import AtdError
from atd.export import attribute_vectors, export, export_attributes, file_name, word_vectors, write_folder
from atd.models import build
from atd.named_vectors import Vectors
from atd.pretrained import read_vectors
from atd.trained import Trained
from atd.vector_files import ENDINGS, KINDS, read, write
from atd.vocabulary import SPECIALS, Vocabulary
from tests.tasks.tiny_model import CONFIG, NAMES, write_checkpoint

HOSTILE = [
    "a b",
    "a\tb",
    "a\nb",
    "a\r\nb",
    "a,b",
    'say "hi"',
    "<b>|`*_",
    "\\t",
    "\\",
    "",
    "=1+1",
    "…é日本",
    "../x",
    "0",
]
GIVEN = {"gender": "f", "age": 23}
WORD2VEC = ("word2vec", "word2vec-binary")


def path_of(folder: Path, kind: str) -> Path:
    return folder / f"vectors{ENDINGS[kind]}"


def composed(values: list[str] | None = None) -> Trained:
    """A model of texts with a gender, an age between knots and a place, and the words that each has."""
    torch.manual_seed(0)
    values = values or ["x y", "z"]
    n = 4 * len(values)
    numbers = np.linspace(10, 60, n)
    columns = [
        Column("gender", ["f", "m"]),
        Column.of_numbers("age", numbers, 3),
        Column("home|town", values),
    ]
    codes = [
        columns[0].encode(["f", "m"] * (n // 2)),
        columns[1].encode(numbers),
        columns[2].encode([values[i % len(values)] for i in range(n)]),
    ]
    design = Design.of(columns, [(0,), (1,), (2,), (0, 1)], codes)
    design = replace(design, words_A=100.0 * np.arange(1, len(design.names) + 1))
    vocabulary = Vocabulary.from_counts({f"word{i}": 500 - i for i in range(200)})
    config = CONFIG | {"name": "atd"}
    model = build(config, [len(vocabulary)], len(design.names))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return Trained(model.eval(), [vocabulary], design, config)


@pytest.mark.parametrize("kind", KINDS)
def test_words_come_back_as_they_were(tmp_path, kind):
    trained = composed()
    for given in (None, "f", GIVEN, "0.5*gender:f + 0.5*gender:m - age=10"):
        path = export(trained, path_of(tmp_path, kind), kind, given=given)
        found = read(path, kind)
        assert list(found.names) == trained.vocabulary.words[len(SPECIALS) :]
        assert found.x_nK.dtype == np.float32
        np.testing.assert_array_equal(found.x_nK, trained.vectors(given)[len(SPECIALS) :])
    assert not list(tmp_path.rglob("*.part"))
    if kind not in WORD2VEC:
        assert np.array(found.columns["count"]).astype(int).tolist() == trained.vocabulary.counts[3:].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_come_back_as_they_were(tmp_path, kind):
    trained = composed(["z", "w"])
    found = read(export_attributes(trained, path_of(tmp_path, kind), kind))
    assert list(found.names) == trained.attributes
    np.testing.assert_array_equal(found.x_nK, trained.model.vectors().detach().numpy())
    if kind not in (*WORD2VEC, "safetensors"):
        assert list(found.columns["column"])[-1] == "gender:age"
    if kind not in WORD2VEC:
        assert np.array(found.columns["words"]).astype(float).tolist() == trained.design.words_A.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_any_letters_survive(tmp_path, kind):
    numbers = np.random.default_rng(0).normal(size=(len(HOSTILE), 5)) * [1e-30, 1e-3, 1, 1e9, 1e30]
    x = numbers.astype(np.float32)
    for columns in ({}, {"which\tone": HOSTILE, "place": np.arange(len(HOSTILE))}):
        names = [f"{i}{name}" for i, name in enumerate(HOSTILE)] if kind in WORD2VEC else HOSTILE
        if kind in WORD2VEC:
            with pytest.warns(UserWarning, match="5 names had blanks, written as _: '0a b' → '0a_b'"):
                path = write(path_of(tmp_path, kind), Vectors(names, x, columns), kind)
            names = [name.replace("\r", "_").replace("\n", "_").replace("\t", "_").replace(" ", "_") for name in names]
        else:
            path = write(path_of(tmp_path, kind), Vectors(names, x, columns), kind)
        found = read(path, kind)
        assert list(found.names) == names
        np.testing.assert_array_equal(found.x_nK, x)
    if kind not in (*WORD2VEC, "safetensors"):
        assert list(found.columns["which\tone"]) == HOSTILE


@pytest.mark.parametrize("kind", WORD2VEC)
def test_names_that_would_be_one_are_refused(tmp_path, kind):
    with pytest.raises(AtdError, match=r"'a b' and 'a_b' would be one name here; rename one, or write safetensors"):
        write(tmp_path / "v", Vectors(["a b", "a_b"], np.ones((2, 3), np.float32)), kind)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("kind", "binary"), [("word2vec", False), ("word2vec-binary", True)])
def test_gensim_finds_the_same_neighbours(tmp_path, kind, binary):
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    trained = composed()
    for given in (None, GIVEN, "m"):
        path = export(trained, path_of(tmp_path, kind), kind, given=given)
        vectors = keyed.load_word2vec_format(str(path), binary=binary)
        assert len(vectors) == len(trained.vocabulary) - len(SPECIALS)
        for word in ("word0", "word7", "word42", "word199"):
            ours = trained.most_similar(word, given, n=10)
            theirs = vectors.most_similar(word, topn=10)
            assert [name for name, _ in theirs] == [name for name, _ in ours]
            np.testing.assert_allclose([c for _, c in theirs], [c for _, c in ours], atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_can_start_from_what_another_wrote(tmp_path, kind):
    trained = composed()
    path = export(trained, path_of(tmp_path, kind), kind, given="f")
    vectors, share = read_vectors(path, trained.vocabulary)
    np.testing.assert_array_equal(vectors[len(SPECIALS) :].numpy(), trained.vectors("f")[len(SPECIALS) :])
    assert share == 1.0


def test_long_rows_of_text_are_no_binary(tmp_path):
    x = np.random.default_rng(0).normal(size=(3, 900)).astype(np.float32)
    write(tmp_path / "v.txt", Vectors(["a", "b", "c"], x))
    np.testing.assert_array_equal(read(tmp_path / "v.txt").x_nK, x)


def test_safetensors_as_others_read_it(tmp_path):
    from safetensors import safe_open
    from safetensors.numpy import save_file

    trained = composed()
    with safe_open(export(trained, tmp_path / "w.safetensors"), "np") as file:
        assert json.loads(file.metadata()["names"])[0] == "word0"
        np.testing.assert_array_equal(file.get_tensor("vectors"), trained.vectors()[3:])
        assert file.get_tensor("count")[0] == 500
    save_file({"vectors": np.ones((2, 3), np.float32)}, tmp_path / "bare.safetensors")
    with pytest.raises(AtdError, match=r"bare.safetensors: needs .* `names`, a JSON list"):
        read(tmp_path / "bare.safetensors")


def test_projector_as_tensorboard_reads_it(tmp_path):
    """It splits at line ends and tabs, and passes over empty lines."""
    trained = composed(HOSTILE)
    folder = export_attributes(trained, tmp_path / "p", "projector")
    tensors = [line.split("\t") for line in (folder / "tensors.tsv").read_text().split("\n") if line.strip()]
    content = (folder / "metadata.tsv").read_bytes().decode()
    header, *metadata = [line.split("\t") for line in content.split("\n") if line.strip()]
    assert header == ["name", "column", "words"] and len(tensors) == len(metadata) == len(trained.attributes)
    assert {len(line) for line in metadata} == {3} and {len(line) for line in tensors} == {CONFIG["D"]}
    (one,) = json.loads((folder / "projector_config.json").read_text())["embeddings"]
    assert one["tensorShape"] == [len(tensors), CONFIG["D"]]
    assert (folder / one["tensorPath"]).is_file() and (folder / one["metadataPath"]).is_file()
    assert 'tensor_path: "tensors.tsv"' in (folder / "projector_config.pbtxt").read_text()


def test_csv_as_others_read_it(tmp_path):
    trained = composed(HOSTILE)
    with export_attributes(trained, tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == trained.attributes
    x = np.array([[float(row[f"x{d}"]) for d in range(CONFIG["D"])] for row in rows], np.float32)
    np.testing.assert_array_equal(x, attribute_vectors(trained).x_nK)


def test_a_folder_with_model_vectors_and_card(tmp_path):
    trained = composed()
    trained.config["vectors"] = "/home/someone/glove.txt"
    metrics = {"rows": {"atd": {"perplexity": 80.25}, "lbl": {"accuracy": 3.0}}, "primary_metric": "atd/perplexity"}
    given = ["f", "0.5*f + 0.5*m", GIVEN, "F", trained.vector("m")]
    with pytest.warns(UserWarning, match="had blanks"):
        files = write_folder(trained, tmp_path / "model", KINDS, given, metrics=metrics, settings={"data.name": "t"})
    assert len({one.path.name.lower() for one in files}) == len(files) == 2 + len(KINDS) * (len(given) + 2)
    assert all(one.size > 0 and one.path.exists() for one in files)
    again = atd.load(tmp_path / "model" / "trained.ckpt")
    np.testing.assert_array_equal(again.vectors(GIVEN), trained.vectors(GIVEN))
    np.testing.assert_array_equal(read(tmp_path / "model" / "words-given-f.bin").x_nK, trained.vectors("f")[3:])
    text = (tmp_path / "model" / "README.md").read_text()
    for said in ("## Column gender", "## Column home\\|town", "| x y |", "words of training text", "## Limits",
                 "## Intended use", "| atd | 80.25 | – |", "| data.name | t |", "| vectors | glove.txt |",
                 'atd.load("trained.ckpt")', "have less than 1,000 words", "| words.parquet |"):  # fmt: skip
        assert said in text, said
    assert "someone" not in text
    words = {"f": 100.0, "m": 200.0}
    assert all(f"| {value} | {n:,.0f} |" in text for value, n in words.items())


def test_the_card_of_a_model_without_attributes(tmp_path):
    trained = atd.load(write_checkpoint(tmp_path / "run", {"name": "lbl"}))
    files = write_folder(trained, tmp_path / "model")
    assert atd.load(tmp_path / "model").attributes == trained.attributes
    assert [one.path.name for one in files] == ["trained.ckpt", "words.txt", "README.md"]
    assert "## Column" not in files[-1].path.read_text()
    with pytest.raises(AtdError, match="log-bilinear model has no attributes"):
        export_attributes(trained, tmp_path / "a.csv")


def test_every_language_has_its_words(tmp_path):
    folder = write_checkpoint(tmp_path / "run", {"name": "unshared"}, ["en", "de"], languages=2)
    trained = atd.load(folder)
    files = write_folder(trained, tmp_path / "model", given=["de"])
    assert [one.path.name for one in files[1:-2]] == [
        "words.txt", "words-1.txt", "words-given-de.txt", "words-1-given-de.txt"]  # fmt: skip
    found = read(files[4].path)
    assert found.names[0].endswith("1")
    np.testing.assert_array_equal(found.x_nK, trained.vectors("de", language=1)[3:])


def test_file_names_are_safe_and_distinct():
    given = [*HOSTILE, *NAMES, "CON", "con", "a" * 500, "a" * 501, None, {"gender": "f"}, {"gender": "F"}, "gender-f"]
    names = [file_name(one) for one in given]
    assert len({name.lower() for name in names}) == len(names)
    assert all(len(name) < 100 and set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_") for name in names)
    assert file_name() == "words" and file_name("bible-kjv") == "words-given-bible-kjv"


@pytest.mark.parametrize(("kind", "package"), [("safetensors", "safetensors"), ("parquet", "pyarrow")])
def test_a_package_that_is_not_there_is_one_line(tmp_path, monkeypatch, kind, package):
    trained = atd.load(write_checkpoint(tmp_path / "run"))
    path = export(trained, path_of(tmp_path, kind))
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    expected = f"{path}: needs the package {package}, which is not installed; pip install {package}"
    for use in (lambda: export(trained, path), lambda: read(path)):
        with pytest.raises(AtdError) as error:
            use()
        assert str(error.value) == expected
    export(trained, tmp_path / "words.txt")  # what needs nothing still works


def test_wrong_requests_are_one_line(tmp_path):
    trained = composed()
    x = np.ones((1, 2), np.float32)
    (tmp_path / "broken.parquet").write_text("no")
    (tmp_path / "broken.safetensors").write_text("no")
    (tmp_path / "none.csv").write_text("a,b\n1,2\n")
    (tmp_path / "gensim.kv").write_bytes(b"\x80\x04\x95\n")
    (tmp_path / "file").write_text("")
    for use, says in (
        (lambda: export(trained, tmp_path / "words"), "its ending says no kind; use .txt, .bin"),
        (lambda: export(trained, tmp_path / "words.txt", "npz"), "there is no kind 'npz'; it is one of word2vec"),
        (lambda: read(tmp_path / "words.txt", "npz"), "there is no kind 'npz'"),
        (lambda: export(trained, tmp_path / "words.txt", given="nobody"), "nobody"),
        (lambda: export(trained, tmp_path / "file" / "words.txt"), "cannot be written"),
        (lambda: write_folder(trained, tmp_path / "file"), "cannot be written"),
        (lambda: write_folder(trained, tmp_path / "m", ["npz"]), "there is no kind 'npz'"),
        (lambda: write(tmp_path / "v.csv", Vectors(["a"], x, {"x1": [1]})), "no column can be called 'x1'"),
        (lambda: read(tmp_path / "nowhere.txt"), "nowhere.txt: no such file"),
        (lambda: read(tmp_path / "broken.parquet"), "broken.parquet: not readable"),
        (lambda: read(tmp_path / "broken.safetensors"), "broken.safetensors: not readable"),
        (lambda: read(tmp_path / "none.csv"), "none.csv: has no vectors"),
        (lambda: read(tmp_path / "gensim.kv"), "gensim.kv: holds code, not vectors alone"),
    ):
        with pytest.raises(AtdError) as error:
            use()
        assert says in str(error.value) and "\n" not in str(error.value)


def test_a_file_is_whole_or_stays_as_it_was(tmp_path):
    trained = composed()
    path = export(trained, tmp_path / "words.csv")
    before = path.read_bytes()
    cut = replace(word_vectors(trained), names=["only one"])
    with pytest.raises(ValueError):
        write(path, cut)
    assert path.read_bytes() == before and [file.name for file in tmp_path.iterdir()] == ["words.csv"]
