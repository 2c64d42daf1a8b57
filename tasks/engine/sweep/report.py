"""report.html of a multirun's folder: every job, the best as a command to repeat, and what mattered."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import yaml
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from atd.files import write_whole
from tasks.engine.numbers import number
from tasks.engine.report import write_report
from tasks.engine.result import Result
from tasks.engine.sweep.search import assignments, read_metric
from tasks.engine.synthetic import is_synthetic
from tasks.engine.wording import counted

HIDDEN = ("sweep", "cluster", "hydra", "resume")  # how a job was started, not what it was
NO_SLURM = "cluster=…: no Slurm on this machine (no srun in the path); cluster=local runs the jobs side by side here"


@dataclass
class Trial:
    number: int
    settings: list[str]  # its own, as typed
    state: str  # complete | pruned | failed
    value: float | None = None
    seconds: float | None = None
    primary: float | None = None
    curve: dict[int, float] = field(default_factory=dict)
    note: str = ""

    @property
    def final(self) -> float:
        """The value of a finished trial."""
        assert self.value is not None
        return self.value

    @property
    def params(self) -> dict[str, Any]:
        return {key.lstrip("+"): plain(value) for key, _, value in (line.partition("=") for line in self.settings)}


def plain(text: str) -> Any:
    """A setting's value: a number where it is one (YAML takes 1e-5 for a word), else what YAML says."""
    try:
        return float(text) if not text.lstrip("-").isdigit() else int(text)
    except ValueError:
        return yaml.safe_load(text)


@dataclass
class Multirun:
    """The jobs of one folder. `fixed` are the settings they share, as typed."""

    trials: list[Trial]
    fixed: list[str]
    names: list[str]  # of the settings that vary
    metric: str
    primary: str
    lower: bool
    shares: dict[str, float] = field(default_factory=dict)

    @property
    def done(self) -> list[Trial]:
        return [t for t in self.trials if t.state == "complete"]

    @property
    def best(self) -> Trial:
        return (min if self.lower else max)(self.done, key=lambda t: t.final)

    def command(self, trial: Trial, without: str = "") -> str:
        settings = [line for line in (*self.fixed, *trial.settings) if line.partition("=")[0] != without]
        return shlex.join(["python", "run.py", *sorted(settings, key=lambda s: "." in s.partition("=")[0])])


class Summary(Callback):
    """Hydra calls it when a multirun begins and ends."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Without Slurm nothing is begun. Hydra would swallow an error here, so the program ends."""
        if config.hydra.launcher._target_.endswith("SlurmLauncher") and shutil.which("srun") is None:
            print(f"error: {NO_SLURM}", file=sys.stderr)
            sys.exit(2)

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        folder = Path(config.hydra.sweep.dir)
        multirun = read_study(folder, config) if "sweep" in config else read_grid(folder)
        if multirun.done:
            print(f"best: {multirun.command(multirun.best)}")
            print(f"report: {write_summary(multirun, folder, config)}")


def read_study(folder: Path, config: DictConfig) -> Multirun:
    from tasks.engine.sweep.search import open_study, read_plan

    plan = read_plan(list(config.hydra.overrides.task), config.sweep.space)
    study = open_study(folder.absolute(), config.sweep, plan)
    states = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed"}
    trials, primary = [], ""
    for t in study.trials:
        notes = t.user_attrs
        primary = notes.get("primary", primary)
        trials.append(
            Trial(
                t.number,
                assignments(t.params),
                states[t.state.name],
                t.value,
                notes.get("seconds"),
                notes.get("primary_value"),
                t.intermediate_values,
                notes.get("error", ""),
            )
        )
    shares = study_importances(study) if len(plan.space) > 1 else {}
    lower = config.sweep.direction == "minimize"
    return Multirun(trials, shown(plan.fixed), list(plan.space), config.sweep.metric, primary, lower, shares)


def study_importances(study) -> dict[str, float]:
    """fANOVA (Hutter et al. 2014): shares of variance in a forest fitted to the finished trials."""
    import optuna

    if sum(t.state.name == "COMPLETE" for t in study.trials) < 4:
        return {}
    return optuna.importance.get_param_importances(study, evaluator=optuna.importance.FanovaImportanceEvaluator(seed=0))


def read_grid(folder: Path) -> Multirun:
    """The jobs of a plain multirun, from what they left."""
    trials: list[Trial] = []
    lines: dict[int, list[str]] = {}
    primary, lower = "", False
    for path in sorted(folder.glob("*/.hydra/overrides.yaml"), key=lambda p: (len(p.parts[-3]), p)):
        run, n = path.parent.parent, len(trials)
        lines[n] = shown([str(line) for line in OmegaConf.load(path)])
        trials.append(Trial(n, [], "failed"))
        if (run / "metrics.json").exists():
            metrics = json.loads((run / "metrics.json").read_text())
            primary, lower = metrics["primary_metric"], metrics.get("lower_is_better", False)
            dev = choosing_metric(metrics["rows"], primary)
            value = read_metric(metrics["rows"], dev)
            trials[-1] = Trial(n, [], "complete", value, metrics["seconds"], metrics["value"])
    shared = set.intersection(*map(set, lines.values())) if lines else set()
    for trial in trials:
        trial.settings = [line for line in lines[trial.number] if line not in shared]
    names = list(dict.fromkeys(name for t in trials for name in t.params))
    fixed = [line for line in lines.get(0, []) if line in shared]
    done = [t for t in trials if t.state == "complete"]
    metric = dev if done else primary
    return Multirun(trials, fixed, names, metric, primary, lower, grid_importances(done, names))


def choosing_metric(rows: dict[str, dict[str, float]], primary: str) -> str:
    """The development counterpart of the primary metric where there is one: the test part has no say in a choice."""
    row, _, metric = primary.partition("/")
    return f"{primary}_dev" if f"{metric}_dev" in rows[row] else primary


def grid_importances(done: list[Trial], names: list[str]) -> dict[str, float]:
    """Main effects: the variance of the means per choice of a setting, as a share of the whole variance."""
    values = [t.final for t in done]
    total = sum((v - mean(values)) ** 2 for v in values) if values else 0
    if len(names) < 2 or not total:
        return {}
    shares = {}
    for name in names:
        groups = defaultdict(list)
        for t in done:
            groups[str(t.params.get(name))].append(t.final)
        shares[name] = sum(len(g) * (mean(g) - mean(values)) ** 2 for g in groups.values()) / total
    return shares


def shown(lines: list[str]) -> list[str]:
    return [line for line in lines if line.lstrip("+~").partition("=")[0].split(".")[0].split("/")[0] not in HIDDEN]


def write_summary(multirun: Multirun, folder: Path, config: DictConfig) -> Path:
    from tasks.engine.job import describe

    best, m = multirun.best, multirun
    metric = m.metric.partition("/")[2]
    row = {metric: best.final}
    if m.primary and m.primary != m.metric and best.primary is not None:
        row[m.primary.partition("/")[2]] = best.primary
    result = Result("sweep", f"best/{metric}", {"best": row}, lower_is_better=m.lower)
    states = ", ".join(f"{sum(t.state == s for t in m.trials)} {s}" for s in ("complete", "pruned", "failed"))
    result.verdict = (
        f"Of {counted(len(m.trials), 'trial')} number {best.number} is the best: {metric.replace('_', ' ')} "
        f"{number(best.final)} with {', '.join(best.settings) or 'the settings as they are'}."
    )
    result.text("Trials in all", [f"{states}."])
    result.steps = [("Run the best again.", m.command(best))]  # as it was typed, unlike text
    if "seed" not in m.names:
        again = f"{m.command(best, 'seed')} seed=1,2,3 -m"
        result.steps.append(("Run it with several seeds, for a figure to report.", again))
    add_tables(result, m)
    add_figures(result, m)
    cfg = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    seconds = sum(t.seconds or 0 for t in m.trials)
    summary: dict[str, Any] = {"metric": m.metric, "value": best.value, "best": best.number, "command": m.command(best)}
    summary["trials"] = [vars(t) for t in m.trials]
    write_whole(folder / "summary.json", json.dumps(summary, indent=1, default=str) + "\n")
    job = job_of(m, folder)
    return write_report(result, folder, seconds, describe(cfg), job is not None and is_synthetic(job))


def job_of(m: Multirun, folder: Path) -> DictConfig | None:
    """The configuration of the best job: the folder's own does not know what the jobs were given."""
    path = folder / str(m.best.number) / "config.yaml"
    saved = OmegaConf.load(path) if path.is_file() else None
    return saved if isinstance(saved, DictConfig) and "task" in saved else None


def add_tables(result: Result, m: Multirun) -> None:
    def rank(t: Trial) -> tuple[bool, bool, float]:
        value = t.value or 0.0
        return t.state == "failed", t.state == "pruned", value if m.lower else -value

    order = sorted(m.trials, key=rank)
    rows = [[t.number, *(t.params.get(n) for n in m.names), t.value, t.state, t.seconds, t.note] for t in order]
    header = ["trial", *m.names, m.metric, "state", "time, s", ""]
    note = "The best first. A pruned trial was worse than the median of those before it after as many epochs."
    result.table("Trials", header, rows, note if any(t.state == "pruned" for t in m.trials) else "")
    if "seed" not in m.names:
        return
    groups = defaultdict(list)
    for t in m.done:
        groups[json.dumps({k: v for k, v in t.params.items() if k != "seed"})].append(t.final)
    if max(map(len, groups.values())) > 1:
        others = [n for n in m.names if n != "seed"]
        body = [
            [*(json.loads(key).get(n) for n in others), mean(v), stdev(v) if len(v) > 1 else None, len(v)]
            for key, v in sorted(groups.items(), key=lambda item: mean(item[1]), reverse=not m.lower)
        ]
        result.table("Means over seeds", [*others, m.metric, "standard deviation", "seeds"], body)


def add_figures(result: Result, m: Multirun) -> None:
    from tasks.engine.sweep.figures import curves, history, importances, parallel_coordinates

    metric = m.metric.replace("_", " ")
    if len(m.done) > 1:
        result.figure("history", history(m.trials, metric, m.lower), "The value of each trial, and the best so far.")
        caption = "One line per finished trial: the better the darker, the best in orange."
        result.figure("parallel_coordinates", parallel_coordinates(m.trials, m.names, metric, m.lower), caption)
    if m.shares:
        caption = "How much of the differences between finished trials each setting explains by itself."
        result.figure("importance", importances(m.shares), caption)
    if any(t.curve for t in m.trials):
        caption = "The validation curve of each trial: orange the best, grey the pruned ones."
        result.figure("curves", curves(m.trials, "validation", m.best, m.lower), caption)
