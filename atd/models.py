"""Language models by name, and trained ones out of checkpoint files.

V vocabulary, K word dim, D attribute dim, F factors, A attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from atd import checkpoint
from atd.checkpoint import check_unique, rebuilt, weights_of
from atd.design import Design
from atd.errors import AtdError, reason_of
from atd.lm import LogBilinearLM, MultiplicativeLM, NextWordModel, UnsharedLM
from atd.mixture_lm import MixtureLM
from atd.open_lm import OpenLM
from atd.tensor_lm import TensorLM
from atd.tokeniser import Tokeniser
from atd.trained import Trained
from atd.usage import from_state
from atd.vocabulary import Vocabulary

OPEN = ("gated", "additive", "shrink", "dropout", "sparse", "free")  # options of the model whose gate starts open
OPTIONS = ("activation", "gate_bias", "dropout", "additive", "sparse")  # of the paper's, and those built on it
PLACES = ("checkpoints/atd/best.ckpt", "checkpoints/*/best.ckpt", "best.ckpt", "trained.ckpt", "model/trained.ckpt")
NAMES = ("atd", "lbl", "mixture", "paper", "tensor", "unshared")


def build(config: Mapping[str, Any], sizes: Sequence[int], A: int) -> NextWordModel:
    """The language model that a mapping describes, for vocabularies of these sizes and A attributes.

    `config` holds `name` (one of NAMES), the sizes `K`, `F`, `D`, `context`, and OPEN or OPTIONS; a model takes
    what it has.
    """
    config = dict(config)
    name = config["name"]
    V = sum(sizes)
    K = config["K"]
    N = config["context"]
    if name not in NAMES:
        raise AtdError(f"there is no language model called {name!r}; it is one of {', '.join(NAMES)}")
    if name == "lbl":
        return LogBilinearLM(V, K, N, config["dropout"])
    D = config["D"]
    if name == "tensor":
        return TensorLM(V, K, D, N, A, config["activation"])
    F = config["F"]
    if name == "atd":
        return OpenLM(V, K, D, F, N, A, **{key: config[key] for key in OPEN})
    options = {key: config[key] for key in OPTIONS}
    if name == "mixture":
        return MixtureLM(V, K, D, F, N, A, components=config["components"], **options)
    if name == "unshared":
        return UnsharedLM(sizes, K, D, F, N, A, **options)
    return MultiplicativeLM(V, K, D, F, N, A, **options)


def load(path: str | Path) -> Trained:
    """Read a checkpoint file, or the best one of a run folder. Only plain values and tensors are accepted."""
    path = find_checkpoint(path)
    content = checkpoint.read(path)
    try:
        saved = content["atd"]
        check_unique(saved["attributes"], "attributes")
        vocabularies = [Vocabulary.from_state(state) for state in saved["vocabularies"]]
        sizes, A = [len(v) for v in vocabularies], len(saved["attributes"])
        model = cast(NextWordModel, rebuilt(partial(build, saved["model"], sizes, A), weights_of(content)))
        tokeniser = Tokeniser.of(saved["tokeniser"]) if saved.get("tokeniser") else None
        design = Design.from_state(saved["design"]) if saved.get("design") else Design.plain(saved["attributes"])
        usage = from_state(saved["usage"]) if saved.get("usage") else None
    except Exception as error:
        problem = f"not a checkpoint of this program ({reason_of(error)})"
        raise AtdError(f"{path}: {problem}; give a file or run folder it wrote") from None
    return Trained(model, vocabularies, design, dict(saved["model"]), tokeniser, usage)


def find_checkpoint(path: str | Path) -> Path:
    """The file itself; inside a run folder the best checkpoint of its first (main) model; of an export its model."""
    path = Path(path)
    if path.is_file():
        return path
    for pattern in PLACES:
        if found := sorted(path.glob(pattern)):
            return found[0]
    problem = "no checkpoints/*/best.ckpt in this folder" if path.is_dir() else "no such file or folder"
    raise AtdError(f"{path}: {problem}; give a checkpoint file or the folder of a run that trained a model")
