"""A training step beside the strongest rivals: exact or sampled softmax, fp32 or bf16; and how soon a model is good.

B batch, N context size, K word dim, D attribute dim, F factors, V vocabulary, A attributes, P columns of a product.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from atd.candidates import Columns
from atd.precision import bf16_pays
from atd.products import product
from atd.softmax_kernel import rows_at_once
from tasks.benchmark import synthetic
from tasks.benchmark.lm import SQUARES, A, B, D, F, K, N, V, our_step, square, work
from tasks.benchmark.measure import Bench, alternate, faster, row
from tasks.benchmark.naive import NaiveLM
from tasks.benchmark.quality import Study, study_of
from tasks.benchmark.rivals import (
    SHARED,
    Loss,
    SampledLoss,
    at_medium_precision,
    exact_losses,
    naive_loss,
    noise_shares,
    steps_of,
)

GOOD = 1.08  # times the perplexity of exact training: the quality that a training is timed until
Functions = dict[str, Callable[[], object]]


def exact(bench: Bench) -> dict[str, dict[str, float]]:
    rivals = rival_steps(bench, exact_losses())
    functions: Functions = {"ours": our_step(bench.device), **rivals}
    functions |= {f"gemm{n}": square(n, bench.device) for n in SQUARES} | {"products": products(bench.device)}
    seconds = alternate(functions, bench.rounds)
    rates = {n: 2.0 * n**3 / seconds[f"gemm{n}"] for n in SQUARES}
    best = max(rates, key=lambda n: np.median(rates[n]))
    rate = work() / seconds["ours"]
    gflops: dict[str, Any] = {
        "gflops": float(np.median(rate)) / 1e9,
        "gemm_gflops": float(np.median(rates[best])) / 1e9,
    }
    words = B / float(np.median(seconds["ours"]))
    return {
        "lm_exact": faster(seconds, 1.5, tuple(rivals), words_per_second=words),
        "lm_exact_products": row(seconds["products"] / seconds["ours"], 0.9),
        "lm_exact_gemm_fraction": row(rate / rates[best], 0.65, **gflops),
    }


def sampled(bench: Bench) -> dict[str, dict[str, float]]:
    """Against as many shared noise words as the rival needs for our perplexity."""
    study = study_of(bench)
    ours = study.after("sampled")
    counts = torch.from_numpy(synthetic.word_counts(V))
    shared = next((S for S in SHARED if study.after(f"shared_{S}") <= ours), SHARED[-1])
    losses: dict[str, Loss] = {"shared": SampledLoss(noise_shares(counts), shared), "naive": naive_loss}
    rivals = rival_steps(bench, losses)
    functions: Functions = {"ours": our_step(bench.device, sampled=True), **rivals}
    seconds = alternate(functions, bench.rounds)
    more: dict[str, Any] = {"perplexity": ours, "rival_perplexity": study.after(f"shared_{shared}"), "shared": shared}
    return {"lm_sampled": faster(seconds, 3, tuple(rivals), ok=study.equal("sampled"), **more)}


def bf16(bench: Bench) -> dict[str, dict[str, float]]:
    """Products in bf16 on both sides (`trainer.precision=bf16-mixed`), where the processor has them."""
    if not bf16_pays(bench.device.type):
        print("lm_exact_bf16, lm_sampled_bf16: left out, this processor emulates bf16")
        return {}
    study = study_of(bench)
    losses = exact_losses()
    functions: Functions = {
        "exact": our_step(bench.device, bf16=True),
        "sampled": our_step(bench.device, sampled=True, bf16=True),
        **rival_steps(bench, losses, bf16=True),
    }
    seconds = alternate(functions, bench.rounds)
    return {
        f"lm_{way}_bf16": faster(
            {**seconds, "ours": seconds[way]},
            target,
            tuple(losses),
            ok=study.equal(name),
            perplexity=study.after(name),
            perplexity_exact=study.after("exact"),
        )
        for way, name, target in (("exact", "bf16", 2.0), ("sampled", "sampled_bf16", 15.0))
    }


def time_to_quality(bench: Bench) -> dict[str, dict[str, float]]:
    """Seconds of training until held-out perplexity is within 8 % of that of a long exact training.

    Each side takes its best step size and the shortest training that ends there, with a step size that falls to zero,
    and the rival the fastest of its losses; both in bf16 where the processor has it. The seconds are those of a step,
    timed in turns, times the steps.
    """
    study = study_of(bench)
    goal = GOOD * study.after("exact")
    suffix = "_bf16" if bf16_pays(bench.device.type) else ""
    ours = f"sampled{suffix}"
    rivals = [f"{name}{suffix}" for name in ("chunks", *(f"shared_{S}" for S in SHARED))]
    seconds = alternate({way: study.timed_step(way) for way in (ours, *rivals)}, bench.rounds)
    needed = fastest_trainings(study, goal, {way: float(np.median(seconds[way])) for way in rivals})
    if (steps := study.steps_until(ours, goal)) is None or not needed:
        print("time_to_quality: left out, no training of one side is good enough")
        return {}
    whole = {way: seconds[way] * needed[way] for way in needed} | {"ours": seconds[ours] * steps}
    taken: dict[str, Any] = {f"steps_{way}": n for way, n in needed.items()} | {"steps": steps}
    rates: dict[str, Any] = {f"rate_{way}": study.best_rate(way) for way in (ours, *needed)}
    return {"time_to_quality": faster(whole, 4, tuple(needed), goal=goal, **taken, **rates)}


def fastest_trainings(study: Study, goal: float, seconds: Mapping[str, float]) -> dict[str, int]:
    """Steps to the goal by the ways that get there, given the seconds of a step. Of what cannot be the fastest any more
    nothing is tried."""
    needed: dict[str, int] = {}
    best = math.inf
    for way in sorted(seconds, key=lambda way: seconds[way]):
        if (steps := study.steps_until(way, goal, most=best / seconds[way])) is not None:
            needed[way] = steps
            best = min(best, steps * seconds[way])
    return needed


def rival_steps(bench: Bench, losses: Mapping[str, Loss], bf16: bool = False) -> Functions:
    """Steps of the module of embeddings and linear layers, with momentum; in fp32 also with other products."""
    torch.manual_seed(0)
    model = NaiveLM(V, K, D, F, N, A).to(bench.device)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    batches = itertools.cycle([synthetic.batch(B, N, V, A, bench.device, seed) for seed in range(4)])
    steps: Functions = dict(steps_of(model, optimiser, batches, losses, bf16))
    if not bf16 and bench.device.type == "cpu":
        steps |= {f"{name}_medium": at_medium_precision(step) for name, step in steps.items() if name != "compiled"}
    return steps


def products(device: torch.device) -> Callable[[], None]:
    """The three products of an exact step alone, in the chunks of our kernel."""
    P, rows = Columns(F).P, rows_at_once(V)
    table, h_BP, logits = (torch.randn(1, n, m, device=device) for n, m in ((V, P), (B, P), (V, rows)))
    dtable = torch.empty(1, V, P, device=device)

    def three() -> None:
        for i in range(0, B, rows):
            h = h_BP[:, i : i + rows]
            out = logits[..., : h.shape[1]]
            product(table, h.mT, out)
            product(out.mT, table)
            product(out, h, dtable, add=i > 0)

    return three
