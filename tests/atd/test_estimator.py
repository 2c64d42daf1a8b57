"""The estimator: what it learns is what the platform learns of the same rows, and scikit-learn takes it for its own."""

from __future__ import annotations

import csv
import random
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from small_runs import composed

import atd
from atd.errors import AtdError
from atd.table import column_of, is_table, names_of, texts_of, values_of
from tasks.learning.corpora import open_corpus
from tasks.learning.language_model import language_model
from tasks.learning.training import fit

THINGS = {"sea": "ship wave sail gull net tide", "farm": "cow field barn hen oats hay"}
SMALL = {"K": 12, "F": 16, "D": 4, "epochs": 2, "min_steps": 0, "samples": 20, "batch_size": 256}
QUICK = SMALL | {"min_count": 1, "validation": 0.0, "lr": 0.02}


def write_rows(n: int = 300) -> list[dict]:
    draw = random.Random(0)
    rows = []
    for _ in range(n):
        place, year = draw.choice(list(THINGS)), draw.choice([1990, 1995.5, 2001, 2010, 2020])
        a, b = draw.choices(THINGS[place].split(), k=2)
        who = draw.choice(["ann", "bob", "", "eve"]) or None
        text = f"the {a} sees the {b} and the {a} ."
        rows.append({"text": text, "place": place, "who": who, "year": year, "page": f"p{draw.randrange(60)}"})
    return rows


ROWS = write_rows()
TEXTS = [row["text"] for row in ROWS]
PLACES = [row["place"] for row in ROWS]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}


@pytest.fixture(scope="module")
def model() -> atd.AttributeModel:
    return atd.AttributeModel("place", **QUICK | {"epochs": 12}).fit(ROWS)


class Series(list):
    """As much of a column of pandas as is asked for; NA is its missing value."""

    NA = object()

    def isna(self) -> np.ndarray:
        return np.array([value is self.NA for value in self])

    def astype(self, kind):
        raise NotImplementedError

    def tolist(self) -> list:
        return list(self)


class Frame:
    """As much of a data frame of pandas as is asked for."""

    def __init__(self, columns: dict[str, list]):
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name: str) -> Series:
        return Series(Series.NA if value is None else value for value in self._columns[name])


def weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return model.state_dict()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"attributes": ["place"]}, ["data.attributes=[place]"]),
        (
            {"formula": "place*who + year", "continuous": ["year"], "group": "page", "validation": 0.2, "seed": 2},
            [
                "data.formula=place*who + year",
                "data.continuous=[year]",
                "data.group=page",
                "data.holdout=0.2",
                "seed=2",
            ],
        ),
    ],
    ids=["defaults", "formula"],
)
def test_the_weights_are_those_of_a_table_of_the_same_rows(parameters, words, tmp_path):
    """Split, vocabulary, encoding, model and training: `data=table` on a csv file, and the estimator on the rows."""
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(ROWS[0]))
        table.writeheader()
        table.writerows(ROWS)
    small = [
        "model.K=12",
        "model.F=16",
        "model.D=4",
        "trainer.max_epochs=2",
        "trainer.min_steps=0",
        "trainer.threads=1",
    ]
    cfg = composed(
        "task=attributes", "data=table", f"data.path={path}", *words, *small, "optim.samples=20", "logger=none"
    )
    cfg.data.batch_size, cfg.data.cache = 256, str(tmp_path / "cache")
    data = open_corpus(cfg)
    module = language_model(dict(cfg.model), data, cfg, cfg.seed)
    fit(module, data, cfg, tmp_path, "atd")
    found = atd.AttributeModel(**parameters, **SMALL).fit(ROWS)
    ours, theirs = weights(found.model_.model), weights(module.model)
    assert ours.keys() == theirs.keys() and all(ours[name].equal(theirs[name]) for name in ours)
    assert found.model_.vocabulary.words == data.vocabulary.words and found.model_.attributes == data.attributes
    assert np.bincount(found.split_).tolist() == [len(data.encoded[part]) for part in ("train", "val", "test")]
    assert found.model_.config == dict(cfg.model) and found.perplexity_ < 20 and len(found.history_) == 2


def test_the_defaults_are_those_of_the_platform():
    cfg = composed("task=attributes", "data=table", "data.path=x", "data.attributes=[a]")
    ours = atd.AttributeModel().get_params()
    groups = {
        "model": {"K": "K", "F": "F", "D": "D", "context": "context", "dropout": "dropout"},
        "optim": {"lr": "lr", "decay": "decay", "samples": "samples"},
        "trainer": {
            "max_epochs": "epochs",
            "min_steps": "min_steps",
            "patience": "patience",
            "threads": "threads",
            "precision": "precision",
        },
        "data": {
            "text": "text",
            "group": "group",
            "batch_size": "batch_size",
            "min_count": "min_count",
            "max_size": "max_size",
            "holdout": "validation",
            "split_seed": "split_seed",
        },
    }
    for group, names in groups.items():
        assert {name: cfg[group][name] for name in names} == {name: ours[own] for name, own in names.items()}
    assert atd.Tokeniser.of(ours["tokeniser"]) == atd.Tokeniser(**cfg.data.tokeniser)
    assert atd.AttributeModel().config == dict(cfg.model)


@pytest.mark.parametrize(
    "table",
    [ROWS, COLUMNS, pa.table(COLUMNS), Frame(COLUMNS), {name: np.array(v, object) for name, v in COLUMNS.items()}],
    ids=["rows", "columns", "arrow", "pandas", "numpy"],
)
def test_every_kind_of_table_is_one_table(table):
    assert is_table(table) and names_of(table) == list(COLUMNS)
    assert texts_of(table) == TEXTS
    assert column_of(table, "who") == COLUMNS["who"] and column_of(table, "year") == COLUMNS["year"]
    assert values_of(np.array([["a"], ["b"]])) == ["a", "b"] and not is_table(TEXTS)


def test_texts_and_attributes_may_come_apart():
    """As y, as a list, as a table of their own: the same model."""
    whole = atd.AttributeModel("place", **QUICK).fit(ROWS)
    for found in (
        atd.AttributeModel(["place"], **QUICK).fit(TEXTS, PLACES),
        atd.AttributeModel(["place"], **QUICK).fit(texts=TEXTS, attributes=PLACES),
        atd.AttributeModel(**QUICK).fit(texts=TEXTS, attributes={"place": PLACES}),
        atd.AttributeModel(["place"], **QUICK).fit(pa.table({"body": TEXTS, "place": PLACES}), text="body"),
    ):
        ours, theirs = weights(found.model_.model), weights(whole.model_.model)
        assert all(ours[name].equal(theirs[name]) for name in ours)
        assert found.model_.columns == {"place": ["farm", "sea"]}
    assert found.transform({"body": TEXTS[:2]}).shape == (2, 4)
    alone = atd.AttributeModel(**QUICK).fit(TEXTS, PLACES)
    assert alone.model_.columns == {"attribute": ["farm", "sea"]}


def test_it_answers_as_its_model_does(model, tmp_path):
    assert model.most_similar("ship", "sea", n=3) == model.model_.most_similar("ship", "sea", n=3)
    assert model.compare("ship", "sea", "farm", n=3) == model.model_.compare("ship", "sea", "farm", n=3)
    assert model.generate("sea", words=5) == model.model_.generate("sea", words=5)
    assert np.array_equal(model.vectors("sea"), model.model_.vectors("sea"))
    assert model.perplexity(TEXTS[:3], "sea").shape == (3,)
    loaded = atd.load(model.save(tmp_path / "trained.ckpt"))
    assert np.array_equal(loaded.encode(TEXTS[:3]), model.transform(TEXTS[:3]))
    turned = [" ".join(reversed(text.split())) for text in TEXTS[:3]]
    np.testing.assert_allclose(*(loaded.encode(texts, order=False) for texts in (TEXTS[:3], turned)), atol=1e-5)
    assert atd.AttributeModel.most_similar.__doc__ == atd.Trained.most_similar.__doc__


def test_it_knows_the_place_of_a_text(model):
    found = model.predict(TEXTS[:50])
    assert (found == np.array(PLACES[:50])).mean() > 0.9
    assert (model.predict(ROWS[:50], "place") == found).all()
    assert model.score(ROWS) > model.score(TEXTS) and model.score(TEXTS, PLACES) == pytest.approx(model.score(ROWS))
    assert model.score(TEXTS) == pytest.approx(np.log(1 / model.perplexity([" ".join(TEXTS)])[0]), abs=0.5)


def test_predicted_values_are_as_they_were_given():
    numbers = [int(place == "sea") for place in PLACES]
    found = atd.AttributeModel(**QUICK).fit(TEXTS, numbers).predict(TEXTS[:5])
    assert found.dtype.kind == "i"


def test_it_is_an_estimator_of_scikit_learn():
    one = atd.AttributeModel(["place"], continuous=["year"], K=np.int64(12), seed=3)
    two = clone(one)
    assert two is not one and two.get_params() == one.get_params() and two.training == one.training
    assert one.set_params(K=5) is one and one.K == 5 and two.K == 12
    assert repr(two) == "AttributeModel(attributes=['place'], continuous=['year'], K=np.int64(12), seed=3)"
    with pytest.raises(AtdError, match="AttributeModel has no parameter 'k'; it has attributes, formula"):
        one.set_params(k=5)


def test_it_is_a_step_before_a_classifier():
    """On texts and their attribute, and on a table whose label is another column."""
    on_texts = make_pipeline(atd.AttributeModel(**QUICK | {"epochs": 12}), LogisticRegression())
    assert on_texts.fit(TEXTS, PLACES).score(TEXTS[:50], PLACES[:50]) > 0.9
    frame = np.array(ROWS, dtype=object).tolist()
    on_rows = make_pipeline(atd.AttributeModel(["who"], **QUICK), LogisticRegression())
    assert on_rows.fit(frame, PLACES).predict(frame[:3]).shape == (3,)
    search = GridSearchCV(atd.AttributeModel(["place"], **QUICK), {"D": [2, 3]}, cv=2).fit(ROWS)
    assert search.best_params_["D"] in (2, 3)


def test_scikit_learn_is_not_needed():
    code = "import sys; sys.modules['sklearn'] = sys.modules['pyarrow'] = sys.modules['lightning'] = None; import atd;"
    code += f"m = atd.AttributeModel(**{QUICK!r}).fit(['a b c'] * 9, list('xyz') * 3);"
    code += "print(m.transform(['a b']).shape, m.get_params()['K'], m)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith("(1, 4) 12 AttributeModel("), done.stderr


def test_progress_is_told_on_stderr(capsys):
    atd.AttributeModel(["place"], verbose=True, **SMALL).fit(ROWS)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and lines[0].startswith("epoch 1 of 2: validation perplexity ")


@pytest.mark.parametrize(
    ("parameters", "data", "says"),
    [
        ({}, ROWS, "there is no column 'attribute'; the columns are text, place, who, year, page; name those that"),
        ({"attributes": ["age"]}, ROWS, "there is no column 'age'"),
        ({"attributes": ["place"]}, TEXTS, "give the attribute of every text as y"),
        ({"attributes": ["place"], "text": "body"}, ROWS, "there is no column 'body'"),
        ({"attributes": ["place"], "text": "year"}, ROWS, "row 1: "),
        ({"attributes": ["place"], "continuous": ["year"]}, ROWS, "continuous: 'year' is not among the attributes"),
        ({"attributes": ["place"], "formula": "place"}, ROWS, "attributes or a formula, not both"),
        ({"attributes": ["place"], "lr": -1}, ROWS, "lr=-1: must be a number above 0"),
        ({"attributes": ["place"]}, ROWS[:4], "4 rows of 2 attributes are too few"),
        (
            {"attributes": ["place"]},
            {"text": ["a", " "], "place": ["x", "y"]},
            r"1 of 2 rows have no text \(first: row 2",
        ),
        ({"attributes": ["place"]}, {"text": ["a"], "place": ["x", "y"]}, "column 'place' has 2 values for 1 texts"),
        ({"attributes": ["n"]}, {"text": ["a"] * 2000, "n": list(range(2000))}, "'n' has 2,000 values in 2,000 rows"),
        ({"attributes": ["n"]}, {"text": ["a"] * 20, "n": [None] * 20}, "'n' is empty in every row"),
    ],
)
def test_what_can_be_mended_is_one_line(parameters, data, says):
    with pytest.raises(AtdError, match=says) as error:
        atd.AttributeModel(**parameters).fit(data)
    assert "\n" not in str(error.value)


def test_an_estimator_that_learned_nothing_says_so():
    with pytest.raises(AtdError, match="nothing is learned yet; call fit first"):
        atd.AttributeModel().most_similar("ship")
