import numpy as np
import pytest
from omegaconf import OmegaConf

from atd.errors import AtdError
from tasks.figures.maps import beside_its_group, dendrogram, groups_of, neighbours_kept, project, scatter_map
from tasks.maps import DRAWN, colour_of, largest, run
from tests.tasks.tiny_model import NAMES, write_checkpoint


def clusters(seed=0, each=6):
    """Three bundles of vectors, each about its own direction."""
    rng = np.random.default_rng(seed)
    centres = np.eye(3, 10).repeat(each, axis=0)
    return centres + 0.05 * rng.standard_normal(centres.shape), np.arange(3).repeat(each)


@pytest.mark.parametrize("method", ["tsne", "mds", "pca"])
def test_maps_keep_bundles_together(method):
    x, label = clusters()
    points = project(x, method, 5, 0)
    assert points.shape == (18, 2) and np.isfinite(points).all()
    far = ((points[:, None] - points[None]) ** 2).sum(-1) + 1e9 * np.eye(18)
    assert (label[far.argmin(1)] == label).all()
    np.testing.assert_allclose(project(x, method, 5, 0), points)


def test_points_without_names_need_no_room_for_labels():
    points = np.random.default_rng(0).standard_normal((400, 2))
    figure = scatter_map(points, [""] * 400, ["a", "b"] * 200)
    (ax,) = figure.axes
    assert not ax.texts and figure.get_size_inches().tolist() == [8, 6]
    assert [handle.get_alpha() for handle in ax.get_legend().legend_handles] == [1, 1]


def test_tree_joins_bundles_first():
    x, label = clusters(seed=1)
    order, _ = dendrogram(x, [str(i) for i in range(18)])
    assert sorted(order) == list(range(18))
    assert (np.diff(label[order]) != 0).sum() == 2


def test_neighbours_kept_bounds():
    points = np.random.default_rng(0).standard_normal((20, 2))
    angle = np.c_[np.cos(points[:, 0]), np.sin(points[:, 0])]
    assert neighbours_kept(angle, angle) == 100
    assert neighbours_kept(points, np.random.default_rng(1).standard_normal((20, 2))) < 70


def test_groups_by_pattern():
    names = ["austen-emma", "austen-sense", "bible-kjv", "m/30", "m/20"]
    assert groups_of(names, "^[^-/]+") == ["austen", "austen", "other", "m", "m"]
    with pytest.raises(AtdError, match="not a regular expression"):
        groups_of(names, "(")


def test_attributes_of_several_columns_are_coloured_by_column():
    names = ["age=10s", "age=20s", "industry=Non-Profit", "industry=Non-Fiction", "industry=Law"]
    usual = OmegaConf.load("conf/task/maps.yaml").task.colour
    assert groups_of(names, colour_of(names, usual)) == ["age", "age", "industry", "industry", "industry"]
    assert colour_of(names, "=.") == "=." and colour_of([*names, "austen-emma"], usual) == usual


def test_the_task(tmp_path):
    task = {"name": "maps", "method": "pca", "perplexity": 5, "colour": "^[^-/]+", "mix": [], "shown": 3}
    task["mix"] = ["shakespeare-hamlet - shakespeare-caesar + blake-poems"]
    cfg = OmegaConf.create({"checkpoint": str(write_checkpoint(tmp_path / "run")), "seed": 0, "task": task})
    result = run(cfg, tmp_path)
    titles = [section.title for section in result.sections]
    assert titles == ["Attribute map", "Family tree", "Correlation", "Nearest attributes", "Nearest to a mix"]
    mix = result.sections[-1].rows[0]
    assert "shakespeare" not in mix[1] and "blake" not in mix[1]
    assert (tmp_path / "attribute_map.csv").read_text().count("\n") == len(NAMES) + 1


def test_of_too_many_attributes_those_with_most_text_are_drawn():
    words = np.arange(3 * DRAWN)
    assert largest(words, len(words)).tolist() == list(range(2 * DRAWN, 3 * DRAWN))
    assert largest(np.zeros(0), 5).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("n", "label"), [(18, "m/20s/law0"), (90, "law0")])
def test_where_many_points_have_names_a_label_leaves_to_the_legend_what_it_says(n, label):
    points = np.random.default_rng(0).standard_normal((n, 2))
    figure = scatter_map(points, [f"m/20s/law{i}" for i in range(n)], ["m/20s"] * n)
    assert figure.axes[0].texts[0].get_text() == label


def test_a_label_that_only_begins_like_its_group_stays_whole():
    assert [beside_its_group(*pair) for pair in (("female", "fe"), ("20s", "20s"), ("law", "other"))] == [
        "female",
        "20s",
        "law",
    ]


@pytest.mark.parametrize("n", [18, 234])
def test_labels_do_not_cover_one_another(n):
    from matplotlib.text import Text

    points = np.random.default_rng(0).standard_normal((n, 2))
    figure = scatter_map(points, [f"m/{i}/industry" for i in range(n)])
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    boxes = np.array([Text.get_window_extent(t, renderer).extents for t in figure.axes[0].texts])
    low, high = boxes[:, :2], boxes[:, 2:]
    overlap = ((low[:, None] < high[None]) & (high[:, None] > low[None])).all(-1)
    assert len(boxes) == n and overlap.sum() == n  # each with itself only
