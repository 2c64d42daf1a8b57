"""Any command `python run.py …`, run for real but small: sample corpora, a few dimensions, one epoch, one seed.

    python tests/small_runs.py 'task=sentiment' 'experiment=languages5 seed=3'

runs both in this process, checks that each gives a number, and keeps nothing but corpora in ATD_CACHE. The tests of
the documentation and of the experiments use it: importing Lightning takes longer than most of these runs.
"""

from __future__ import annotations

import atexit
import copy
import csv
import functools
import gzip
import itertools
import json
import math
import os
import random
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

ROOT = Path(__file__).parent.parent
CONF = ROOT / "conf"
# Tasks that train
TRAINING = ("attributes", "generation", "madlibs", "sentiment", "crosslingual", "languages", "authorship", "authors")
TRAINING += ("graphs", "kinship", "matching")
TOUR = "outputs/attributes/2026-01-31_12-00-00"  # the run folder that the documentation speaks of

# What makes any run small, a corpus and a task, each as far as the configuration has the key.
SMALL: dict[str, Any] = {
    "model.K": 8,
    "model.F": 8,
    "model.D": 4,
    "trainer.max_epochs": 1,
    "trainer.min_steps": 0,
    "trainer.threads": 1,
    "data.batch_size": 8192,
    "optim.samples": 100,
    "task.seeds": 1,
    "task.workers": 1,
}
ENCODER = {"D": 8, "F": 8, "epochs": 1}
OF_DATA: dict[str, dict[str, Any]] = {
    "treebank_sample": {"data.sentences": 60},
    "languages_sample": {"data.lines": 300, "data.sources": ["europarl"]},
    "europarl_rcv_sample": {"data.batch_size": 512},
}
OF_TASK: dict[str, dict[str, Any]] = {
    "attributes": {"task.words": 5, "task.steps": [], "data.roots": True},
    "generation": {"task.samples": 2, "task.words": 10, "task.matrix_words": 100, "data.posts": 3},
    "madlibs": {"task.sequences": 20, "task.shown": 1, "data.tagger.epochs": 1},
    "sentiment": {
        "task.members": 1,
        **{f"task.tree.{key}": value for key, value in ENCODER.items()},
        **{f"task.context.{key}": value for key, value in ENCODER.items()},
        "task.doc2vec.epochs": 1,
        "task.doc2vec.infer_epochs": 1,
    },
    "crosslingual": {"task.sizes": [100], "task.bibles": []},
    "authorship": {
        "task.folds": 2,
        "task.leave_out": 2,
        "task.texts": 10,
        "task.classifier.epochs": 1,
        "task.predictor.epochs": 1,
        "task.tuple_predictor.epochs": 1,
    },
    "authors": {"task.rows": ["atd", "word-ngrams"], "task.controls": [], "task.left_out": 1},
    "graphs": {"task.sets": None, "task.depths": [1], "task.C": [10.0], "task.graph2vec.epochs": 1},
    "kinship": {"task.subsets": 0, "task.quartets": 1000, "data.batch_size": 8},
    "matching": {
        "task.rows": ["atd-mixture", "tfidf", "tfidf+lsi", "no-attribute"],
        "task.vectors": None,
        "task.folds": 2,
        "model.free": 8,
    },
    "effects": {
        **{f"task.{key}": 1 for key in ("worlds", "shuffles", "samples", "truth", "epochs")},
        **{"task.V": 400, "task.K": 8, "task.subjects": 6, "task.pairs": 8, "task.permutations": 10},
        **{"task.documents": [150], "task.shares": [0.6], "task.min_documents": 5},
    },
    "explore": {"task.seconds": 0.2, "task.port": 0},
}


def composed(*words: str) -> DictConfig:
    """The configuration of a command; one's own, to be changed at will."""
    return copy.deepcopy(composed_once(words))


@functools.cache
def composed_once(words: tuple[str, ...]) -> DictConfig:
    """Hydra takes a tenth of a second, and a small run asks for the same configuration three times."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(words))


def cached(small: Sequence[str], cache: Path, *words: str) -> DictConfig:
    """The configuration of a small run whose corpora are kept in a folder."""
    return composed(*small, f"paths.cache={cache}", *words)


def jobs(words: Sequence[str]) -> list[list[str]]:
    """The runs that a command starts: all of a grid; of a search one, at the low end of every range."""
    words = [word for word in words if word not in ("-m", "--multirun")]
    parsed = OverridesParser.create().parse_overrides(words)
    if not any(word.startswith("sweep=") for word in words):
        choices = [
            [f"{o.get_key_element()}={v}" for v in o.sweep_string_iterator()] if o.is_sweep_override() else [word]
            for o, word in zip(parsed, words, strict=True)
        ]
        return [list(job) for job in itertools.product(*choices)]
    from tasks.engine.sweep.search import assignments, read_plan

    fixed = [word for o, word in zip(parsed, words, strict=True) if not o.is_sweep_override()]
    preset: Any = OmegaConf.to_container(composed(*fixed).sweep.space)
    plan = read_plan(words, preset)
    corner = {key: getattr(d, "choices", [getattr(d, "low", None)])[0] for key, d in plan.space.items()}
    return [[*plan.fixed, *assignments(corner)]]


def checked(words: Sequence[str]) -> list[DictConfig]:
    """The configuration of every run that a command starts; an error if one of its settings cannot be."""
    from tasks.engine.check import check

    out = []
    for job in jobs(words):
        out.append(composed(*job))
        check(out[-1])
    return out


def too_large(words: Sequence[str], cfg: DictConfig) -> bool:
    """Needs GPUs, a cluster or several processes, or measures time: such a command is composed and checked only."""
    trainer = cfg.trainer
    several = trainer.devices != 1 or trainer.num_nodes > 1
    cluster = any(word.startswith("cluster=") for word in words)
    return several or cluster or trainer.accelerator == "gpu" or cfg.task.name == "benchmark"


def shrunk(words: Sequence[str]) -> list[str]:
    """The same command on a sample corpus and in small."""
    words = list(words)
    name = composed(*words).data.name
    if (CONF / "data" / f"{name}_sample.yaml").exists():
        words = [word for word in words if not word.startswith("data=")] + [f"data={name}_sample"]
    cfg = composed(*words)
    small = SMALL | OF_DATA.get(cfg.data.name, {}) | OF_TASK.get(cfg.task.name, {})
    if not OmegaConf.select(cfg, "optim.samples"):
        small.pop("optim.samples")  # the exact softmax stays exact
    changed = [f"task.changes.{row}." for row in OmegaConf.select(cfg, "task.changes") or ()]  # rows with own settings
    keys = {prefix + key: value for prefix in ("", *changed) for key, value in small.items()}
    return words + [f"{key}={json.dumps(value)}" for key, value in keys.items() if has(cfg, key)]


def has(cfg: DictConfig, key: str) -> bool:
    group, _, name = key.rpartition(".")
    return name in (OmegaConf.select(cfg, group) or {})


def run_small(words: Sequence[str], out: Path | None = None) -> Path:
    """Run the first job of a command in small, in this process; returns its folder."""
    from tasks.engine.job import run
    from tasks.engine.overrides import resume_arguments

    folder = next((word.partition("=")[2] for word in words if word.startswith("resume=")), None)
    if folder is not None:
        run(composed(resume_arguments(list(words))[0]), Path(folder))
        return Path(folder)
    cfg = composed(*shrunk(jobs(words)[0]))
    out = out or Path(tempfile.mkdtemp(dir=scratch(), prefix=cfg.task.name))
    run(cfg, out)
    return out


TRIED: set[str] = set()  # configurations that gave a number in this process


def works(words: Sequence[str]) -> bool:
    """Run in small, it gives a number. Many commands are the same in small: one of them is run."""
    small = OmegaConf.to_yaml(composed(*shrunk(jobs(words)[0])))
    if small not in TRIED and finite_metric(run_small(words)):
        TRIED.add(small)
    return small in TRIED


def finite_metric(out: Path) -> bool:
    """metrics.json names a primary metric that one of its rows has, a number; the report and its pictures are there."""
    metrics = json.loads((out / "metrics.json").read_text())
    row, _, name = metrics["primary_metric"].rpartition("/")
    value = metrics["value"]
    report = (out / "report.html").read_text(encoding="utf-8")
    drawn = "This picture could not be drawn" not in report
    return math.isfinite(value) and metrics["rows"][row][name] == value and bool(report) and drawn


@functools.cache
def scratch() -> Path:
    """A folder for the runs of this process, and for the corpora they share."""
    folder = Path(tempfile.mkdtemp(prefix="atd-small-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextmanager
def small_world(data: Path | None = None, cache: Path | str | None = None) -> Iterator[Path]:
    """The working folder of documented commands, with the tables that they speak of and no real corpora."""
    here = scratch() / "here"
    before = Path.cwd(), {name: os.environ.get(name) for name in ("ATD_CACHE", "ATD_DATA")}
    os.environ |= {"ATD_CACHE": str(cache or scratch() / "cache"), "ATD_DATA": str(data or here / "data")}
    here.mkdir(exist_ok=True)
    os.chdir(here)
    try:
        if not Path("reviews.csv").exists():
            write_reviews(Path("reviews.csv"))
            write_posts(Path("posts-1.csv.gz"))
            write_letters(Path("letters"))
            write_disputed(Path("letters.csv"), Path("disputed.csv"))
            write_submissions(Path("reviewers.csv"), Path("papers.csv"))
            write_later(Path("later.csv"))
            write_tables(Path("outputs/reproduce/tables"))
        yield here
    finally:
        os.chdir(before[0])
        for name, value in before[1].items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@functools.cache
def tour() -> Path:
    """The trained model of the documentation; called inside `small_world`."""
    return run_small([], Path(TOUR).absolute())


def write_posts(path: Path) -> None:
    """The same with a year, compressed."""
    write_reviews(plain := path.with_suffix(""))
    with plain.open(encoding="utf-8") as file, gzip.open(path, "wt", encoding="utf-8", newline="") as out:
        rows = csv.reader(file)
        table = csv.writer(out)
        table.writerow([*next(rows), "year"])
        table.writerows([*row, str(1990 + i % 30)] for i, row in enumerate(rows))
    plain.unlink()


def write_letters(folder: Path) -> None:
    """Text files in a folder for each of two authors."""
    draw = random.Random(0)
    for author, words in (("ada", "engine number loom card"), ("jane", "ball sister walk letter")):
        for i in range(10):
            path = folder / author / f"{i}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = [f"the {draw.choice(words.split())} was {draw.choice(['fine', 'poor'])} ." for _ in range(60)]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_disputed(known: Path, disputed: Path) -> None:
    """Letters by three people, and four by one of them."""
    draw = random.Random(0)
    people = {"Ada": "&", "Dov": "ye", "Greta": "unto"}
    letters = [[f"I went {own} the {draw.choice('abcdefg')} was there .", name] for name, own in people.items()] * 20
    for path, header, rows in (
        (known, ["text", "author"], letters),
        (disputed, ["text"], [row[:1] for row in letters[:4]]),
    ):
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])


def write_submissions(reviewers: Path, papers: Path) -> None:
    """Papers of three reviewers, and two submissions."""
    draw = random.Random(0)
    fields = {"Ada": "engine number loom card", "Ibn": "lens mirror light eye", "Mary": "bone cliff shell fossil"}
    written = [
        [name, f"on the {draw.choice(words.split())}", " ".join(draw.choices(words.split(), k=12)) + " ."]
        for name, words in fields.items()
        for _ in range(6)
    ]
    submitted = [[str(i), *row[1:]] for i, row in enumerate(written[::9])]
    for path, header, rows in (
        (reviewers, ["reviewer", "title", "abstract"], written),
        (papers, ["id", "title", "abstract"], submitted),
    ):
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])


def write_later(path: Path) -> None:
    """Texts of a book that the tour does not have, and of an age that the reviews do not have."""
    draw = random.Random(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["text", "book", "age", "gender"])
        for _ in range(60):
            things = draw.choices(["rocket", "light", "captain", "comet", "engine"], k=3)
            table.writerow([f"the {things[0]} saw the {things[1]} and the {things[2]} .", "verne-moon", "90s", "m"])


def write_tables(folder: Path) -> None:
    """Those of docs/tables.py."""
    draw = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in {"bible": ["book"], "authors": ["author"], "blogs": ["gender", "age", "industry"]}.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["text", *columns])
            for _ in range(150):
                values = [draw.choice("abc") for _ in columns]
                words = " ".join(draw.choices(["light", "sea", "ship", "house", "king", "road"], k=6))
                table.writerow([f"the {words} of {values[0]} .", *values])


def write_reviews(path: Path, rows: int = 300) -> None:
    """A table with the columns that the documentation speaks of."""
    draw = random.Random(0)
    tastes = {"20s": "phone game party music", "60s": "garden book tea theatre"}
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["text", "age", "gender"])
        for _ in range(rows):
            age, gender = draw.choice(list(tastes)), draw.choice("fm")
            a, b = draw.choices(tastes[age].split(), k=2)
            table.writerow([f"the {a} was {draw.choice(['good', 'bad'])} and the {b} too .", age, gender])


def main() -> int:
    sys.path.insert(0, str(ROOT))
    with small_world(ROOT / "data", cache=os.environ.get("ATD_CACHE")):
        for command in map(shlex.split, sys.argv[1:]):
            checked(command)
            if not finite_metric(run_small(command)):
                print(f"{shlex.join(command)}: its primary metric is no number", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
