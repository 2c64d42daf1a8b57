"""What a run leaves behind, and that corpus text cannot become markup."""

from __future__ import annotations

import json

from tasks.engine.report import number, write_metrics, write_report
from tasks.engine.result import Result
from tasks.figures.charts import bars

FACTS = {"seed": "0", "revision": "abc", "command": "python run.py", "versions": "torch 2", "config": "a: 1"}
HOSTILE = "<script>alert('x')</script> & \"quotes\" \u202e"


def result():
    rows = {"atd": {"perplexity": 12.345, "wins": 3}, "lbl": {"perplexity": 20.0}}
    r = Result("attributes", "atd/perplexity", rows, paper={"ATD": {"perplexity": 11.0}})
    r.table(HOSTILE, ["a", HOSTILE], [[HOSTILE, 1.5], [None, 2]])
    r.text("Samples", [HOSTILE], [(HOSTILE, HOSTILE)])
    r.figure("bars", bars({"a": 1.0, "b": 2.0}, "value", {"a": 0.1}), HOSTILE)
    return r


def test_report_is_one_file_and_escapes_everything(tmp_path):
    html = write_report(result(), tmp_path, 1.0, FACTS).read_text()
    assert "<script" not in html and html.count("&lt;script&gt;") >= 6
    assert "http://" not in html and "https://" not in html and "data:image/png;base64," in html
    assert (tmp_path / "figures/bars.png").stat().st_size > 1000
    assert (tmp_path / "figures/bars.svg").exists()
    assert "paper: ATD" in html


def test_metrics_have_the_stable_names(tmp_path):
    write_metrics(result(), tmp_path, 2.0)
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics == {
        "task": "attributes",
        "primary_metric": "atd/perplexity",
        "value": 12.345,
        "lower_is_better": False,
        "seconds": 2.0,
        "rows": {"atd": {"perplexity": 12.345, "wins": 3}, "lbl": {"perplexity": 20.0}},
    }


def test_numbers_read_well():
    shown = [number(v) for v in (1.23456, 123.456, 7, None, "x", 0.00012345)]
    assert shown == ["1.235", "123.5", "7", "", "x", "0.0001234"]
