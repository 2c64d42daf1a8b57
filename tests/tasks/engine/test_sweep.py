"""Searches: ranges are read as typed, a killed search ends like one left alone, and reports say what was best."""

from __future__ import annotations

import json
import shlex
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import optuna
import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from atd.errors import AtdError
from tasks.engine.sweep.report import Multirun, Trial, grid_importances, read_grid, read_study, write_summary
from tasks.engine.sweep.search import assignments, read_plan, sweep
from tests.program import Program, run_py

ROOT = Path(__file__).parent.parent.parent.parent
RANGES = ["model.F=int(interval(2,12))", "optim.lr=tag(log,interval(1e-3,1e-1))"]


def test_ranges_in_hydras_words():
    preset = {"optim": "sgd", "model.F": "int(interval(50,200))", "model.D": "range(10,31,10)", "seed": "choice(1,2)"}
    arguments = ["sweep=tpe", "model.F=64", RANGES[1], "data=gutenberg_sample,blogs_sample"]
    plan = read_plan(arguments, preset)
    assert plan.fixed == ["optim=sgd", "sweep=tpe", "model.F=64"]  # groups first; the command line has the last word
    assert plan.space == {
        "model.D": IntDistribution(10, 30, step=10),
        "seed": CategoricalDistribution(["1", "2"]),
        "optim.lr": FloatDistribution(1e-3, 1e-1, log=True),
        "data": CategoricalDistribution(["gutenberg_sample", "blogs_sample"]),
    }
    assert assignments({"optim.lr": 0.0123456, "model.F": 64, "optim": "sgd"}) == [
        "optim=sgd",
        "optim.lr=0.01235",
        "model.F=64",
    ]


def test_nothing_to_search_is_one_line():
    with pytest.raises(AtdError, match="nothing to search"):
        read_plan(["sweep=tpe", "model.F=64"], {})


@pytest.mark.parametrize("preset", sorted(p.stem for p in (ROOT / "conf/sweep").glob("*.yaml")))
def test_every_preset_searches_settings_that_exist(preset):
    cfg = composed(f"sweep={preset}")
    plan = read_plan(RANGES if preset == "tpe" else [], OmegaConf.to_container(cfg.sweep.space))
    middle = {}
    for key, d in plan.space.items():
        middle[key] = d.choices[0] if isinstance(d, CategoricalDistribution) else d.low
    job = composed(f"sweep={preset}", *plan.fixed, *assignments(middle), "sweep.trial=0")
    for key in plan.space:
        assert OmegaConf.select(job, key) is not None, key


def composed(*overrides: str):
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("config", list(overrides))


class Killed(BaseException):
    """As sudden as SIGKILL: nothing of ours catches it."""


def laboratory(folder: Path, parallel: int = 1, dies_at: int | None = None):
    """A sweep whose jobs only compute a value and a curve from their settings; `dies_at` counts launched jobs."""
    from tasks.engine.sweep.pruning import Pruning

    settings = {"trials": 10, "startup": 3, "grace": 2, "warmup": 0, "seed": 3, "parallel": parallel, "trial": None}
    settings |= {"metric": "atd/perplexity_dev", "direction": "minimize", "watch": "atd", "space": {}}
    overrides = {"task": [*RANGES, "seed=5", "sweep=tpe"]}
    config = OmegaConf.create({"hydra": {"sweep": {"dir": str(folder)}, "overrides": overrides}, "sweep": settings})
    config.seed = 5
    launched: list[int] = []

    def launch(jobs, first):
        for job in jobs:
            given = dict(line.split("=", 1) for line in job)
            n = int(given["sweep.trial"])
            run = folder / str(n)
            run.mkdir(exist_ok=True)
            launched.append(n)
            (run / "config.yaml").touch()
            value = 3 + abs(int(given["model.F"]) - 7) + 50 * abs(float(given["optim.lr"]) - 0.02)
            config.sweep.trial = n
            watcher = Pruning(run, "val", config.sweep)
            for epoch in range(3):
                if dies_at is not None and len(launched) > dies_at and epoch == 1:
                    raise Killed
                watcher.values[epoch] = value * (3 - epoch)
                pruned = watcher.hopeless(epoch)
                left = {"values": watcher.values, "pruned": pruned, "seconds": 0.5}
                (run / "trial.json").write_text(json.dumps(left))
                if pruned:
                    break
            else:
                rows = {"atd": {"perplexity": value + 0.5, "perplexity_dev": value}}
                metrics = {"primary_metric": "atd/perplexity", "value": value + 0.5, "seconds": 1.5, "rows": rows}
                (run / "metrics.json").write_text(json.dumps(metrics))
        return [SimpleNamespace(_return_value=None) for _ in jobs]

    return config, launch, launched


def outcomes(folder: Path) -> list[tuple]:
    study = optuna.load_study(study_name="sweep", storage=f"sqlite:///{folder / 'study.db'}")
    return [(t.number, t.state.name, t.value, t.params, t.intermediate_values) for t in study.trials]


@pytest.mark.parametrize("parallel", [1, 3])
def test_wherever_it_dies_a_search_ends_the_same(tmp_path, parallel):
    config, launch, launched = laboratory(tmp_path / "whole", parallel)
    best = sweep(config, list(config.hydra.overrides.task), launch)
    whole = outcomes(tmp_path / "whole")
    assert launched == list(range(10)) and {"COMPLETE", "PRUNED"} == {state for _, state, *_ in whole}
    for dies_at in (0, 5):
        folder = tmp_path / f"dies{dies_at}"
        config, launch, first = laboratory(folder, parallel, dies_at)
        with pytest.raises(Killed):
            sweep(config, list(config.hydra.overrides.task), launch)
        config, launch, second = laboratory(folder, parallel)
        assert sweep(config, list(config.hydra.overrides.task), launch) == best
        assert outcomes(folder) == whole
        assert set(first) & set(second) == {first[-1]}, "only the trial that was running is taken up again"


def test_a_folder_keeps_to_one_search(tmp_path):
    config, launch, _ = laboratory(tmp_path)
    config.sweep.trials = 2
    sweep(config, list(config.hydra.overrides.task), launch)
    with pytest.raises(AtdError, match=r"other settings; give this one a name: sweep\.name"):
        sweep(config, ["model.F=int(interval(2,5))"], launch)
    config.sweep.trials = 3  # more of the same is welcome
    sweep(config, list(config.hydra.overrides.task), launch)
    assert len(outcomes(tmp_path)) == 3


def test_a_trial_that_breaks_is_kept_as_failed_unless_none_ever_worked(tmp_path):
    config, launch, _ = laboratory(tmp_path)
    config.sweep.trials = 3

    def breaks(jobs, first):
        return [SimpleNamespace(_return_value=MemoryError("too large"))] if first != 0 else launch(jobs, first)

    sweep(config, list(config.hydra.overrides.task), breaks)
    assert [state for _, state, *_ in outcomes(tmp_path)] == ["COMPLETE", "FAIL", "FAIL"]
    config.sweep.name = "other"
    config.hydra.sweep.dir = str(tmp_path / "other")
    with pytest.raises(MemoryError):
        sweep(config, list(config.hydra.overrides.task), lambda jobs, first: breaks(jobs, 1))


def test_the_report_of_a_search(tmp_path):
    config, launch, _ = laboratory(tmp_path)
    sweep(config, list(config.hydra.overrides.task), launch)
    multirun = read_study(tmp_path, config)
    assert set(multirun.shares) == {"model.F", "optim.lr"} and abs(sum(multirun.shares.values()) - 1) < 1e-6
    page = write_summary(multirun, tmp_path, config).read_text()
    command = multirun.command(multirun.best)
    assert shlex.split(command)[:3] == ["python", "run.py", "seed=5"] and "sweep" not in command
    assert command in page and "pruned" in page
    for name in ("history", "parallel_coordinates", "importance", "curves"):
        assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 5000
    assert json.loads((tmp_path / "summary.json").read_text())["value"] == multirun.best.value


def test_the_report_of_a_grid(tmp_path):
    for n, (F, seed) in enumerate((F, seed) for F in (8, 16) for seed in (1, 2)):
        run = tmp_path / str(n)
        (run / ".hydra").mkdir(parents=True)
        overrides = OmegaConf.create(["task=attributes", f"model.F={F}", f"seed={seed}", "+note=a , b"])
        job = {"task": {"name": "attributes"}, "data": {"sample": True}, "checkpoint": None}
        OmegaConf.save(OmegaConf.create(job), run / "config.yaml")
        OmegaConf.save(overrides, run / ".hydra/overrides.yaml")
        rows = {"atd": {"perplexity": 50.0 - F + seed, "perplexity_dev": 40.0 - F + seed}}
        metrics = {"primary_metric": "atd/perplexity", "value": 50.0 - F, "lower_is_better": True, "seconds": 2.0}
        if n != 3:
            (run / "metrics.json").write_text(json.dumps({**metrics, "rows": rows}))
    multirun = read_grid(tmp_path)
    assert [t.state for t in multirun.trials] == ["complete"] * 3 + ["failed"]
    assert multirun.command(multirun.best) == "python run.py task=attributes '+note=a , b' seed=1 model.F=16"
    assert multirun.metric == "atd/perplexity_dev" and multirun.best.value == 25
    cfg = OmegaConf.create({"hydra": {}, "seed": 0})
    page = write_summary(multirun, tmp_path, cfg).read_text()
    assert "3 complete, 0 pruned, 1 failed" in page and "Means over seeds" in page
    assert "Of 4 trials number 2 is the best: perplexity dev 25.0 with model.F=16, seed=1." in page
    assert "&#39;+note=a , b&#39;" in page, "a command is as it was typed, and no text of a corpus"
    assert "Synthetic sample" in page, "as the jobs are"


def test_shares_of_variance_in_a_grid():
    values = [(a, b) for a in (0, 1) for b in (0, 1)]
    trials = [Trial(i, [f"a={a}", f"b={b}"], "complete", 3.0 * a) for i, (a, b) in enumerate(values)]
    assert grid_importances(trials, ["a", "b"]) == pytest.approx({"a": 1.0, "b": 0.0})
    assert Multirun(trials, [], ["a", "b"], "x/y", "x/y", lower=True).best.number == 0


def test_settings_are_repeated_as_typed_and_plotted_as_values():
    typed = ["optim.lr=1e-5", "data.attributes=[age,gender]", "model.dropout=0.123456", "optim=sgd"]
    trial = Trial(0, typed, "complete", 1.0)
    assert list(trial.params.values()) == [1e-5, ["age", "gender"], 0.123456, "sgd"]
    command = Multirun([trial], ["seed=4"], [], "x/y", "x/y", lower=True).command(trial, without="seed")
    assert shlex.split(command) == ["python", "run.py", "optim=sgd", *typed[:3]]


@pytest.fixture(scope="module")
def search(places) -> list[str]:
    """The command of a small search."""
    command = ["sweep=tpe", "sweep.trials=5", "sweep.startup=2", "sweep.grace=2", *RANGES, *places]
    command += ["logger=none", "model.K=8", "model.D=3", "optim.samples=0", "data.batch_size=64", "trainer.threads=1"]
    return [*command, "task.controls=[]", "trainer.max_epochs=4", "trainer.min_steps=0", "trainer.checkpoint_every=3"]


def test_a_sweep_killed_half_way_ends_like_one_left_alone(search, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    done = run_py(*search, f"sweep.folder={whole}")
    assert done.returncode == 0, done.stderr[-3000:]
    started = Program(*search, f"sweep.folder={broken}")
    deadline = time.monotonic() + 300
    while not (broken / "2/checkpoints/atd/last.ckpt").exists():
        assert started.running() and time.monotonic() < deadline, "it ended before it could be killed"
        time.sleep(0.01)
    started.end(signal.SIGKILL)
    started.wait()
    assert len(outcomes(broken)) == 2 and not (broken / "2/metrics.json").exists()
    again = run_py(*search, f"sweep.folder={broken}")
    assert again.returncode == 0, again.stderr[-3000:]
    assert outcomes(broken) == outcomes(whole)
    assert "trial 1:" not in again.stdout and "trial 2:" in again.stdout
    best = [line for line in done.stdout.splitlines() if line.startswith("best: ")]
    assert best and best == [line for line in again.stdout.splitlines() if line.startswith("best: ")]
    assert (broken / "report.html").stat().st_size > 10_000
