"""The pictures of the benchmark: ratios beside their targets, growth, and the roofline of the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tasks.benchmark.growth import Growth
from tasks.benchmark.roofline import Kernel, Machine
from tasks.engine.canvas import COLOURS, MARKERS, axes, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@picture
def ratio_bars(rows: Mapping[str, Mapping[str, float]]) -> Figure:
    """Each ratio with its spread, and its target as a black stroke, on a logarithmic axis."""
    names = [name for name in rows if "ratio_low" in rows[name]][::-1]
    figure, ax = axes(7.5, 0.36 * len(names) + 1.2)
    for i, name in enumerate(names):
        r = rows[name]
        spread = [[r["ratio"] - r["ratio_low"]], [r["ratio_high"] - r["ratio"]]]
        ax.barh(i, r["ratio"], color=COLOURS[2] if r["ok"] else COLOURS[1], xerr=spread, capsize=3)
        ax.plot([r["target"]] * 2, [i - 0.45, i + 0.45], color="black", lw=2)
    ax.set_yticks(range(len(names)), names)
    ax.set_xscale("log")
    ax.set_ylim(-0.8, len(names) - 0.2)
    ax.set_xlabel("ratio (green: target met; black: the target)")
    ax.grid(axis="x", alpha=0.3)
    return figure


@picture
def growth_lines(curves: Sequence[Growth]) -> Figure:
    """Seconds (solid) and bytes (dashed) against size, each relative to its first point."""
    figure, ax = axes(9.0, 5.0)
    for i, curve in enumerate(curves):
        size = np.array(curve.sizes) / curve.sizes[0]
        for values, style, what, slope in (
            (curve.seconds, "-", "time", curve.time),
            (curve.bytes, "--", "memory", curve.memory),
        ):
            ax.plot(
                size, np.array(values) / values[0], style, marker=MARKERS[i], color=COLOURS[i],
                label=f"{curve.name}: {what} ^{slope:.2f}",
            )  # fmt: skip
    ax.plot([1, 1e4], [1, 1e4], color="#9aa4b2", lw=0.8, label="proportional")
    ax.set(xscale="log", yscale="log", xlabel="size, relative to the smallest", ylabel="cost, relative to the smallest")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))  # beside the curves, not over them
    return figure


@picture
def roofline(machine: Machine, kernels: Sequence[Kernel]) -> Figure:
    """What the machine allows at each arithmetic intensity, and where our kernels lie."""
    figure, ax = axes(9.0, 4.5)
    intensity = np.logspace(-2, 3, 200)
    ax.plot(intensity, np.minimum(machine.gflops, intensity * machine.gigabytes), color="black")
    for i, kernel in enumerate(kernels):
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        label = f"{kernel.name}: {kernel.gflops:.1f} GFLOP/s"
        ax.scatter(kernel.intensity, kernel.gflops, color=colour, marker=marker, s=60, zorder=3, label=label)
    ax.set(xscale="log", yscale="log", xlabel="arithmetic intensity, FLOP per byte", ylabel="GFLOP/s")
    ax.set_title(f"{machine.gflops:.0f} GFLOP/s in products, {machine.gigabytes:.0f} GB/s in copies", fontsize=10)
    ax.grid(alpha=0.3, which="both")
    ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
    return figure
