"""Today's commands are timed beside those of an older commit, in a repository of two commits."""

from __future__ import annotations

import subprocess

import pytest
from omegaconf import OmegaConf

from atd.errors import AtdError
from tasks.benchmark import revision
from tasks.benchmark.measure import Bench

COMMAND = """
import pathlib, sys, time
time.sleep({seconds})
out = pathlib.Path(next(word for word in sys.argv if "run.dir" in word).partition("=")[2])
out.mkdir(parents=True)
(out / "metrics.json").write_text('{{"value": {perplexity}}}')
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A slow command and three tests, one of which fails; then a fast command, the test mended, and another."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for seconds, perplexity, test in ((0.6, 20, "old"), (0, 20.2, "new")):
        (tmp_path / "run.py").write_text(COMMAND.format(seconds=seconds, perplexity=perplexity))
        tests = f"def test_both(): pass\ndef test_mended(): assert {test == 'new'}\ndef test_{test}(): pass\n"
        (tmp_path / "test_it.py").write_text(tests)
        (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "-q"\n')
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", test]):
            subprocess.run([*git, *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(revision, "ROOT", tmp_path)


def bench(commit: str) -> Bench:
    return Bench(OmegaConf.create({"benchmark": {"revision": commit}}), 1, True, None)  # type: ignore[arg-type]


def test_a_command_beside_its_older_self(repository):
    (row,) = revision.tour(bench("HEAD~1")).values()
    assert row["ratio"] > 2 and row["ok"] and (row["perplexity"], row["rival_perplexity"]) == (20.2, 20)


def test_the_tests_that_both_have(repository):
    (row,) = revision.suite(bench("HEAD~1")).values()
    assert row["tests"] == 2 and row["seconds"] > 0
    assert (row["failed"], row["rival_failed"]) == (0, 1)


def test_a_commit_that_is_not_there(repository):
    with pytest.raises(AtdError, match=r"benchmark\.revision=nowhere: .*; name a commit of"):
        revision.tour(bench("nowhere"))
