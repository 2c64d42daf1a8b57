"""Training of a language model in plain PyTorch: how it starts, a step, the schedule, and the loop.

The platform's trainer takes its steps by these same functions. So equal data, settings and seed give equal weights
there and here, to the bit.

N context size, V vocabulary, A attributes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import torch
from torch import Tensor
from torch.optim.lr_scheduler import ExponentialLR, LinearLR, LRScheduler

from atd.attributes import CentredTable
from atd.design import Design
from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.joining import hold, join
from atd.lm import NextWordModel
from atd.models import build
from atd.noise import Noise, NoiseDraw
from atd.optim import parameter_groups, travel
from atd.precision import has_bf16
from atd.seeding import seeded
from atd.settings import either, number, one_of, optional, rule_of, whole
from atd.trained import Trained
from atd.vocabulary import Vocabulary
from atd.windows import WindowBatch, WindowLoader

VALIDATION_WORDS = 50_000  # enough to compare epochs on: the exact softmax of more would take as long as training
TOLD = 20  # steps between two reports of progress
POSITIVE = number(0, open_low=True)


@dataclass(frozen=True)
class Training:
    """How a model is trained, by Adam with decoupled weight decay."""

    lr: Annotated[float, POSITIVE] = 0.006
    lr_decay: Annotated[float | str, either(number(0, 1, open_low=True), one_of("linear"))] = "linear"  # or per epoch
    lr_attributes: Annotated[float, POSITIVE] = 1.0  # step size of the attribute table, relative to lr
    lr_shift: Annotated[float, POSITIVE] = 1.0  # that of W_fa, likewise
    decay: Annotated[float, number(0)] = 1.6  # a word that learns nothing is e^-decay of its start at the end
    samples: Annotated[int, whole(0)] = 1000  # noise words of a step; 0 = exact softmax
    batch_size: Annotated[int | None, optional(whole(1))] = None  # words of a step; None: `suitable_batch`
    epochs: Annotated[int, whole(1)] = 5
    min_steps: Annotated[int, whole(0)] = 0  # more epochs of a small corpus, until they have so many steps
    patience: Annotated[int, whole(1)] = 2  # epochs without a better validation perplexity before stopping
    seed: Annotated[int, whole(0)] = 0
    precision: Annotated[str, one_of("auto", "fp32", "bf16")] = "auto"  # of products; auto: bf16 where it is fast
    threads: Annotated[int | None, optional(whole(1))] = None  # of PyTorch; None = as they are
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            rule, value = rule_of(hint), getattr(self, name)
            if not rule.fits(value):
                raise AtdError(f"{name}={value!r}: must be {rule.says}")

    @property
    def bf16(self) -> bool:
        """Whether products are in bf16. Weights and validation are always fp32."""
        fast = self.precision == "auto" and (torch.device(self.device).type != "cpu" or has_bf16())
        return fast or self.precision == "bf16"


@dataclass(frozen=True)
class Progress:
    """How far a training is. After an epoch `perplexity` is that of its validation text."""

    step: int
    steps: int
    epoch: int
    epochs: int
    perplexity: float | None = None


@dataclass
class Best:
    """The weights of the epoch with the lowest perplexity, and how long ago that was."""

    patience: int
    perplexity: float = math.inf
    weights: dict[str, Tensor] | None = None
    waited: int = 0

    def goes_on(self, perplexity: float, model: NextWordModel) -> bool:
        """Take note of an epoch; False = stop."""
        if self.weights is None or perplexity < self.perplexity:
            self.weights = {name: value.clone() for name, value in model.state_dict().items()}
            self.perplexity = perplexity if math.isfinite(perplexity) else math.inf
            self.waited = 0
        else:
            self.waited += 1
        return math.isfinite(perplexity) and self.waited < self.patience


class Loop:
    """A training under way."""

    def __init__(
        self, model: NextWordModel, texts: EncodedCorpus, settings: Training, tell: Callable[[Progress], None]
    ):
        s = settings
        self.model = model.to(s.device)
        self.settings = s
        self.tell = tell
        self.device = torch.device(s.device)
        self.batch_size = s.batch_size or suitable_batch(len(texts.tokens))
        self.loader = WindowLoader(texts, len(model.C), self.batch_size, s.seed)
        self.epochs = epochs_of(s.epochs, s.min_steps, len(self.loader))
        self.steps = len(self.loader) * self.epochs
        self.step = 0
        self.bf16 = s.bf16
        self.noise = Noise(texts.vocabulary.counts)
        self.optimiser = adam(model, s, self.steps, self.epochs)
        self.schedule = schedule_of(self.optimiser, s.lr_decay, self.steps)
        hold(model, self.optimiser)

    def run(self, epoch: int) -> None:
        """Every word once, in the order of this epoch."""
        self.model.train()
        self.loader.set_epoch(epoch)
        for batch in self.loader:
            self.advance(batch)
            if self.step % TOLD == 0:
                self.say(epoch)
        if self.settings.lr_decay != "linear":
            self.schedule.step()

    def advance(self, batch: WindowBatch) -> None:
        """One step of the optimiser."""
        s = self.settings
        generator = seeded(s.seed, self.step, self.device)
        draw = self.noise.draw(s.samples, generator, batch.place) if s.samples else None
        with torch.autocast(self.device.type, torch.bfloat16, self.bf16, cache_enabled=False):
            loss = loss_of(self.model, batch.to(self.device), draw)
        if self.device.type == "cpu" or self.step % TOLD == 0:
            check_finite(loss.item(), self.step)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        if s.lr_decay == "linear":
            self.schedule.step()
        self.step += 1

    def say(self, epoch: int, perplexity: float | None = None) -> None:
        self.tell(Progress(self.step, self.steps, epoch, self.epochs, perplexity))


def start(
    config: Mapping[str, Any],
    vocabularies: Sequence[Vocabulary],
    design: Design,
    seed: int,
    old: Trained | None = None,
    freeze: bool = True,
) -> NextWordModel:
    """The model that `config` describes for these words and attributes, as its training begins.

    b is at the word frequencies, and a centred table knows how much text each attribute has. What an `old` model has
    learned is there from the start, and stays as it is with `freeze`.
    """
    torch.manual_seed(seed)
    model = build(config, [len(v) for v in vocabularies], len(design.term_A))
    model.start_bias(torch.cat([torch.from_numpy(v.counts) for v in vocabularies]))
    if isinstance(table := getattr(model, "attributes", None), CentredTable):
        base_A = None if design.base_A is None else torch.from_numpy(design.base_A)
        table.centre(torch.from_numpy(design.words_A), torch.from_numpy(design.term_A), base_A)
    if old is not None:
        join(model, design, old, freeze)
    return model


def check_finite(loss: float, step: int, place: str = "") -> None:
    """A loss that is no number cannot be mended by going on."""
    if not math.isfinite(loss):
        raise AtdError(f"the loss is {loss} at step {step}{place}: training diverged; take a smaller step size (lr)")


def loss_of(model: NextWordModel, batch: WindowBatch, draw: NoiseDraw | None) -> Tensor:
    """What a step descends: the mean loss over noise words, or exact if there are none, and the attributes' prior."""
    if draw is not None:
        loss = model.sampled_nll(batch.context, batch.target, draw, batch.attribute, batch.language)
    else:
        loss = model.nll(batch.context, batch.target, batch.attribute, batch.language)
    return loss * batch.weight + model.shrinkage()


def exact_nll(model: NextWordModel, batch: WindowBatch) -> Tensor:
    """Exact negative log-likelihood of every word of a batch, whatever the precision of training."""
    with torch.autocast(batch.target.device.type, enabled=False):
        return model.nll(batch.context, batch.target, batch.attribute, batch.language, reduction="none")


def rates(settings: Any) -> dict[str, float]:
    """The step sizes of the roles that have their own."""
    return {"attributes": settings.lr * settings.lr_attributes, "shift": settings.lr * settings.lr_shift}


def adam(model: NextWordModel, settings: Any, steps: int, epochs: int) -> torch.optim.Optimizer:
    """AdamW for a training of so many steps. The settings are the library's `Training`, or those of conf/optim.

    Its decay is a share of what a weight travels, so that one setting serves short and long trainings. The effects of
    attributes have a prior of their own (`shrinkage`).
    """
    share = settings.decay / travel(settings.lr, settings.lr_decay, steps, epochs)
    groups = parameter_groups(model, {"words": share, "contexts": share}, rates(settings))
    return torch.optim.AdamW(groups, lr=settings.lr, fused=True)


def schedule_of(optimiser: torch.optim.Optimizer, lr_decay: float | str, steps: int) -> LRScheduler:
    """Linear, to 0 at the end: moved on after every step. Or a factor: after every epoch."""
    if isinstance(lr_decay, str):
        return LinearLR(optimiser, 1.0, 0.0, steps)
    return ExponentialLR(optimiser, lr_decay)


def suitable_batch(words: int) -> int:
    """The size of a batch for so many words of training text: as large as leaves five epochs about 3,000 steps."""
    return 1024 if words < 1_250_000 else 2048 if words < 2_500_000 else 4096


def epochs_of(epochs: int, min_steps: int, steps: int) -> int:
    """So many epochs; of a small corpus, whose epochs have few steps, as many as make up `min_steps`."""
    return max(epochs, -(-min_steps // max(steps, 1))) if min_steps else epochs


@torch.inference_mode()
def mean_nll(model: NextWordModel, texts: EncodedCorpus, batch_size: int = 1024, device: str = "cpu") -> float:
    """The mean exact negative log-likelihood of the words of some texts under their attributes, in nats."""
    model.eval()
    nll = torch.zeros((), dtype=torch.float64, device=device)
    for batch in WindowLoader(texts, len(model.C), batch_size, seed=0, shuffle=False):
        nll += exact_nll(model, batch.to(device)).double().sum()
    return float(nll / len(texts.tokens))


def train(
    model: NextWordModel,
    texts: EncodedCorpus,
    validation: EncodedCorpus | None,
    settings: Training = Training(),
    progress: Callable[[Progress], None] | None = None,
) -> list[dict[str, float]]:
    """Train a model that was started for these texts; returns the learning curve, a dict for every epoch.

    The model keeps the weights of the epoch that is best on some of the validation text, or without any the last ones.
    It is left on the CPU, ready to use.
    """
    if not len(texts.tokens):
        raise AtdError("there is no word to learn from")
    few = None if validation is None else validation.sample(VALIDATION_WORDS)
    best, curve = Best(settings.patience), []
    with limited(settings.threads):
        loop = Loop(model, texts, settings, progress or (lambda _: None))
        for epoch in range(loop.epochs):
            since = time.monotonic()
            loop.run(epoch)
            curve.append({"epoch": epoch, "seconds": time.monotonic() - since})
            if few is not None:
                nll = mean_nll(model, few, loop.batch_size, settings.device)
                check_finite(nll, loop.step, ", on validation text")
                perplexity = exp(nll)
                curve[-1]["perplexity"] = perplexity
                loop.say(epoch, perplexity)
                if not best.goes_on(perplexity, model):
                    break
    if best.weights is not None:
        model.load_state_dict(best.weights)
    model.to("cpu").eval()
    return curve


def exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


@contextmanager
def limited(threads: int | None) -> Iterator[None]:
    """So many threads of PyTorch, and its default generator left as it was."""
    before = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        if threads is not None:
            torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)
