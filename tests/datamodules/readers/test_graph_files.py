"""All formats of graphs give the same graphs, and what is wrong is one line that names file, line and remedy."""

from __future__ import annotations

import gzip

import networkx as nx
import pytest

from atd.errors import AtdError
from datamodules.readers.graphs import Graph, read_graphs

# a triangle of class 1 whose nodes are 5 5 7, and an edge of class −1
GIN = "2\n3 1\n5 2 1 2\n5 2 0 2\n7 2 0 1\n2 -1\n5 1 1\n7 1 0\n"
TU = {
    "A": "1, 2\n1, 3\n2, 1\n2, 3\n3, 1\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "5\n5\n7\n5\n7\n",
}
GRAPHS = [Graph([5, 5, 7], [[1, 2], [0, 2], [0, 1]], 1), Graph([5, 7], [[1], [0]], -1)]


def write_tu(folder, **changed: str) -> None:
    for ending, text in (TU | changed).items():
        (folder / f"TOY_{ending}.txt").write_text(text)


def test_both_formats_give_the_same_graphs(tmp_path):
    (tmp_path / "TOY.txt.gz").write_bytes(gzip.compress(GIN.encode()))
    (tmp_path / "tu").mkdir()
    write_tu(tmp_path / "tu")
    assert read_graphs(tmp_path, "TOY") == read_graphs(tmp_path / "tu", "TOY") == (GRAPHS, [])


def test_nodes_without_labels_and_folds(tmp_path):
    write_tu(tmp_path)
    (tmp_path / "TOY_node_labels.txt").unlink()
    (tmp_path / "TOY.10fold_test_idx.txt").write_text("0\n1\n")
    graphs, folds = read_graphs(tmp_path, "TOY")
    assert [graph.tags for graph in graphs] == [[0, 0, 0], [0, 0]]
    assert folds == [[0], [1]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("two\n", "TOY.txt line 1: 'two' is not the number of graphs; give whole numbers"),
        ("1\n3\n", "TOY.txt line 2: '3' is not `nodes class` of a graph"),
        ("1\n1 0\n5\n", "TOY.txt line 3: '5' is not `tag m j1 … jm` of a node"),
        (
            "1\n1 0\n5 2 0\n",
            "TOY.txt line 3: 2 neighbours are announced and 1 given; give m and then m nodes from 0 to 0",
        ),
        ("1\n1 0\n5 1 3\n", "TOY.txt line 3: there is no node 3; give nodes from 0 to 0"),
        (GIN[: GIN.index("7 1 0")], "TOY.txt line 8: the file ends where `tag m j1 … jm` of a node should be"),
        ("1\n0 1\n", "TOY.txt line 2: a graph without nodes; leave it out"),
    ],
)
def test_what_is_wrong_in_gins_format(tmp_path, text, problem):
    (tmp_path / "TOY.txt").write_text(text)
    refused(tmp_path, problem)


@pytest.mark.parametrize(
    ("ending", "text", "problem"),
    [
        ("A", "1, x\n", "TOY_A.txt line 1: '1  x' is not an edge `i, j`"),
        ("A", "1, 2\n3, 4\n", "TOY_A.txt line 2: 3, 4 does not join two nodes of one graph; see TOY_graph_indicator"),
        ("graph_indicator", "1\n3\n", "TOY_graph_indicator.txt line 2: graph 3 has no class"),
        ("graph_indicator", "0\n", "TOY_graph_indicator.txt line 1: graph 0 has no class"),
        ("graph_indicator", "1\n1\n1\n1\n1\n", "TOY_graph_labels.txt line 2: a graph without nodes; leave it out"),
        ("graph_labels", "1\nyes\n", "TOY_graph_labels.txt line 2: 'yes' is not the class of a graph"),
        ("node_labels", "5\n", "TOY_node_labels.txt: 1 labels for 5 nodes; give one for each line"),
    ],
)
def test_what_is_wrong_in_tus_format(tmp_path, ending, text, problem):
    write_tu(tmp_path, **{ending: text})
    refused(tmp_path, problem)


def write_networkx(folder, *, tagged: bool = True, ending: str = "graphml") -> None:
    """The same two graphs by networkx."""
    (folder / "TOY").mkdir()
    for name, graph in (("triangle", GRAPHS[0]), ("edge", GRAPHS[1])):
        made = nx.Graph((f"n{i}", f"n{j}") for i, near in enumerate(graph.neighbours) for j in near)
        if tagged:
            nx.set_node_attributes(made, {f"n{i}": tag for i, tag in enumerate(graph.tags)}, "tag")
        getattr(nx, f"write_{ending}")(made, folder / "TOY" / f"{name}.{ending}")
    (folder / "TOY" / "classes.csv").write_text(f"graph,class\ntriangle.{ending},round\nedge.{ending},flat\n")


@pytest.mark.parametrize("ending", ["graphml", "gexf"])
def test_graphs_of_networkx_with_tags(tmp_path, ending):
    write_networkx(tmp_path, ending=ending)
    graphs, _ = read_graphs(tmp_path, "TOY")
    assert graphs == [
        Graph([str(tag) for tag in graph.tags], graph.neighbours, label)
        for graph, label in zip(GRAPHS, ("round", "flat"), strict=True)
    ]


@pytest.mark.parametrize("ending", ["edgelist", "adjlist"])
def test_edge_lists_with_folds(tmp_path, ending):
    write_networkx(tmp_path, tagged=False, ending=ending)
    (tmp_path / "TOY.10fold_test_idx.txt").write_text("1\n0\n")
    graphs, folds = read_graphs(tmp_path, "TOY")
    assert graphs == [Graph([0, 0, 0], GRAPHS[0].neighbours, "round"), Graph([0, 0], GRAPHS[1].neighbours, "flat")]
    assert folds == [[1], [0]]


def test_an_edge_list_may_have_weights_comments_and_edges_both_ways(tmp_path):
    write_networkx(tmp_path, tagged=False, ending="edgelist")
    (tmp_path / "TOY" / "edge.edgelist").write_text("# made by hand\na b 3.5\nb a {'weight': 2}\n\n")
    assert read_graphs(tmp_path, "TOY")[0][1].neighbours == [[1], [0]]


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("classes.csv", "name,kind\n", "classes.csv line 1: the first line is not `graph,class`"),
        (
            "classes.csv",
            "graph,class\nedge.graphml\n",
            "classes.csv line 2: 'edge.graphml' is not a graph; give a file",
        ),
        ("classes.csv", "graph,class\n../x.gexf,1\n", "classes.csv line 2: '../x.gexf,1' is not a graph; give a file"),
        ("classes.csv", "graph,class\nno.graphml,1\n", "classes.csv line 2: there is no graph 'no.graphml' beside it"),
        (
            "classes.csv",
            "graph,class\nclasses.csv,1\n",
            "give the name of a file *.edgelist, *.adjlist, *.graphml, *.gexf",
        ),
        ("edge.graphml", "a b\n", "edge.graphml: is not a graph (syntax error: line 1, column 0); write it again by"),
        ("edge.graphml", "<!DOCTYPE x><graphml/>", "edge.graphml: has declarations of its own (<!…)"),
        ("edge.edgelist", "a b\nc\n", "edge.edgelist line 2: 'c' is not an edge; give two nodes"),
        ("edge.edgelist", "# nothing\n", "edge.edgelist: a graph without nodes; leave it out"),
        ("edge.edgelist", "a b\n", "classes.csv line 3: of this graph and of the first, one has tags"),
    ],
)
def test_what_is_wrong_in_a_folder_of_networkx(tmp_path, file, text, problem):
    write_networkx(tmp_path)
    if file == "edge.edgelist":
        (tmp_path / "TOY" / "classes.csv").write_text("graph,class\ntriangle.graphml,0\nedge.edgelist,1\n")
    (tmp_path / "TOY" / file).write_text(text)
    refused(tmp_path, problem)


def test_a_tag_for_some_nodes_only(tmp_path):
    write_networkx(tmp_path, tagged=False)
    half = nx.Graph([(0, 1)])
    half.nodes[0]["tag"] = "C"
    nx.write_graphml(half, tmp_path / "TOY" / "edge.graphml")
    refused(tmp_path, "edge.graphml: 1 of 2 nodes have a tag; give one to all or to none")


def test_what_is_wrong_in_folds_and_what_is_missing(tmp_path):
    refused(tmp_path, "no graphs of TOY here (looked for TOY.txt, plain or .gz, or TOY_A.txt")
    (tmp_path / "TOY.txt").write_text(GIN)
    (tmp_path / "TOY.10fold_test_idx.txt").write_text("0\n2\n")
    refused(tmp_path, "TOY.10fold_test_idx.txt line 2: there is no graph 2; number them from 0 to 1")
    (tmp_path / "TOY.10fold_test_idx.txt").write_text("0\n")
    refused(tmp_path, "TOY.10fold_test_idx.txt: one fold; give two or more, a line each")


def refused(folder, problem: str) -> None:
    with pytest.raises(AtdError) as error:
        read_graphs(folder, "TOY")
    assert problem in str(error.value)
    assert "\n" not in str(error.value)
