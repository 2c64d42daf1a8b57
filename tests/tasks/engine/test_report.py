"""What a run leaves behind, and that corpus text cannot become markup."""

from __future__ import annotations

import json
import re
import shlex

import numpy as np
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
from PIL import Image

from atd import checkpoint
from tasks.engine.canvas import axes, picture, plain_decades
from tasks.engine.next_steps import next_steps
from tasks.engine.numbers import lines, number, three_digits, with_unit
from tasks.engine.report import FOLDED, kinds_of, spaced, write_metrics, write_report
from tasks.engine.result import Result, Spread
from tasks.engine.sentence import first_sentence
from tasks.engine.synthetic import is_synthetic
from tasks.figures.charts import bars, heatmap, intervals, learning_curves
from tasks.figures.maps import dendrogram, scatter_map

FACTS = {"seed": "0", "revision": "abc", "command": "python run.py", "versions": "torch 2", "config": "a: 1"}
HOSTILE = "<script>alert('x')</script> & \"quotes\" \u202e"


def result():
    rows = {"atd": {"perplexity": 12.345, "wins": 3}, "lbl": {"perplexity": 20.0}}
    r = Result("attributes", "atd/perplexity", rows, paper={"ATD": {"perplexity": 11.0}})
    r.table(HOSTILE, ["a", HOSTILE], [[HOSTILE, 1.5], [None, 2]])
    r.text("Samples", [HOSTILE], [(HOSTILE, HOSTILE)])
    r.marked("Words", [HOSTILE], [(HOSTILE, [(HOSTILE, 0.5), ("ye", -2.0)])])
    r.figure("bars", bars({"a": 1.0, "b": 2.0}, "value", {"a": 0.1}), HOSTILE)
    return r


def test_report_is_one_file_and_escapes_everything(tmp_path):
    html = write_report(result(), tmp_path, 1.0, FACTS).read_text()
    assert "<script" not in html and html.count("&lt;script&gt;") >= 6
    assert "http://" not in html and "https://" not in html and "data:image/png;base64," in html
    assert (tmp_path / "figures/bars.png").stat().st_size > 1000
    assert (tmp_path / "figures/bars.svg").exists()
    assert "paper: ATD" in html


def test_words_are_coloured_by_what_they_say(tmp_path):
    html = write_report(result(), tmp_path, 1.0, FACTS).read_text()
    assert '<span style="background: rgba(213, 94, 0, 0.75)" title="-2.00">ye</span>' in html
    assert 'style="background: rgba(0, 114, 178, 0.38)" title="+0.50"' in html


def test_coloured_words_stand_as_people_write_them(tmp_path):
    r = Result("x", "atd/accuracy", {"atd": {"accuracy": 1.0}})
    r.marked("Words", [], [("he", [("no", 0.1), (",", 0.0), ("she", 0.2), ("said", 0.0), (".", 0.0)])])
    page = write_report(r, tmp_path, 1.0, FACTS).read_text()
    assert re.sub("<[^>]+>", "", page.partition("<b>he</b>")[2].partition("</blockquote>")[0]) == "no, she said."
    assert spaced([("( b", 0.0), ("c", 0.0), (",", 0.0)])[2][0] == " "


def test_what_reads_like_a_number_stands_below_its_head():
    rows = [["a", "1,120", "9.2 ± 0.3 (0.1)", "5e-08", "s1", 1.0], ["2", "3", "", "10 %", "2", None]]
    kinds = ["short", "number", "number", "number", "short", "number"]
    assert [kinds_of(rows)[0], kinds_of(rows)[1][1:5]] == [kinds, kinds[1:5]]


def test_metrics_of_a_section_of_their_own_are_not_shown_twice():
    rows = {"atd": {"perplexity": 8.0, "above_x_low": 1.0}}
    assert Result("x", "atd/perplexity", rows, elsewhere=("above_",)).score_table().header == ["", "perplexity"]
    assert Result("x", "atd/perplexity", rows).score_table().header == ["", "perplexity", "above_x_low"]


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


def test_a_spread_stands_beside_its_mean():
    rows = {"atd": {"accuracy": 81.34, "accuracy_sd": 2.81, "nats": 1.5, "nats_sd": 0.031}, "lbl": {"accuracy": 80.0}}
    table = Result("x", "atd/accuracy", rows, paper={"ATD": {"sign_sd": 1.0}}).score_table()
    assert table.header == ["", "accuracy", "nats", "sign_sd"]
    assert lines(table.rows) == [
        ["atd", "81.3 ± 2.8", "1.500 ± 0.031", ""],
        ["lbl", "80.0", "", ""],
        ["paper: ATD", "", "", "1.000"],
    ]


def test_numbers_read_well():
    shown = [number(v) for v in (1.23456, 123.456, 7, None, "x", 0.00012345, 7e-17, Spread(float("nan"), float("nan")))]
    assert shown == ["1.235", "123.5", "7", "", "x", "0.000123", "0.0", "–"]


def test_the_numbers_of_a_column_have_even_digits():
    rows = [["a", 80.25, 0.0004], ["b", 7.5, 0.25], ["c", None, 1], ["d", float("nan"), 0.5]]
    assert lines(rows) == [["a", "80.2", "0.0004"], ["b", "7.5", "0.250"], ["c", "", "1"], ["d", "–", "0.500"]]
    assert lines([]) == [] and lines([[2e-17], [None]]) == [["0.0"], [""]]


def test_heads_of_columns_say_what_is_counted():
    names = ("macro_accuracy_dev", "load_seconds", "milliseconds", "megabytes", "perplexity", "sib200_en_de", "")
    heads = ["macro accuracy dev, %", "load, s", "time, ms", "size, MB", "perplexity", "sib200 en de, %", ""]
    assert [with_unit(name) for name in names] == heads


def test_the_first_sentence_says_what_was_found(tmp_path):
    rows = {"atd": {"accuracy": 76.5}, "lexicon": {"accuracy": 90.0}, "chance": {"accuracy": 50.0}, "x": {"loss": 1.0}}
    beaten = Result("x", "atd/accuracy", rows)
    assert first_sentence(beaten) == "atd has accuracy 76.5 %; of 3 rows lexicon is best with 90.0 %."
    best = Result("x", "atd/perplexity", result().rows, lower_is_better=True)
    assert first_sentence(best) == "atd has the best perplexity of 2 rows, 12.3; next is lbl with 20.0."
    page = write_report(Result("x", "atd/accuracy", rows, verdict="5 %."), tmp_path, 3700, FACTS).read_text()
    assert '<p class="verdict">5\u00a0%.</p>' in page and "1 h 1 min" in page
    counted = write_report(Result("x", "atd/files", {"atd": {"files": 6}}), tmp_path, 1, FACTS).read_text()
    assert "atd/files = <b>6</b>" in counted


def test_long_tables_are_folded_and_other_programs_read_them_whole(tmp_path):
    r = result()
    r.table("Long", ["n", "of"], [[n, "it"] for n in range(FOLDED + 7)])
    page = write_report(r, tmp_path, 1.0, FACTS).read_text()
    assert page.count("<details><summary>7 more lines</summary>") == 1
    tables = json.loads((tmp_path / "tables.json").read_text())
    (long,) = (table for table in tables if table["title"] == "Long")
    assert len(long["rows"]) == FOLDED + 7 and long["header"] == ["n", "of"]
    (figure,) = (section for section in tables if "figure" in section)
    assert (tmp_path / figure["figure"]).is_file()


def test_samples_read_like_text_and_a_synthetic_corpus_is_named(tmp_path):
    r = result()
    r.text("Drawn", samples=[("book", '" come , " he said ; it did n\'t ( yet ) .')])
    page = write_report(r, tmp_path, 1.0, FACTS, sample=True).read_text()
    assert "&#34;come,&#34; he said; it didn&#39;t (yet)." in page
    assert "Synthetic sample" in page and "Synthetic sample" not in write_report(r, tmp_path, 1.0, FACTS).read_text()


def test_what_to_do_next_are_commands_that_can_be_pasted(tmp_path):
    cfg = OmegaConf.create({"model": {"name": "atd"}})
    out = tmp_path / "it's mine"
    assert next_steps(cfg, out) == []
    (out / "checkpoints/atd").mkdir(parents=True)
    (out / "checkpoints/atd/best.ckpt").touch()
    for _, command in next_steps(cfg, out):
        words = shlex.split(command)
        (override,) = OverridesParser.create().parse_overrides(words[3:])
        assert words[:2] == ["python", "run.py"] and override.value() == str(out)
    for attributes, tasks in (
        (["f", "m"], ["explore", "export"]),
        (["10s", "20s", "30s"], ["explore", "maps", "export"]),
    ):
        checkpoint.write({"atd": {"attributes": attributes}}, out / "checkpoints/atd/best.ckpt")
        offered = [shlex.split(command)[2] for _, command in next_steps(cfg, out)]
        assert offered == [f"task={task}" for task in tasks], "a map of two is refused"


def test_a_report_of_a_checkpoint_is_synthetic_as_what_it_was_trained_on_is(tmp_path):
    """Whatever corpus the configuration of the task names: it reads none."""

    def job(task, sample, trained=None):
        content = {"task": {"name": task}, "data": {"sample": sample}, "checkpoint": trained and str(trained)}
        return OmegaConf.create(content)

    for name, sample in (("own", False), ("sample", True)):
        folder = tmp_path / name / "checkpoints" / "atd"
        folder.mkdir(parents=True)
        (folder / "best.ckpt").touch()
        OmegaConf.save(job("attributes", sample), tmp_path / name / "config.yaml")
        exported = tmp_path / f"{name}-exported"
        (exported / "model").mkdir(parents=True)
        (exported / "model" / "trained.ckpt").touch()
        OmegaConf.save(job("export", True, tmp_path / name), exported / "config.yaml")
        for place in (tmp_path / name, folder / "best.ckpt", exported / "model" / "trained.ckpt"):
            assert is_synthetic(job("maps", True, place)) is sample
    (tmp_path / "alone.ckpt").touch()
    assert not is_synthetic(job("similarity", True, tmp_path / "alone.ckpt")), "nobody knows"
    assert is_synthetic(job("attributes", True)) and not is_synthetic(job("attributes", False))
    assert not is_synthetic(job("benchmark", True)), "its numbers are about the machine"


def test_a_picture_that_cannot_be_drawn_costs_the_picture(tmp_path, capsys):
    """Neither while it is made nor while it is saved is a finished run lost."""

    @picture
    def broken():
        raise ValueError("no\nsuch glyph")

    huge, ax = axes()
    ax.set_title("a")
    huge.set_size_inches(10_000, 10_000)
    r = result()
    r.figure("broken", broken(), "caption", "A broken one")
    r.figure("huge", huge, "caption", "A huge one")
    html = write_report(r, tmp_path, 1.0, FACTS).read_text()
    assert html.count("This picture could not be drawn") == 2 and "no such glyph" in html
    assert html.count("data:image/png;base64,") == 1 and "A broken one" in html and "A huge one" in html
    assert capsys.readouterr().err.count("This picture could not be drawn") == 2
    assert [type(section).__name__ for section in r.sections][-2:] == ["Text", "Text"]


@pytest.mark.parametrize("name", ["$x_$", "$\\frac{$", " ", "x[/red]y", "n" * 500, "a\nb", "\\", "$"])
def test_labels_are_text(name, tmp_path):
    """What matplotlib would take for a formula, or for nothing, is drawn as it is."""
    names = [name, "other", f"{name}2"]
    square = np.eye(3)
    r = result()
    r.figure("map", scatter_map(np.array([[0.0, 0], [1, 1], [0, 1]]), names, names), "")
    r.figure("tree", dendrogram(np.array([[1.0, 0, 2], [0, 1, 5], [2, 1, 1]]), names)[1], "")
    r.figure("heat", heatmap(square, names, name), "")
    r.figure("bars2", bars(dict.fromkeys(names, 1.0), name, dict.fromkeys(names, 0.1)), "")
    r.figure("intervals", intervals(dict.fromkeys(names, (1.0, 0.0, 2.0)), name), "")
    r.figure("curves", learning_curves({n: [{"epoch": 0, "val/perplexity": 3.0}] for n in names}), "")
    html = write_report(r, tmp_path, 1.0, FACTS).read_text()
    assert "could not be drawn" not in html
    if name == "$x_$":
        assert "$x_$" in [label.get_text() for label in r.sections[-4].figure.axes[0].get_yticklabels()]


def test_a_picture_of_many_names_is_as_wide_as_its_letters_need(tmp_path):
    r = result()
    points = np.random.default_rng(0).random((200, 2))
    r.figure("map", scatter_map(points, [f"a long name {i}" for i in range(200)]), "")
    html = write_report(r, tmp_path, 1.0, FACTS).read_text()
    with Image.open(tmp_path / "figures/map.png") as picture:
        assert picture.width > 1300 and f"max-width: max(100%, 38rem, {picture.width // 2}px)" in html


def test_logarithmic_axes_are_labelled_in_plain_numbers(tmp_path):
    figure, ax = axes()
    ax.plot([1, 10_000], [1, 2])
    ax.set_xscale("log")
    r = result()
    r.figure("log", figure, "")
    write_report(r, tmp_path, 1.0, FACTS)
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert "100" in labels and not any("$" in label for label in labels)
    ax.set_xlim(0.5, 3)
    plain_decades(figure)
    figure.draw_without_rendering()
    labels = [label.get_text() for label in ax.get_xticklabels(which="both")]
    assert "0.6" in labels and not any("e" in label for label in labels)


def test_a_number_that_stands_alone_has_three_digits_and_no_power_of_ten():
    given = [27234000.0, 1530.4, 221.8, 16.19, 1.3, 1.0, 0.0002924, 0.0000225]
    shown = ["27,200,000", "1,530", "222", "16.2", "1.3", "1", "0.000292", "0.0000225"]
    assert list(map(three_digits, given)) == shown
