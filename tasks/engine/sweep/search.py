"""A search over settings: Optuna proposes, Hydra's launcher runs, the study is kept in the sweep's folder.

Nothing is remembered but finished trials. What trial n tries is a function of the seed, n and the trials finished
before it, so a search killed at any moment proposes the same again, finds the trial's folder and resumes the run in it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from omegaconf import DictConfig, OmegaConf

from atd.errors import AtdError
from tasks.engine.numbers import number

if TYPE_CHECKING:
    import optuna
    from hydra.core.override_parser.types import Override
    from hydra.core.utils import JobReturn
    from optuna.distributions import BaseDistribution

Launch = Callable[[Sequence[Sequence[str]], int], Sequence["JobReturn"]]


@dataclass(frozen=True)
class Plan:
    fixed: list[str]  # settings all trials share, as on the command line
    space: dict[str, BaseDistribution]


def sweep(config: DictConfig, arguments: list[str], launch: Launch) -> float:
    """Run the trials that are not done yet; returns the best value."""
    if find_spec("optuna") is None:
        raise AtdError("sweep=…: needs Optuna; pip install -e '.[sweep]'")
    folder = Path(config.hydra.sweep.dir).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    plan = read_plan(arguments, config.sweep.space)
    try:
        with FileLock(folder / "sweep.lock", timeout=0):
            OmegaConf.save(config, folder / "multirun.yaml")
            study = open_study(folder, config.sweep, plan)
            while len(study.trials) < config.sweep.trials:
                run_batch(study, folder, config.sweep, plan, launch)
    except Timeout:
        raise AtdError(
            f"{folder}: another process runs this sweep; sweep.parallel=… with cluster=… runs trials side by side"
        ) from None
    if not any(t.state.name == "COMPLETE" for t in study.trials):
        raise AtdError(f"{folder}: no trial gave a number; its messages are above")
    return study.best_value


def read_plan(arguments: Sequence[str], preset: DictConfig) -> Plan:
    """The preset's ranges and the command line's, which has the last word on a setting; what is no range is fixed."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    parser = OverridesParser.create()
    given = parser.parse_overrides(list(arguments))
    named = {o.key_or_group for o in given}
    brought = parser.parse_overrides([f"{key!s}={value}" for key, value in preset.items() if key not in named])
    overrides = sorted([*brought, *given], key=lambda o: "." in o.key_or_group)  # groups before keys in them
    space = {o.key_or_group: distribution(o) for o in overrides if o.is_sweep_override()}
    if not space:
        raise AtdError("sweep=tpe: nothing to search; give a range such as 'model.F=int(interval(50,200))'")
    return Plan([str(o.input_line) for o in overrides if not o.is_sweep_override()], space)


def distribution(override: Override) -> BaseDistribution:
    """Hydra's range grammar in Optuna's terms."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    key = override.key_or_group
    value: Any = override.value()
    log = "log" in getattr(value, "tags", ())
    if override.is_choice_sweep():
        return CategoricalDistribution(list(override.sweep_string_iterator()))
    if override.is_range_sweep():
        values = list(value.range())
        kind: Any = IntDistribution if all(type(v) is int for v in values) else FloatDistribution
        return kind(values[0], values[-1], step=value.step)
    if override.is_interval_sweep():
        kind = IntDistribution if type(value.start) is int else FloatDistribution
        return kind(value.start, value.end, log=log)
    raise AtdError(f"{key}: cannot be searched; use choice(a,b), range(a,b,step), interval(a,b) or int(interval(a,b))")


def open_study(folder: Path, settings: DictConfig, plan: Plan) -> optuna.Study:
    """The study of this folder, new or as it was left."""
    import optuna
    from optuna.distributions import distribution_to_json

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        storage=f"sqlite:///{folder / 'study.db'}",
        study_name="sweep",
        direction=settings.direction,
        load_if_exists=True,
    )
    made_by = {
        "fixed": [line for line in plan.fixed if not line.startswith(("sweep", "cluster", "hydra"))],
        "space": {key: distribution_to_json(d) for key, d in plan.space.items()},
        "rules": [settings.direction, settings.seed, settings.startup, settings.watch, settings.grace, settings.warmup],
        "metric": settings.metric,
    }
    known = study.user_attrs.get("made_by", made_by)
    if known != (made_by if study.trials else {**made_by, "metric": known["metric"]}):
        raise AtdError(f"{folder}: holds a sweep with other settings; give this one a name: sweep.name=…")
    study.set_user_attr("made_by", made_by)
    return study


def run_batch(study: optuna.Study, folder: Path, settings: DictConfig, plan: Plan, launch: Launch) -> None:
    """Propose `parallel` trials, run those that have no outcome yet, and add all to the study."""
    done = len(study.trials)
    first = done - done % settings.parallel  # batches keep their bounds when one was cut short
    proposals = propose(study, first, settings, plan)[: settings.trials - first]
    numbers = range(first, first + len(proposals))
    waiting = [n for n in numbers if n >= done and outcome(folder / str(n)) is None]
    jobs = [job(plan, folder, n, proposals[n - first]) for n in waiting]
    returned = {}
    try:
        returned = dict(zip(waiting, launch(jobs, waiting[0]) if jobs else (), strict=True))
    except SystemExit:  # how a job of several processes ends, also when its trial was pruned
        if any(outcome(folder / str(n)) is None for n in waiting):
            raise
    for n in numbers[done - first :]:
        trial = finished(study, folder / str(n), settings, plan, proposals[n - first], returned.get(n))
        study.add_trial(trial)
        shown = "" if trial.value is None else f"{settings.metric} {number(trial.value)}  "
        best = number(study.best_value) if any(t.state.name == "COMPLETE" for t in study.trials) else "none yet"
        print(f"trial {n}: {trial.state.name.lower()}  {shown}(best {best})", flush=True)


def propose(study: optuna.Study, first: int, settings: DictConfig, plan: Plan) -> list[dict[str, Any]]:
    """The settings of a batch, asked of a copy of the study as it was before the batch."""
    import optuna

    sampler = optuna.samplers.TPESampler(seed=settings.seed * 1_000_003 + first, n_startup_trials=settings.startup)
    copy = optuna.create_study(direction=settings.direction, sampler=sampler)
    copy.add_trials(study.trials[:first])
    return [copy.ask(plan.space).params for _ in range(settings.parallel)]


def job(plan: Plan, folder: Path, n: int, params: dict[str, Any]) -> list[str]:
    """The overrides of one trial; a run that was cut short goes on in its folder."""
    lines = [*plan.fixed, *assignments(params), f"sweep.trial={n}", f"hydra.sweep.subdir={n}"]
    if (folder / str(n) / "config.yaml").exists():
        lines.append(f"resume={json.dumps(str(folder / str(n)))}")
    return lines


def assignments(params: dict[str, Any]) -> list[str]:
    """Settings as one types them: four digits are enough. Groups come before the keys in them."""
    text = {k: f"{v:.4g}" if isinstance(v, float) else str(v) for k, v in params.items()}
    return [f"{key}={text[key]}" for key in sorted(text, key=lambda k: "." in k)]


def outcome(run: Path) -> str | None:
    """What a trial's folder says of its end; None = it has not ended."""
    if (run / "metrics.json").exists():
        return "COMPLETE"
    return "PRUNED" if curve(run)["pruned"] else None


def curve(run: Path) -> dict[str, Any]:
    """The validation curve a trial left (pruning.py), by epoch."""
    path = run / "trial.json"
    return json.loads(path.read_text()) if path.exists() else {"values": {}, "pruned": False, "seconds": 0.0}


def finished(
    study: optuna.Study, run: Path, settings: DictConfig, plan: Plan, params: dict[str, Any], job: JobReturn | None
) -> optuna.trial.FrozenTrial:
    """The trial as the study keeps it. A trial that broke is kept as failed, unless none has ever worked."""
    import optuna

    state, value, notes = outcome(run), None, {}
    steps = {int(k): v for k, v in curve(run)["values"].items()}
    if state == "COMPLETE":
        metrics = json.loads((run / "metrics.json").read_text())
        value = read_metric(metrics["rows"], settings.metric)
        notes = {"primary": metrics["primary_metric"], "primary_value": metrics["value"], "seconds": metrics["seconds"]}
        state = state if math.isfinite(value) else "FAIL"
    elif state == "PRUNED":
        value, notes = steps[max(steps)], {"seconds": curve(run)["seconds"]}
    else:
        error = job._return_value if job is not None else None
        if not any(t.state.name == "COMPLETE" for t in study.trials) and isinstance(error, BaseException):
            raise error
        state, notes = "FAIL", {"error": f"{type(error).__name__}: {error}"[:500]}
        print(f"{run}: {notes['error']}", flush=True)
    return optuna.trial.create_trial(
        state=optuna.trial.TrialState[state],
        value=None if state == "FAIL" else value,
        params=params,
        distributions=plan.space,
        intermediate_values=steps,
        user_attrs=notes,
    )


def read_metric(rows: dict[str, dict[str, float]], name: str) -> float:
    row, _, metric = name.partition("/")
    try:
        return float(rows[row][metric])
    except KeyError:
        known = ", ".join(f"{r}/{m}" for r, metrics in rows.items() for m in metrics)
        raise AtdError(f"sweep.metric={name}: this task reports {known}") from None
