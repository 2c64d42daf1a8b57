"""The notebook in docs/ runs from its first cell to its last, and keeps no output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "docs").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_every_cell_runs(path, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict = {"__name__": "__main__"}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            assert not cell["outputs"] and cell["execution_count"] is None
            exec(compile("".join(cell["source"]), f"{path.name}:{number}", "exec"), names)
    out = capsys.readouterr().out
    assert "['60s' '20s']" in out and "['f' 'm']" in out
    assert float(out.split("accuracy ")[1].split()[0]) > 0.8
