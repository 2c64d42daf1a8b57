import numpy as np
import pytest
from omegaconf import OmegaConf
from scipy.sparse import csr_array

from atd.errors import AtdError
from atd.models import load
from atd.neighbours import neighbours
from tasks.similarity import run
from tests.tasks.tiny_model import NAMES, write_checkpoint


def config(folder, **changes):
    task = {"name": "similarity", "k": 5, "frequent": None, "shown": 4, "min_count": 5, "rows": []}
    base = {"checkpoint": str(folder), "query": "light", "a": NAMES[0], "b": NAMES[1], "seed": 0, "task": task}
    return OmegaConf.create(base | changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_checkpoint(tmp_path_factory.mktemp("similarity") / "run")


def section(result, title):
    return next(s for s in result.sections if s.title.startswith(title))


def test_word_phrase_and_list(folder, tmp_path):
    result = run(config(folder, query=["light", "the King"]), tmp_path)
    table = section(result, "Conditional word similarity")
    assert [row[0] for row in table.rows] == ["light", "the King"]
    assert [name.partition(" under ")[0] for name in table.header] == ["query", "common", "only", "only"]
    for row in table.rows:
        common, only_a, only_b = (set(cell.split(", ")) - {"none"} for cell in row[1:])
        assert not common & only_a and not common & only_b and not only_a & only_b
    assert 0 <= result.rows["atd"]["common"] <= 5
    assert len(section(result, "Words that change most").rows) == 4
    assert len(section(result, "Attributes that change light most").rows) == 4


def test_without_names_the_least_alike_are_taken(folder, tmp_path):
    result = run(config(folder, query=None, a=None, b=None), tmp_path)
    a, b = (name.removeprefix("only under ") for name in section(result, "Conditional word similarity").header[2:])
    assert f"under {a} and under {b}" in result.verdict
    assert a != b and {a, b} <= set(load(folder).attributes)
    result = run(config(folder, query=None, a=NAMES[2], b=None), tmp_path)
    assert section(result, "Conditional word similarity").header[2] == f"only under {NAMES[2]}"


def test_rows_with_their_own_attributes(folder, tmp_path):
    cfg = config(folder)
    cfg.task.rows = [{"query": "sea", "a": NAMES[0], "b": NAMES[3]}, {"query": "king", "a": NAMES[1], "b": NAMES[2]}]
    rows = section(run(cfg, tmp_path), "Conditional word similarity").rows
    assert [row[:3] for row in rows] == [["sea", NAMES[0], NAMES[3]], ["king", NAMES[1], NAMES[2]]]


def test_a_mix_is_an_attribute_too(folder, tmp_path):
    result = run(config(folder, a=f"0.5*{NAMES[0]} + 0.5*{NAMES[1]}", b=NAMES[0]), tmp_path)
    assert result.rows["atd"]["milliseconds"] > 0


def test_neighbours_across_languages(tmp_path):
    folder = write_checkpoint(tmp_path / "run", {"name": "unshared"}, ["en", "de"], languages=2)
    result = run(config(folder, query=["light", "the king"], a=None, b=None), tmp_path)
    table = section(result, "Neighbours across languages")
    assert table.header == ["query", "en", "de"]
    model = load(folder).model
    spaces = [model.embeddings(x).detach()[model.words(i)] for i, x in enumerate(model.vectors())]
    ids, _ = neighbours(spaces[1], spaces[0][3], 5, exclude=range(3))
    assert table.rows[0][1].startswith("light, ")
    assert table.rows[0][2] == ", ".join(load(folder).vocabularies[1].decode(ids))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"query": "lihgt"}, "did you mean light"),
        ({"query": "  "}, "empty"),
        ({"a": "bible"}, "did you mean bible-kjv"),
        ({"checkpoint": None}, "needs checkpoint="),
        ({"checkpoint": "/nowhere"}, "no such file"),
    ],
)
def test_mistakes_are_named(folder, tmp_path, changes, message):
    with pytest.raises(AtdError, match=message):
        run(config(folder, **changes), tmp_path)


def test_words_that_an_attribute_hardly_uses_are_not_listed(folder, tmp_path):
    trained = load(folder)
    V, A = len(trained.vocabulary), len(trained.attributes)
    uses_VA = np.full((V, A), 9.0, dtype=np.float32)
    ship, whale = (trained.vocabulary.id(word) for word in ("ship", "whale"))
    uses_VA[ship] = 1
    uses_VA[whale, 1:] = 1  # only the first attribute uses it
    trained.usage = csr_array(uses_VA)
    path = trained.save(tmp_path / "counted.ckpt")
    cfg = config(path, query="light", a=NAMES[0], b=NAMES[1])
    cfg.task.k = cfg.task.shown = V
    result = run(cfg, tmp_path)
    changed = {row[0] for row in section(result, "Words that change most").rows}
    assert "sea" in changed and not changed & {"ship", "whale"}
    listed = ", ".join(section(result, "Conditional word similarity").rows[0][1:]).split(", ")
    assert "whale" in listed and "ship" not in listed
    cfg.task.min_count = 10
    with pytest.raises(AtdError, match="min_count=10: no word is used so often"):
        run(cfg, tmp_path)
