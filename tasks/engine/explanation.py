"""One line for what Hydra, OmegaConf or the machine refuses, in the words of the command line."""

from __future__ import annotations

import difflib
import re
import traceback
from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from atd.errors import one_line, reason_of

TASKS = Path(__file__).parent.parent
OF_A_TABLE = ("text", "attributes", "formula", "compose", "continuous", "bins", "group", "weights", "drop_empty")
FULL_ERROR = "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace."
LONGEST = 1000  # letters of a line that OmegaConf gives
MEMORY = re.compile(r"not enough memory|can't allocate|out of memory|Storage size calculation overflowed")


def explain(error: Exception, config_dir: Path, words: Sequence[str] = ()) -> str | None:
    """None = an error of the program. `words` are what was typed.

    What fails before the job begins is the doing of what was typed, whatever the exception.
    """
    line = of_composition(error, config_dir) or of_memory(error)
    if line is None and not began(error):
        line = wrong_choice(config_dir, words) or f"these settings cannot be read: {one_line(error)}"
    return None if line is None else one_line(line)


def began(error: Exception) -> bool:
    """Whether the job had begun when it happened."""
    return any(TASKS in Path(frame.filename).parents for frame in traceback.extract_tb(error.__traceback__))


def of_composition(error: Exception, config_dir: Path) -> str | None:
    """A key, a choice or a line that Hydra cannot make anything of."""
    from hydra.errors import HydraException, MissingConfigException, OverrideParseException

    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, choice = str(error.missing_cfg_file).rpartition("/")
        if choice.startswith("submitit_"):
            return "cluster=…: needs submitit; pip install -e '.[cluster]'"
        return f"{group}={choice}: no such choice; {group} is one of {', '.join(choices(config_dir, group))}"
    cause = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    if isinstance(cause, OmegaConfBaseException):
        return refused(cause)
    if isinstance(error, OverrideParseException):
        return f"{error.override}: cannot be read as key=value; quote values that hold spaces, brackets or commas"
    if isinstance(error, HydraException):
        return one_line(error).removesuffix(FULL_ERROR)
    return None


def refused(error: OmegaConfBaseException) -> str:
    """A key that is not there, or a value that cannot be."""
    key = one_line(error.full_key or "")
    keys = [str(k) for k in error.parent_node] if isinstance(error.parent_node, DictConfig) else []
    if keys and key.rpartition(".")[2] not in keys:
        if key.startswith("data.") and key.rpartition(".")[2] in OF_A_TABLE:
            return f"{key}: belongs to data=table; add data=table data.path=reviews.csv"
        return unknown_key(key, keys)
    return f"{key}: {reason_of(error, LONGEST)}" if key else reason_of(error, LONGEST)


def unknown_key(key: str, keys: list[str]) -> str:
    near = difflib.get_close_matches(key.rpartition(".")[2], keys, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    place = key.rpartition(".")[0] or "the top level"
    return f"{key}: no such key{hint}; {place} has {', '.join(k for k in keys if k != 'hydra')}"


def of_memory(error: Exception) -> str | None:
    if not isinstance(error, MemoryError) and not (isinstance(error, RuntimeError) and MEMORY.search(str(error))):
        return None
    return "the machine has too little memory for this; make model.K, model.F, data.batch_size or data.max_size smaller"


def wrong_choice(config_dir: Path, words: Sequence[str]) -> str | None:
    """The first word that chooses what a group does not have, such as logger=null."""
    for word in words:
        group, _, choice = word.partition("=")
        if re.fullmatch(r"\w+", group) and (config_dir / group).is_dir() and choice not in choices(config_dir, group):
            return f"{word}: no such choice; {group} is one of {', '.join(choices(config_dir, group))}"
    return None


def choices(config_dir: Path, group: str) -> list[str]:
    """The files of a group."""
    return sorted(path.stem for path in (config_dir / group).glob("*.yaml"))
