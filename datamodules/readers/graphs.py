"""Sets of graphs whose classes are known, in the usual text formats, plain or gzip.

Of a set called MUTAG, under one folder:

- GIN: `MUTAG.txt`. The first line is the number of graphs. A graph is a line `nodes class`, then a line `tag m j1 … jm`
  for each node: its label, how many neighbours it has, and which nodes of the graph these are, from 0.
- TU: `MUTAG_A.txt`, an edge `i, j` in every line, nodes numbered from 1 through all graphs;
  `MUTAG_graph_indicator.txt`, the graph of every node, from 1; `MUTAG_graph_labels.txt`, the class of every graph;
  perhaps `MUTAG_node_labels.txt`.
- networkx: a folder `MUTAG` with a file for each graph, as networkx writes it: `.edgelist`, `.adjlist`, `.graphml` or
  `.gexf`. `MUTAG/classes.csv` opens with `graph,class` and has the name of a file and its class in every other line.
  A node's label is its attribute `tag`, which the latter two formats may have.

All may have `MUTAG.10fold_test_idx.txt`: in line k the graphs, from 0, that are held out in fold k.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from atd.errors import AtdError
from datamodules.readers.files import Place, find

if TYPE_CHECKING:
    import networkx

ENDINGS = ("A", "graph_indicator", "graph_labels")  # of TU's files that must be there
CLASSES = "classes.csv"  # of a folder of networkx' files
NETWORKX = (".edgelist", ".adjlist", ".graphml", ".gexf")


@dataclass(frozen=True)
class Graph:
    tags: Sequence[int | str]  # of every node
    neighbours: list[list[int]]  # of every node, its neighbours' numbers
    label: int | str  # the class


def find_graphs(folder: Path, name: str) -> list[Place]:
    """The files of a set: its folds, if it has any, come last."""
    places = [find(folder / f"{name}.txt")]
    if places == [None] and (listed := find(folder / name / CLASSES)):
        places = [listed, *(place for place, _ in read_classes(listed))]
    if places == [None]:
        places = [find(folder / f"{name}_{ending}.txt") for ending in ENDINGS]
        if None in places:
            looked = f"{name}.txt, plain or .gz, or {', '.join(f'{name}_{ending}.txt' for ending in ENDINGS)}"
            looked += f", or {name}/{CLASSES}"
            raise AtdError(f"{folder}: no graphs of {name} here (looked for {looked}); set data.path or data.dataset")
        places.append(find(folder / f"{name}_node_labels.txt"))
    places.append(find(folder / f"{name}.10fold_test_idx.txt"))
    return [place for place in places if place is not None]


def read_graphs(folder: Path, name: str) -> tuple[list[Graph], list[list[int]]]:
    """The graphs of a set, and the graphs that each fold holds out; no folds if no file says them."""
    files = {place.name: place for place in find_graphs(folder, name)}
    if gin := files.get(f"{name}.txt"):
        graphs = read_gin(gin)
    elif listed := files.get(CLASSES):
        graphs = read_folder(listed)
    else:
        graphs = read_tu(files, name)
    folds = files.get(f"{name}.10fold_test_idx.txt")
    return graphs, read_folds(folds, len(graphs)) if folds else []


def read_gin(place: Place) -> list[Graph]:
    lines = place.text().splitlines()
    (n,) = whole_numbers(place, lines, 0, "the number of graphs", 1)
    graphs = []
    at = 1
    for _ in range(n):
        nodes, label = whole_numbers(place, lines, at, "`nodes class` of a graph", 2)
        if nodes < 1:
            raise place.error("a graph without nodes; leave it out", at + 1)
        tags, neighbours = [], []
        for line in range(at + 1, at + 1 + nodes):
            tag, count, *others = whole_numbers(place, lines, line, "`tag m j1 … jm` of a node", least=2)
            known = f"nodes from 0 to {nodes - 1}"
            if count != len(others):
                fix = f"give m and then m {known}"
                raise place.error(f"{count} neighbours are announced and {len(others)} given; {fix}", line + 1)
            if wrong := [j for j in others if not 0 <= j < nodes]:
                raise place.error(f"there is no node {wrong[0]}; give {known}", line + 1)
            tags.append(tag)
            neighbours.append(others)
        graphs.append(Graph(tags, neighbours, label))
        at += 1 + nodes
    return graphs


def read_tu(files: dict[str, Place], name: str) -> list[Graph]:
    edges, owners, classes = (files[f"{name}_{ending}.txt"] for ending in ENDINGS)
    owner = column(owners, "the graph of a node")
    labels = column(classes, "the class of a graph")
    wrong = next((i for i, g in enumerate(owner) if not 1 <= g <= len(labels)), None)
    if wrong is not None:
        raise owners.error(f"graph {owner[wrong]} has no class; {classes.name} has {len(labels)} lines", wrong + 1)
    tagged = files.get(f"{name}_node_labels.txt")
    tags = column(tagged, "the label of a node") if tagged else [0] * len(owner)
    if tagged and len(tags) != len(owner):
        raise tagged.error(f"{len(tags)} labels for {len(owner)} nodes; give one for each line of {owners.name}")
    tags_of: list[list[int]] = [[] for _ in labels]
    within = []  # the number of each node in its graph
    for g, tag in zip(owner, tags, strict=True):
        within.append(len(tags_of[g - 1]))
        tags_of[g - 1].append(tag)
    graphs = [Graph(own, [[] for _ in own], label) for own, label in zip(tags_of, labels, strict=True)]
    empty = next((g for g, own in enumerate(tags_of) if not own), None)
    if empty is not None:
        raise classes.error("a graph without nodes; leave it out", empty + 1)
    lines = edges.text().replace(",", " ").splitlines()
    for line in range(len(lines)):
        i, j = whole_numbers(edges, lines, line, "an edge `i, j`", 2)
        if not (min(i, j) >= 1 and max(i, j) <= len(owner) and owner[i - 1] == owner[j - 1]):
            raise edges.error(f"{i}, {j} does not join two nodes of one graph; see {owners.name}", line + 1)
        graphs[owner[i - 1] - 1].neighbours[within[i - 1]].append(within[j - 1])
    return graphs


def read_classes(listed: Place) -> list[tuple[Place, str]]:
    """The file and the class of every graph of a folder."""
    rows = csv.reader(io.StringIO(listed.text()))
    if next(rows) != ["graph", "class"]:
        raise listed.error("the first line is not `graph,class`; then give a file's name and its class in a line", 1)
    found = []
    for row in rows:
        if len(row) != 2 or Path(row[0]).name != row[0]:
            fix = "give a file of this folder, a comma and its class"
            raise listed.error(f"{','.join(row)[:40]!r} is not a graph; {fix}", rows.line_num)
        place = find(listed.path.parent / row[0])
        if place is None or Path(place.name).suffix not in NETWORKX:
            fix = f"give the name of a file *{', *'.join(NETWORKX)}"
            raise listed.error(f"there is no graph {row[0]!r} beside it; {fix}", rows.line_num)
        found.append((place, row[1]))
    return found


def read_folder(listed: Place) -> list[Graph]:
    graphs = [as_graph(place, label) for place, label in read_classes(listed)]
    tagged = [isinstance(graph.tags[0], str) for graph in graphs]
    if any(tagged) and not all(tagged):
        line = tagged.index(not tagged[0]) + 2
        raise listed.error("of this graph and of the first, one has tags and one has none; give all or none", line)
    return graphs


def as_graph(place: Place, label: str) -> Graph:
    """A file of networkx; neither directions nor repeated edges count."""
    graph = read_networkx(place)
    if not len(graph):
        raise place.error("a graph without nodes; leave it out")
    tags = ["_".join(str(tag).split()) for _, tag in graph.nodes(data="tag") if tag is not None]
    if len(tags) not in (0, len(graph)):
        raise place.error(f"{len(tags)} of {len(graph)} nodes have a tag; give one to all or to none")
    number = {node: i for i, node in enumerate(graph)}
    near: list[set[int]] = [set() for _ in number]
    for u, v in graph.edges():
        near[number[u]].add(number[v])
        near[number[v]].add(number[u])
    return Graph(tags or [0] * len(graph), [sorted(others) for others in near], label)


def read_networkx(place: Place) -> networkx.Graph:
    import networkx as nx

    text = place.text()
    lines = text.splitlines()
    ending = Path(place.name).suffix
    if ending == ".edgelist":
        for i, line in enumerate(lines, 1):
            if len(line.partition("#")[0].split()) == 1:
                raise place.error(f"{line[:40]!r} is not an edge; give two nodes, or nodes alone as .adjlist", i)
        return nx.parse_edgelist(lines, data=False)
    if ending == ".adjlist":
        return nx.parse_adjlist(lines)
    if "<!" in text.replace("<!--", ""):
        raise place.error("has declarations of its own (<!…), which are not followed; remove them")
    try:
        return nx.parse_graphml(text) if ending == ".graphml" else nx.read_gexf(io.BytesIO(text.encode()))
    except Exception as e:  # what is not XML, or no graph, is refused in a dozen ways
        fix = f"write it again by networkx.write_{ending[1:]}"
        raise place.error(f"is not a graph ({str(e) or type(e).__name__}); {fix}") from e


def read_folds(place: Place, n: int) -> list[list[int]]:
    lines = place.text().splitlines()
    folds = [whole_numbers(place, lines, line, "the graphs of a fold") for line in range(len(lines))]
    if len(folds) < 2:
        raise place.error("one fold; give two or more, a line each")
    for line, fold in enumerate(folds):
        if wrong := [g for g in fold if not 0 <= g < n]:
            raise place.error(f"there is no graph {wrong[0]}; number them from 0 to {n - 1}", line + 1)
    return folds


def column(place: Place, what: str) -> list[int]:
    """A number in every line."""
    lines = place.text().splitlines()
    return [whole_numbers(place, lines, line, what, 1)[0] for line in range(len(lines))]


def whole_numbers(
    place: Place, lines: list[str], line: int, what: str, count: int | None = None, least: int = 1
) -> list[int]:
    """The numbers of a line: `count` of them if it is given, or at least so many."""
    if line >= len(lines):
        raise place.error(f"the file ends where {what} should be; it was cut off, fetch it again", line + 1)
    try:
        found = [int(part) for part in lines[line].split()]
    except ValueError:
        found = []
    if len(found) < least or count not in (None, len(found)):
        raise place.error(f"{lines[line][:40]!r} is not {what}; give whole numbers", line + 1)
    return found
