"""A user's parallel text, as a table and as files, becomes what the cross-lingual task learns from."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from atd.errors import AtdError
from datamodules.parallel import ParallelCorpus

N = 200
LINES = {
    "en": [f"the word{i % 9} of line{i}" for i in range(N)],
    "fi": [f"sana{i % 9} rivi{i}" for i in range(N)],
    "sv": [f"ordet{i % 9} rad{i}" if i % 2 else "" for i in range(N)],
}


def table(folder: Path) -> Path:
    path = folder / "pairs.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=";").writerows([["english", "suomi", "svenska"], *zip(*LINES.values())])
    return path


def aligned(folder: Path) -> Path:
    (folder / "lines").mkdir()
    for language, lines in LINES.items():
        (folder / "lines" / f"text.{language}").write_text("\n".join(lines) + "\n")
    return folder / "lines"


def corpus(folder: Path, path: Path, sides: dict[str, str], **options) -> ParallelCorpus:
    common = {"name": "parallel", "data": folder / "data", "cache": folder / "cache", "batch_size": 32, "seed": 0}
    data = ParallelCorpus(path=path, sides=sides, **common | {"pairs": ["en-fi"], "min_count": 1} | options)
    data.prepare_data()
    data.setup()
    return data


COLUMNS = {"en": "english", "fi": "suomi", "sv": "svenska"}
FILES = {"en": "text.en", "fi": "text.fi", "sv": "text.sv"}


@pytest.mark.parametrize(("write", "sides"), [(table, COLUMNS), (aligned, FILES)])
def test_lines_stay_beside_their_translations(tmp_path, write, sides):
    data = corpus(tmp_path, write(tmp_path), sides, pairs=["en-fi", "en-sv"])
    assert data.languages == ["en", "fi", "sv"]
    translation = {en: {"fi": fi, "sv": sv} for en, fi, sv in zip(*LINES.values())}
    for pairs in data.training():
        a, b = (data.vocabularies[language] for language in pairs.languages)
        for d in range(len(pairs)):
            source, target = " ".join(a.decode(pairs.source[d])), " ".join(b.decode(pairs.target[d]))
            assert translation[source][data.languages[pairs.languages[1]]] == target
    sizes = [len(pairs) for pairs in data.training()]
    assert sizes == [128, 64]  # of 200 and of 100 lines: a tenth each for test, dev, heldout and val
    parts = {part: len(data.source("en-fi", part)) for part in ("val", "heldout", "dev", "test")}
    assert parts == {"val": 16, "heldout": 16, "dev": 20, "test": 20}
    assert set(data.written_in("en-fi", "test")) == {"fi"}
    assert len(next(iter(data.val_dataloader())).bags) == 2 * 16


def test_topics_of_the_data_folder_are_found(tmp_path):
    folder = tmp_path / "data" / "crosslingual" / "sib200"
    folder.mkdir(parents=True)
    (folder / "fi.test.tsv").write_text("index_id\tcategory\ttext\n1\tsport\tsana1 sana2\n")
    data = corpus(tmp_path, table(tmp_path), COLUMNS, topic_sets=["sib200"])
    texts, labels = data.topics("sib200", "fi", "test")
    assert data.vocabularies[1].decode(texts[0]) == ["sana1", "sana2"] and labels.tolist() == ["sport"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sides": {"en": "english", "fi": "finnish"}}, "pairs.csv: no column 'finnish'; the columns are"),
        ({"pairs": ["en-de"]}, r"task.pairs=en-de: data.sides has en, fi, sv but no de"),
        ({"path": Path("nowhere.csv")}, "nowhere.csv: no such table"),
    ],
)
def test_mistakes_are_one_line(tmp_path, options, message):
    with pytest.raises(AtdError, match=message) as error:
        corpus(tmp_path, **{"path": table(tmp_path), "sides": COLUMNS} | options)
    assert "\n" not in str(error.value)


def test_files_must_be_aligned(tmp_path):
    folder = aligned(tmp_path)
    with pytest.raises(AtdError, match=r"text.de: missing; data.sides must name a file"):
        corpus(tmp_path, folder, {"en": "text.en", "fi": "text.de"})
    (folder / "text.fi").write_text("one\n")
    with pytest.raises(AtdError, match=r"the files differ in their lines \(text.en 200, text.fi 1\)"):
        corpus(tmp_path, folder, {"en": "text.en", "fi": "text.fi"})
    for language in ("en", "fi"):
        (folder / f"text.{language}").write_text("one\n")
    with pytest.raises(AtdError, match="1 lines in both en and fi; at least 100 are needed"):
        corpus(tmp_path, folder, {"en": "text.en", "fi": "text.fi"})
