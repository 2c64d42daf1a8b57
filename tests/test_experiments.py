"""Every file of conf/experiment runs, and every task on every sample corpus it works with: for real, but small."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import small_runs
import yaml
from small_runs import CONF, TRAINING, run_small, works

EXPERIMENTS = sorted(path.stem for path in (CONF / "experiment").glob("*.yaml"))
SAMPLES = sorted(path.stem for path in (CONF / "data").glob("*_sample.yaml"))


@pytest.fixture(autouse=True)
def world(cache):
    with small_runs.small_world(cache=cache):
        yield


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_runs(name, request):
    words = [f"experiment={name}"]
    if name in ("maps", "similarity"):
        words.append(f"checkpoint={request.getfixturevalue('bloggers')}")
    assert works(words)


@pytest.fixture(scope="module")
def bloggers(cache, tmp_path_factory) -> Path:
    """A model of the kinds of blogger and the words that the experiments on checkpoints ask for."""
    settings = {name: yaml.safe_load((CONF / f"experiment/{name}.yaml").read_text()) for name in ("maps", "similarity")}
    rows = settings["similarity"]["task"]["rows"]
    words = [row["query"] for row in rows]
    kinds = {row[side] for row in rows for side in "ab"}
    kinds |= {word for mix in settings["maps"]["task"]["mix"] for word in mix.split() if "/" in word}
    path = tmp_path_factory.mktemp("bloggers") / "posts.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text", "gender", "age", "industry"])
        for i in range(20 * len(kinds)):
            text = (
                f"my {words[i % len(words)]} and your {words[i % 3]} are here , said {'abcdefghijklm'[i % 13]}{i % 2} ."
            )
            table.writerow([text, *sorted(kinds)[i % len(kinds)].split("/")])
    columns = "data.text=text", "data.attributes=[gender,age,industry]", "data.compose=false"
    with small_runs.small_world(cache=cache):
        return run_small(["data=table", f"data.path={path}", *columns])


def test_kinds_of_blogger_have_the_names_that_the_corpus_gives_them(bloggers):
    """The model of `bloggers` takes its names from the experiments; that of the corpus does not."""
    import pyarrow as pa

    import atd
    from datamodules.readers.blogs import attribute_names

    gender, age, industry = ["female", "male"], ["10s", "20s", "30s"], ["x"]
    rows = [{"gender": g, "age_group": a, "industry": i} for g in gender for a in age for i in industry]
    known = {name.rpartition("/")[0] for name in attribute_names(pa.Table.from_pylist(rows)).to_pylist()}
    assert {name.rpartition("/")[0] for name in atd.load(bloggers).attributes} <= known


@pytest.mark.parametrize("data", SAMPLES)
@pytest.mark.parametrize("task", TRAINING)
def test_a_task_runs_on_the_samples_it_fits_and_refuses_the_others(task, data):
    """A corpus that a task cannot use is refused in one line that says which it can."""
    from atd.errors import AtdError

    words = [f"task={task}", f"data={data}"]
    try:
        small_runs.checked(words)
    except AtdError as error:
        assert f"task={task}: does not work with data={data}; choose data=" in str(error)
    else:
        assert works(words)


@pytest.mark.parametrize("model", ["tensor", "mixture"])
def test_the_tour_runs_with_other_models(model):
    assert works([f"model={model}"])


def test_every_task_that_trains_is_tried():
    """A task that has no FITS for data looks at none."""
    import importlib

    names = {small_runs.composed(f"task={path.stem}").task.name for path in (CONF / "task").glob("*.yaml")}
    fits = {name: importlib.import_module(f"tasks.{name}").FITS for name in names}
    assert {name for name in names if fits[name].data} == {*TRAINING, "benchmark"}
