"""What a run has read: a record of the encoded corpora it opened, by which a resumed run notices that text changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from atd.errors import AtdError
from atd.files import write_whole

_record: ContextVar[Path | None] = ContextVar("record", default=None)


@contextmanager
def recorded(path: Path) -> Iterator[None]:
    """Corpora opened inside are noted in this file; one that was noted before must be the same."""
    token = _record.set(path)
    try:
        yield
    finally:
        _record.reset(token)


def note(name: str, key: Mapping[str, Any], checksum: int) -> None:
    """An encoded corpus was opened: what its key says, and the checksum of its content."""
    path = _record.get()
    if path is None:
        return
    noted = read(path)
    settings = json.dumps({k: v for k, v in key.items() if k != "files"}, sort_keys=True, default=str)
    label = f"{name}-{hashlib.sha256(settings.encode()).hexdigest()[:16]}"
    files = json.loads(json.dumps(key.get("files", []), default=str))
    if label not in noted:
        noted[label] = {"checksum": checksum, "files": files}
        write_whole(path, json.dumps(noted, indent=1) + "\n")
    elif noted[label]["checksum"] != checksum:
        what = changed(noted[label]["files"], files)
        raise AtdError(f"data={name}: {what} since this run began; put it back as it was, or start a new run")


def read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        print(f"{path}: damaged; whether the text is still the same is not known", flush=True)
        return {}


def changed(before: list[list[Any]], now: list[list[Any]]) -> str:
    """The first file that differs, in words."""
    old = {name: facts for name, *facts in before}
    new = {name: facts for name, *facts in now}
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            return f"{name} is gone"
        if name not in old:
            return f"{name} was added"
        if old[name] != new[name]:
            return f"{name} changed ({old[name][0]:,} bytes then, {new[name][0]:,} now)"
    return "the way its text is read changed"
