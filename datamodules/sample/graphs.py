"""Graphs of three shapes, `graphs/SHAPES.txt` in GIN's format: rings, stars and random trees, ten to twenty nodes each.

Tags are drawn at random and mean nothing; some edges are added at random. So only the shape tells the classes apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

GRAPHS = 40  # of each shape
TAGS = 2
SHAPES = ("ring", "star", "tree")


def edges_of(shape: str, n: int, rng: Random) -> Iterator[tuple[int, int]]:
    for v in range(1, n):
        yield {"ring": v - 1, "star": 0, "tree": rng.randrange(v)}[shape], v
    if shape == "ring":
        yield n - 1, 0
    yield rng.randrange(1, n // 2), rng.randrange(n // 2, n)  # by chance


def graph(shape: str, rng: Random) -> str:
    n = rng.randrange(10, 21)
    near: list[set[int]] = [set() for _ in range(n)]
    for i, j in edges_of(shape, n, rng):
        near[i].add(j)
        near[j].add(i)
    lines = [f"{n} {SHAPES.index(shape)}"]
    lines += [" ".join(map(str, [rng.randrange(TAGS), len(nodes), *sorted(nodes)])) for nodes in near]
    return "\n".join(lines)


def write(root: Path, seed: int) -> None:
    folder = root / "graphs"
    folder.mkdir(parents=True)
    rng = Random(f"graphs {seed}")
    graphs = [graph(shape, rng) for _ in range(GRAPHS) for shape in SHAPES]
    text = "\n".join([str(len(graphs)), *graphs]) + "\n"
    (folder / "SHAPES.txt").write_text(text, encoding="utf-8", newline="\n")
