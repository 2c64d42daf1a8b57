"""One runner for all rows: seeds, order, workers, what a resumed run keeps, mean and spread."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from tasks.engine.rows import Outcome, Row, Store, mean_and_spread, run_rows, summary


def draw(folder: Path, name: str, seed: int) -> Outcome:
    """A random number, and a mark in a file that it was drawn."""
    with (folder / "log").open("a") as log:
        log.write(f"{name}-{seed}\n")
    return Outcome({"value": float(torch.rand(()))}, {"x": np.arange(seed)}, {"curve": [{"epoch": 0}]})


def read(store: Store, seed: int) -> Outcome:
    return Outcome({"value": 2 * store.load("first", seed).scores["value"]})


def calls(folder: Path) -> list[str]:
    return sorted((folder / "log").read_text().split())


@pytest.mark.parametrize("workers", [1, 2])
def test_every_seed_of_every_row_runs_once_and_is_seeded(tmp_path, workers):
    store = Store(tmp_path / "rows")
    rows = [Row(name, partial(draw, tmp_path, name), seeds) for name, seeds in (("a", (1, 2)), ("b", (2,)))]
    found = run_rows(rows, store, workers)
    assert calls(tmp_path) == ["a-1", "a-2", "b-2"]
    assert [len(outcomes) for outcomes in found.values()] == [2, 1]
    assert found["a"][1].scores == found["b"][0].scores != found["a"][0].scores  # chance is a matter of the seed
    np.testing.assert_array_equal(found["a"][1].arrays["x"], [0, 1])
    assert found["b"][0].facts == {"curve": [{"epoch": 0}]}


def test_a_row_comes_after_those_it_reads(tmp_path):
    store = Store(tmp_path / "rows")
    rows = [
        Row("second", partial(read, store), (3,), after=("first",)),
        Row("first", partial(draw, tmp_path, "a"), (3,)),
    ]
    found = run_rows(rows, store)
    assert found["second"][0].scores["value"] == 2 * found["first"][0].scores["value"]
    with pytest.raises(ValueError, match="wait for each other"):
        run_rows([Row("a", partial(read, store), after=("b",)), Row("b", partial(read, store), after=("a",))], store)


def test_a_resumed_run_keeps_what_is_finished_and_a_new_one_does_not(tmp_path):
    row = Row("a", partial(draw, tmp_path, "a"), (1, 2))
    first = run_rows([Row("a", row.run, (1,))], Store(tmp_path / "rows"))
    again = run_rows([row], Store(tmp_path / "rows", resumed=True))
    assert calls(tmp_path) == ["a-1", "a-2"] and again["a"][0].scores == first["a"][0].scores
    run_rows([row], Store(tmp_path / "rows"))
    assert calls(tmp_path) == ["a-1", "a-1", "a-2", "a-2"]


def test_a_failure_leaves_nothing_half_written(tmp_path):
    def fail(seed: int) -> Outcome:
        raise ArithmeticError("no")

    store = Store(tmp_path / "rows", resumed=True)
    with pytest.raises(ArithmeticError):
        run_rows([Row("a", fail)], store)
    assert not store.has("a", 0) and not list(tmp_path.glob("rows/*"))


def test_mean_and_spread():
    assert mean_and_spread([{"fine": 40.0}]) == {"fine": 40.0}
    assert mean_and_spread([{"fine": 40.0}, {"fine": 42.0}]) == {"fine": 41.0, "fine_sd": pytest.approx(2**0.5)}
    rows = summary({"a": [Outcome({"m": 1.0}), Outcome({"m": 3.0})], "b": [Outcome({"m": 5.0})]})
    assert rows["a"]["m"] == 2 and "m_sd" not in rows["b"]


def test_what_is_said_when_a_job_ends(tmp_path, capsys):
    run_rows([Row("[a]", partial(draw, tmp_path, "a"))], Store(tmp_path / "rows"), say=lambda n, s, o: f"{n} {s} done")
    assert "[a] 0 done" in capsys.readouterr().out
