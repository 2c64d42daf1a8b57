"""The configuration groups that tasks share, as types: model, optim, trainer, logger, inference, sweep.

A file of conf/<group> is one of these by its `name`. The settings of a task lie beside the task, those of a corpus are
the parameters of its DataModule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from atd.settings import either, listed, number, one_of, optional, whole

PRECISIONS = ("auto", "32-true", "16-mixed", "bf16-mixed", "bf16-true", "64-true")  # auto, and some of Lightning's
PROCESSES = whole(1, 1024)  # or threads: more are a slip of the keyboard
POSITIVE = number(0, open_low=True)
SHARE = number(0, 0.99)
FACTOR = number(0, 1, open_low=True)


@dataclass(frozen=True)
class Paths:
    data: str
    cache: str
    outputs: str


@dataclass(frozen=True)
class Job:
    """The top level: conf/config.yaml. What its groups hold is said below, by the task and by the DataModule."""

    seed: Annotated[int, whole(0)]
    resume: str | None
    checkpoint: str | None
    init_from: str | None
    freeze: bool
    paths: Paths
    data: dict[str, Any]
    model: dict[str, Any]
    optim: dict[str, Any]
    trainer: dict[str, Any]
    logger: dict[str, Any]
    inference: dict[str, Any]
    task: dict[str, Any]


@dataclass(frozen=True)
class LogBilinear:
    name: str
    K: Annotated[int, whole(1)]
    context: Annotated[int, whole(1)]
    dropout: Annotated[float, SHARE]
    vectors: str | None


@dataclass(frozen=True)
class Open(LogBilinear):
    """A gate that starts open."""

    F: Annotated[int, whole(1)]
    D: Annotated[int, whole(1)]
    gated: bool
    additive: bool
    free: Annotated[int, whole(0)]
    shrink: bool
    sparse: bool


@dataclass(frozen=True)
class Multiplicative(LogBilinear):
    """The paper's."""

    F: Annotated[int, whole(1)]
    D: Annotated[int, whole(1)]
    activation: Annotated[str, one_of("relu", "identity")]
    gate_bias: float
    additive: bool
    sparse: bool


@dataclass(frozen=True)
class Mixture(Multiplicative):
    components: Annotated[int, whole(1)]


@dataclass(frozen=True)
class Unfactored:
    name: str
    K: Annotated[int, whole(1)]
    D: Annotated[int, whole(1)]
    context: Annotated[int, whole(1)]
    activation: Annotated[str, one_of("relu", "identity")]


@dataclass(frozen=True)
class Ranking:
    name: str
    K: Annotated[int, whole(1)]
    F: Annotated[int, whole(1)]
    D: Annotated[int, whole(1)]
    sharing: Annotated[str, one_of("shared", "separate")]
    activation: Annotated[str, one_of("relu", "identity")]
    ngrams: Annotated[list[int], listed(whole(1))]
    buckets: Annotated[int, whole(1)]
    vectors: str | None
    fixed: bool


@dataclass(frozen=True)
class Meaning:
    """Meanings in the place of contexts, and a tensor that is not factored."""

    name: str
    K: Annotated[int, whole(1)]
    D: Annotated[int, whole(1)]


@dataclass(frozen=True)
class Optim:
    """What the optimiser of a language model, its schedule and the training loss need."""

    name: str
    lr: Annotated[float, POSITIVE]
    lr_decay: Annotated[float | str, either(FACTOR, one_of("linear"))]  # per epoch; linear: to 0 at the end
    lr_attributes: Annotated[float, POSITIVE]  # step size of the attribute table, relative to lr
    lr_shift: Annotated[float, POSITIVE]  # that of W_fa, likewise
    samples: Annotated[int, whole(0)]  # noise words; 0 = exact softmax


@dataclass(frozen=True)
class Adam(Optim):
    decay: Annotated[float, number(0)]  # a weight that learns nothing is e^-decay of its start at the end


@dataclass(frozen=True)
class AdaGrad(Optim):
    decay_words: Annotated[float, number(0)]  # L2, on attributes too
    decay_contexts: Annotated[float, number(0)]


@dataclass(frozen=True)
class SGD(AdaGrad):
    """The paper's: momentum rises linearly from p_i to p_f over T epochs."""

    lr_decay: Annotated[float, FACTOR]
    limit: Annotated[float | None, optional(POSITIVE)]  # of a step, as a share of the matrix's norm
    p_i: Annotated[float, number(0, 0.999)]
    p_f: Annotated[float, number(0, 0.999)]
    T: Annotated[int, whole(1)]


@dataclass(frozen=True)
class RowSteps:
    """Row-wise AdaGrad on the tables of a ranking model."""

    name: str
    lr: Annotated[float, POSITIVE]
    lr_factors: Annotated[float, POSITIVE]
    weight_decay: Annotated[float, number(0)]


@dataclass(frozen=True)
class Trainer:
    accelerator: Annotated[str, one_of("cpu", "gpu")]
    devices: Annotated[int | str, either(PROCESSES, one_of("auto"))]
    num_nodes: Annotated[int, PROCESSES]
    strategy: Annotated[str, one_of("auto", "ddp", "fsdp")]
    precision: Annotated[str, one_of(*PRECISIONS)]
    threads: Annotated[int | None, optional(PROCESSES)]
    max_epochs: Annotated[int, whole(1)]
    min_steps: Annotated[int, whole(0)]
    patience: Annotated[int, whole(1)]
    checkpoint_every: Annotated[int, whole(1)]
    accumulate: Annotated[int, whole(1)]


@dataclass(frozen=True)
class Logger:
    name: str


@dataclass(frozen=True)
class Wandb(Logger):
    project: str
    entity: str | None
    group: str | None
    mode: Annotated[str | None, optional(one_of("online", "offline", "disabled"))]


@dataclass(frozen=True)
class Inference:
    name: str
    l2: Annotated[float, POSITIVE]  # pull towards the prior
    samples: Annotated[int | None, optional(whole(2))]  # words of the softmax; None = all


@dataclass(frozen=True)
class Convex(Inference):
    tolerance: Annotated[float, POSITIVE]
    iterations: Annotated[int, whole(1)]


@dataclass(frozen=True)
class Steps(Inference):
    """The paper's inference, by gradient steps."""

    lr: Annotated[float, POSITIVE]
    epochs: Annotated[int, whole(1)]


@dataclass(frozen=True)
class Sweep:
    name: str
    folder: str
    metric: str
    direction: Annotated[str, one_of("minimize", "maximize")]
    trials: Annotated[int, whole(1)]
    startup: Annotated[int, whole(1)]
    parallel: Annotated[int, PROCESSES]
    seed: Annotated[int, whole(0)]
    watch: str | None
    grace: Annotated[int, whole(1)]
    warmup: Annotated[int, whole(0)]
    trial: int | None
    space: dict[str, Any]


GROUPS: dict[str, dict[str, type]] = {
    "model": {
        "atd": Open,
        "paper": Multiplicative,
        "lbl": LogBilinear,
        "mixture": Mixture,
        "unshared": Multiplicative,
        "tensor": Unfactored,
        "ranking": Ranking,
        "meaning": Meaning,
    },
    "optim": {"adam": Adam, "adagrad": AdaGrad, "sgd": SGD, "rows": RowSteps},
    "logger": {"csv": Logger, "none": Logger, "tensorboard": Logger, "wandb": Wandb},
    "inference": {"convex": Convex, "sgd": Steps},
}
