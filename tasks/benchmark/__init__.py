"""Speed: every claim measured in one run, beside what one would take instead and beside the limits of the machine."""

from __future__ import annotations

import importlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from rich.progress import track

from atd.errors import AtdError
from tasks.benchmark.measure import Bench
from tasks.benchmark.settings import FITS, GROUPS, Benchmark, Settings
from tasks.engine.numbers import three_digits
from tasks.engine.result import Result, Table
from tasks.engine.rows import Outcome, Store
from tasks.engine.settings import typed

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["FITS", "GROUPS", "Settings", "run"]

# What is measured: the rows it gives, and the function of this package that gives them.
MEASUREMENTS = {
    ("lm_exact", "lm_exact_products", "lm_exact_gemm_fraction"): "softmax.exact",
    ("lm_sampled",): "softmax.sampled",
    ("lm_exact_bf16", "lm_sampled_bf16"): "softmax.bf16",
    ("time_to_quality",): "softmax.time_to_quality",
    ("fit_overhead",): "lm.lightning_fit",
    ("attributes_1m",): "lm.attributes",
    ("memory_v100k",): "memory.exact_v100k",
    ("infer_vs_sgd",): "inference.against_sgd",
    ("infer_vs_gensim",): "inference.against_gensim",
    ("infer_quality_10", "infer_quality_40"): "inference.quality",
    ("ranking_vs_gensim",): "ranking.against_gensim",
    ("ranking_vs_embedding_bag",): "ranking.against_embedding_bag",
    ("ranking_vs_padded",): "ranking.against_padding",
    ("classifier_vs_svc", "classifier_vs_sgd"): "classifier.against_sklearn",
    tuple(f"encode_{corpus}{n}" for corpus in ("europarl", "blogs", "books") for n in ("", "_2")): "text.encoding",
    ("neighbours", "neighbours_1000"): "neighbours.ranked",
    ("generate_batched", "generate_one_by_one"): "generation.batched",
    ("startup",): "startup.against_lightning",
    ("whole_tour",): "commands.tour",
    ("whole_table",): "commands.table",
    ("tour_vs_revision",): "revision.tour",
    ("table_vs_revision",): "revision.table",
    ("suite_vs_revision",): "revision.suite",
}
BESIDE = {"tour_vs_revision", "table_vs_revision", "suite_vs_revision"}  # an older revision, if one is named
AXES = ("vocabulary", "factors", "batch", "attributes", "pairs", "report_map", "report_columns", "report_effects")
GROWTH = tuple(f"growth_{axis}" for axis in AXES)
SHOWN = ("ratio", "ratio_low", "ratio_high", "target", "at_most", "ok")
LIMITS = "Measured limits of the machine, and our training steps. What fits into its caches may lie above the line."
NAMES = (*(name for names in MEASUREMENTS for name in names), *GROWTH, "roofline")


class Ratios(Result):
    """Rows differ in what they say besides their ratio: the table shows what they share."""

    def score_table(self) -> Table:
        body = [[name, *beside_its_target(row)] for name, row in self.rows.items()]
        return Table("Results", ["", "ratio", "low to high", "target", "met"], body)


def beside_its_target(row: dict[str, float]) -> list[str]:
    spread = " to ".join(three_digits(row[key]) for key in ("ratio_low", "ratio_high") if key in row)
    sign = "≤" if row.get("at_most") else "≥"
    return [three_digits(row["ratio"]), spread, f"{sign} {row['target']:g}", "yes" if row["ok"] else "no"]


def run(cfg: DictConfig, out: Path) -> Result:
    logging.getLogger("gensim").setLevel(logging.ERROR)  # would tell of every epoch
    asked = typed(Benchmark, cfg.benchmark, "benchmark")
    wanted = chosen(asked.only, asked.quick, asked.revision)
    device = torch.device("cuda" if cfg.trainer.accelerator == "gpu" and torch.cuda.is_available() else "cpu")
    bench = Bench(cfg, 3 if asked.quick else asked.rounds, asked.quick, device)
    rows: dict[str, dict[str, float]] = {}
    due = [function for names, function in MEASUREMENTS.items() if wanted & set(names)]
    store = Store(out / "rows", bool(cfg.resume))
    for path in track(due, "measuring"):
        if not store.has(path, 0):
            store.save(path, 0, Outcome(facts=measure(path, bench)))
        measured = store.load(path, 0).facts
        rows |= measured
        for slug, row in measured.items():
            verdict = "met" if row["ok"] else "missed"
            print(f"{slug}: {three_digits(row['ratio'])}, target {row['target']:g}: {verdict}", flush=True)
    curves = growth(bench, [axis for axis in AXES if f"growth_{axis}" in wanted], rows)
    result = Ratios("benchmark", f"{next(iter(rows), 'none')}/ratio", rows)
    tables(result, bench, wanted)
    pictures(result, bench, wanted, curves)
    return result


def measure(path: str, bench: Bench) -> dict[str, dict[str, float]]:
    module, name = path.split(".")
    return getattr(importlib.import_module(f"tasks.benchmark.{module}"), name)(bench)


def chosen(only: list[str] | None, quick: bool, revision: str | None = None) -> set[str]:
    """The measurements asked for; a quick run leaves growth and roofline out unless they are named."""
    if only is None:
        return set(NAMES) - ({*GROWTH, "roofline"} if quick else set()) - (set() if revision else BESIDE)
    names = {name for entry in only for name in (GROWTH if entry == "growth" else (entry,))}
    if unknown := sorted(names - set(NAMES)):
        raise AtdError(f"benchmark.only={unknown[0]}: no such measurement; there are {', '.join(NAMES)}, growth")
    if names & BESIDE and not revision:
        raise AtdError("benchmark.revision: name the commit to compare with, such as benchmark.revision=HEAD~20")
    if not names - {"roofline"}:
        raise AtdError("benchmark.only: name at least one measurement besides roofline")
    return names


def growth(bench: Bench, axes: list[str], rows: dict[str, dict[str, float]]) -> list:
    if not axes:
        return []
    from tasks.benchmark.growth import AXES, grow

    curves = [grow(bench, axis, *AXES[axis](bench)) for axis in track(axes, "growth")]
    rows |= {f"growth_{curve.name}": curve.row() for curve in curves}
    return curves


def details(row: dict[str, float]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {three_digits(value)}" for key, value in row.items() if key not in SHOWN)


def tables(result: Result, bench: Bench, wanted: set[str]) -> None:
    threads, device = torch.get_num_threads(), bench.device.type
    met = sum(bool(row["ok"]) for row in result.rows.values())
    result.verdict = f"{met} of {len(result.rows)} targets are met."
    result.text(
        "What was done",
        [
            f"Measured on {threads} thread{'s' if threads > 1 else ''} ({device}). Every measurement alternates ours "
            f"and the rival, {bench.rounds} rounds after a warm-up; the ratio is the median over rounds, low and high "
            "are its 10th and 90th percentile.",
            "Where the target is a most (≤) the ratio should be small; for growth it is an exponent.",
        ],
    )
    result.table("Details", ["row", "besides"], [[name, details(row)] for name, row in result.rows.items()])
    if "startup" in wanted:
        from tasks.benchmark.startup import breakdown

        result.table("Where startup goes: imports", ["package", "seconds"], [list(line) for line in breakdown(bench)])


def pictures(result: Result, bench: Bench, wanted: set[str], curves: list) -> None:
    from tasks.benchmark.pictures import growth_lines, ratio_bars, roofline

    if any("ratio_low" in row for row in result.rows.values()):
        result.figure("ratios", ratio_bars(result.rows), "Ours against the rival, and the target of each ratio.")
    if curves:
        result.figure("growth", growth_lines(curves), "Cost of a step against size, with the fitted exponents.")
    if "roofline" in wanted:
        from tasks.benchmark.roofline import measure

        result.figure("roofline", roofline(*measure(bench)), LIMITS)
