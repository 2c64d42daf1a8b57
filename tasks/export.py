"""A trained model leaves the platform: a folder with the model, its vectors in files of many programs, and a card."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from atd.card import has_attributes
from atd.errors import AtdError
from atd.export import Written, write_folder
from atd.settings import MAPPING, NAME, either, listed, some_of
from atd.vector_files import KINDS
from tasks.engine.check import Fits
from tasks.engine.result import Result
from tasks.engine.settings import typed
from tasks.engine.wording import counted
from tasks.learning.models import Trained, find_checkpoint, load

if TYPE_CHECKING:
    from omegaconf import DictConfig

SHOWN_GROUPS = ("data", "optim", "trainer")  # of a run's configuration: what the card shows of it
PLACES = ("_target_", "cache", "accelerator", "devices", "num_nodes", "strategy", "threads")  # and what not

FITS = Fits()


@dataclass(frozen=True)
class Settings:
    name: str
    kinds: Annotated[list[str], some_of(*KINDS)]
    given: Annotated[Any, either(NAME, listed(either(NAME, MAPPING)))]  # mixes, each with word vectors of its own
    attributes: bool  # their vectors, too


def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    if cfg.checkpoint is None:
        raise AtdError("checkpoint: give a trained model, such as checkpoint=outputs/attributes/2026-01-31_12-00-00")
    trained = load(cfg.checkpoint)
    given = [task.given] if isinstance(task.given, str) else list(task.given)
    for one in given:
        trained.x(one)  # a name that is not there is found before anything is written
    metrics, settings = run_facts(find_checkpoint(cfg.checkpoint))
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", UserWarning)
        files = write_folder(trained, out / "model", task.kinds, given, task.attributes, metrics, settings)
    return report(trained, files, [str(note.message) for note in notes], out)


def report(trained: Trained, files: list[Written], notes: list[str], out: Path) -> Result:
    size = sum(one.size for one in files)
    row: dict[str, Any] = {
        "files": len(files),
        "words": sum(len(vocabulary) for vocabulary in trained.vocabularies),
        "attributes": len(trained.attributes) if has_attributes(trained) else 0,
        "megabytes": size / 1e6,
    }
    result = Result("export", "export/files", {"export": row})
    what = f"{counted(row['words'], 'word')} and {counted(row['attributes'], 'attribute')}"
    where = f"are in {out / 'model'}: {len(files)} files, {size / 1e6:.1f} MB"
    result.verdict = f"The model and the vectors of {what} {where}."
    rows = [[str(one.path.relative_to(out)), f"{one.size:,}", one.what] for one in files]
    result.table("Files", ["file", "bytes", "content"], rows, "README.md is the card: read it before you share these.")
    if notes:
        result.text("Names that had to change", notes)
    return result


def run_facts(checkpoint: Path) -> tuple[Mapping[str, Any] | None, dict[str, Any]]:
    """(metrics.json, the settings) of the run that a checkpoint lies in, as far as they are there."""
    from omegaconf import OmegaConf

    run = next((folder for folder in list(checkpoint.parents)[:3] if (folder / "config.yaml").is_file()), None)
    if run is None:
        return None, {}
    file = run / "metrics.json"
    metrics = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    config: Any = OmegaConf.to_container(OmegaConf.load(run / "config.yaml"))
    groups = {group: config[group] for group in SHOWN_GROUPS if isinstance(config.get(group), dict)}
    settings = flat(groups) | {"seed": config.get("seed")}
    return metrics, {name: value for name, value in settings.items() if value is not None}


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """`data.min_count: 2` of nested settings, without those that say where a run was but not what it did."""
    out: dict[str, Any] = {}
    for name, value in values.items():
        if name in PLACES:
            continue
        if isinstance(value, Mapping):
            out |= flat(value, f"{prefix}{name}.")
        else:
            out[prefix + name] = value
    return out
