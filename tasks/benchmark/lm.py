"""The language model's training step: as it is timed, inside Lightning, and with a million attributes.

B batch, N context size, K word dim, D attribute dim, F factors, V vocabulary, A attributes.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from atd.design import Design
from atd.lm import MultiplicativeLM
from atd.noise import Noise
from atd.optim import PaperSGD, RowAdaGrad, parameter_groups
from atd.windows import WindowBatch
from tasks.benchmark import synthetic
from tasks.benchmark.measure import Bench, alternate, faster, slower
from tasks.benchmark.naive import NaiveLM, train_step

V, K, F, D, N, A, B = 20_000, 100, 100, 50, 5, 1000, 2048
SAMPLES = 384  # noise words; the perplexity beside the speed is measured with as many
SQUARES = (1024, 2048, 3072)


def step(
    model: MultiplicativeLM,
    optimiser: torch.optim.Optimizer,
    batch: WindowBatch,
    noise: Noise | None = None,
    bf16: bool = False,
) -> None:
    """A training step as the trainer makes it, without the trainer."""
    optimiser.zero_grad()
    with torch.autocast(batch.target.device.type, torch.bfloat16, enabled=bf16):
        if noise is None:
            loss = model.nll(batch.context, batch.target, batch.attribute)
        else:
            draw = noise.draw(SAMPLES, torch.default_generator)
            loss = model.sampled_nll(batch.context, batch.target, draw, batch.attribute)
    loss.backward()
    optimiser.step()


def our_step(
    device: torch.device, sampled: bool = False, bf16: bool = False, V=V, F=F, B=B, A=A, K=K
) -> Callable[[], None]:
    """A step of our model with the paper's optimiser, on batches that take turns."""
    torch.manual_seed(0)
    model = MultiplicativeLM(V, K, D, F, N, A).to(device)
    model.start_bias(torch.from_numpy(synthetic.word_counts(V)))
    noise = Noise(torch.from_numpy(synthetic.word_counts(V))).to(device) if sampled else None
    optimiser = PaperSGD(model.parameters(), lr=0.1, momentum=0.9)
    batches = itertools.cycle([synthetic.batch(B, N, V, A, device, seed) for seed in range(4)])
    return lambda: step(model, optimiser, next(batches), noise, bf16)


def naive_step(device: torch.device, V=V, F=F, B=B, A=A, K=K) -> Callable[[], None]:
    torch.manual_seed(0)
    model = NaiveLM(V, K, D, F, N, A).to(device)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    batches = itertools.cycle([synthetic.batch(B, N, V, A, device, seed) for seed in range(4)])
    return lambda: train_step(model, optimiser, next(batches))


def square(n: int, device: torch.device) -> Callable[[], object]:
    a, b, out = (torch.randn(n, n, device=device) for _ in range(3))
    return lambda: torch.mm(a, b, out=out)


def work(V: int = V, F: int = F, B: int = B, K: int = K) -> float:
    """Necessary floating-point operations of an exact step: every product once forwards and twice backwards.

    Padding, recomputation, exponentials and the optimiser are not counted.
    """
    contexts = min(N * F * F, N * F * K + N * K * K + K * F)
    return 3 * 2.0 * B * (V * F + contexts + D * F)


def attributes(bench: Bench) -> dict[str, dict[str, float]]:
    """Row-sparse attribute gradients: what a step costs must not depend on how many attributes it does not use."""
    seconds = alternate({"ours": sparse_step(bench, 1_000_000), "rival": sparse_step(bench, 1000)}, bench.rounds)
    return {"attributes_1m": slower(seconds, 1.15)}


def sparse_step(bench: Bench, A: int) -> Callable[[], None]:
    torch.manual_seed(0)
    model = MultiplicativeLM(V, K, D, F, N, A, sparse=True).to(bench.device)
    noise = Noise(torch.from_numpy(synthetic.word_counts(V))).to(bench.device)
    optimiser = RowAdaGrad(model.parameters(), lr=0.05)
    batches = itertools.cycle([synthetic.batch(B, N, V, A, bench.device, seed) for seed in range(16)])
    return lambda: step(model, optimiser, next(batches), noise)


def lightning_fit(bench: Bench) -> dict[str, dict[str, float]]:
    """An epoch by `trainer.fit` with our loader, logger and callbacks, against the same steps in a bare loop."""
    from lightning.pytorch.callbacks import ModelCheckpoint

    from atd.encoded import EncodedCorpus
    from atd.windows import WindowLoader
    from tasks.engine.groups import Adam
    from tasks.learning.language_model import LanguageModel
    from tasks.learning.training import History, build_trainer

    steps, counts = bench.size(200, 50), synthetic.vocabulary(V)
    documents = 400
    words = synthetic.tokens(steps * B, V).astype(np.int32)
    offsets = np.linspace(0, len(words), documents + 1).astype(np.int64)
    corpus = EncodedCorpus(words, offsets, (np.arange(documents) % A).astype(np.int32))
    optim = Adam("adam", lr=0.001, lr_decay=1.0, lr_attributes=1.0, lr_shift=1.0, samples=SAMPLES, decay=0.0)

    def module() -> LanguageModel:
        torch.manual_seed(0)
        model = MultiplicativeLM(V, K, D, F, N, A)
        return LanguageModel(model, [counts], Design.plain([str(a) for a in range(A)]), optim, {"name": "atd"})

    def loader() -> WindowLoader:
        return WindowLoader(corpus, N, B, seed=0, shuffle=True)

    def fitted() -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            out = Path(folder)
            last = ModelCheckpoint(out, every_n_train_steps=bench.cfg.trainer.checkpoint_every)
            trainer = build_trainer(bench.cfg, 1, out, "atd", [History("fit"), last])
            trainer.fit(module(), loader())
            assert trainer.global_step == steps

    batches = [batch.to(bench.device) for batch in loader()]

    def bare() -> None:
        lm: Any = module().to(bench.device)
        optimiser = torch.optim.AdamW(parameter_groups(lm.model), lr=optim.lr, fused=True)
        for batch in batches:
            step(lm.model, optimiser, batch, lm.noise[0])

    seconds = alternate({"ours": fitted, "rival": bare}, bench.rounds)
    return {"fit_overhead": faster(seconds, 0.85, steps=steps)}
