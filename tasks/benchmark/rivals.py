"""The strongest rivals of a training step: what a competent user of PyTorch would run, each at its best settings.

B batch, N context size, K word dim, D attribute dim, F factors, V vocabulary, S noise words that the batch shares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from atd.windows import WindowBatch
from tasks.benchmark.naive import NaiveLM

CHUNKS = (128, 256, 512, 1024)  # rows of the batch whose logits exist at once
SHARED = (512, 1024, 2048, 4096, 8192)  # noise words to choose from

Loss = Callable[[NaiveLM, WindowBatch], Tensor]


def naive_loss(model: NaiveLM, batch: WindowBatch) -> Tensor:
    return functional.cross_entropy(model(batch.context, batch.ids), batch.target)


def chunked_loss(rows: int) -> Loss:
    """PyTorch's own cross-entropy that never holds all logits."""
    options = nn.LinearCrossEntropyOptions(batch_chunk_size=rows)

    def loss(model: NaiveLM, batch: WindowBatch) -> Tensor:
        f_BF = model.hidden(batch.context, batch.ids)
        W = model.words.weight
        return functional.linear_cross_entropy(f_BF, W, batch.target, linear_bias=model.bias, options=options)

    return loss


@dataclass
class SampledLoss:
    """The sampled softmax of the textbooks: S words drawn for the whole batch, each with its logit less log(S q),
    and a noise word that is the target itself left out."""

    q_V: Tensor  # of unigrams to the power ¾, normalised
    samples: int

    def __call__(self, model: NaiveLM, batch: WindowBatch) -> Tensor:
        ids_S = torch.multinomial(self.q_V, self.samples, replacement=True)
        f_BF = model.hidden(batch.context, batch.ids)
        expected_S = (self.samples * self.q_V[ids_S]).log()
        noise_BS = functional.linear(f_BF, model.words(ids_S), model.bias[ids_S] - expected_S)
        noise_BS = noise_BS.masked_fill(ids_S == batch.target[:, None], -torch.inf)
        own_B = (f_BF * model.words(batch.target)).sum(1) + model.bias[batch.target]
        return (torch.cat([own_B[:, None], noise_BS], 1).logsumexp(1) - own_B).mean()


def noise_shares(counts_V: Tensor) -> Tensor:
    q_V = counts_V.double().clamp(min=1).pow(0.75)
    return (q_V / q_V.sum()).float()


def steps_of(
    model: NaiveLM,
    optimiser: torch.optim.Optimizer,
    batches: Iterator[WindowBatch],
    losses: Mapping[str, Loss],
    bf16: bool = False,
) -> dict[str, Callable[[], None]]:
    """A training step with each of the losses."""

    def step_with(loss: Loss) -> Callable[[], None]:
        def step() -> None:
            batch = next(batches)
            optimiser.zero_grad()
            with torch.autocast(batch.target.device.type, torch.bfloat16, enabled=bf16):
                value = loss(model, batch)
            value.backward()
            optimiser.step()

        return step

    return {name: step_with(loss) for name, loss in losses.items()}


def at_medium_precision(function: Callable[[], object]) -> Callable[[], None]:
    """With products that PyTorch may round to bf16. On AMD's processors it does not, but takes them from oneDNN instead
    of MKL, which uses all of the processor's lanes."""

    def function_at_medium() -> None:
        torch.set_float32_matmul_precision("medium")
        function()
        torch.set_float32_matmul_precision("highest")

    return function_at_medium


def exact_losses(bf16: bool = False) -> dict[str, Loss]:
    """In chunks of every size, compiled, and as one would write it without a second thought."""
    losses: dict[str, Loss] = {f"chunks_{rows}": chunked_loss(rows) for rows in CHUNKS}
    if (compiled := compiled_loss()) is not None:
        losses["compiled"] = compiled
    return losses | {"naive": naive_loss}


def compiled_loss() -> Loss | None:
    """None where the machine has no compiler for it."""
    compiled: Any = torch.compile(naive_loss)
    tiny = NaiveLM(10, 4, 4, 4, 2, 2)
    ids = torch.zeros(3, dtype=torch.long)
    try:
        compiled(tiny, WindowBatch(ids[:, None].expand(3, 2), ids, ids)).backward()
    except Exception as error:  # of the compiler, in any form
        print(f"compiled: left out ({type(error).__name__}), torch.compile does not work here")
        return None
    return compiled
