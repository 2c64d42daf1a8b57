"""Charts and maps: labels keep apart, near vectors stay near, small figures draw."""

from __future__ import annotations

from tasks.figures.charts import heatmap, learning_curves
from tasks.figures.maps import OTHER, coloured, groups_of, plane, scatter_map


def label_boxes(figure):
    from matplotlib.text import Text

    figure.canvas.draw()
    return [Text.get_window_extent(t) for t in figure.axes[0].texts]  # the words, without their leader lines


def test_map_labels_do_not_overlap():
    import numpy as np

    rng = np.random.default_rng(0)
    points = np.r_[np.zeros((6, 2)), rng.normal(size=(20, 2))]  # six on one spot
    boxes = label_boxes(scatter_map(points, [f"attribute {i}" for i in range(len(points))]))
    assert len(boxes) == 26
    overlaps = sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert overlaps == 0


def test_plane_keeps_neighbours_and_small_figures_draw():
    import numpy as np

    vectors = np.array([[1, 0, 0], [0.9, 0.1, 0], [0, 0, 1.0]])
    points = plane(vectors)
    assert np.linalg.norm(points[0] - points[1]) < np.linalg.norm(points[0] - points[2])
    assert plane(np.ones((1, 3))).shape == (1, 2)
    heatmap(np.array([[1.0, -0.5], [-0.5, 1.0]]), ["a", "b"], "correlation").canvas.draw()
    learning_curves({"atd": [{"epoch": 0, "val/perplexity": 3.0}]}).canvas.draw()


def test_of_thousands_of_points_some_are_labelled_all_over_the_map():
    import numpy as np

    points = np.random.default_rng(0).random((3000, 2))
    figure = scatter_map(points, [f"a{i}" for i in range(3000)])
    texts = figure.axes[0].texts
    assert 50 < len(texts) <= 100
    places = np.array([points[int(t.get_text()[1:])] for t in texts])
    assert places.min() < 0.1 and places.max() > 0.9
    assert len(figure.axes[0].collections[0].get_offsets()) == 3000


def test_long_names_below_bars_do_not_run_into_each_other():
    from tasks.figures.charts import bars

    figure = bars(dict.fromkeys(["atd", "words-of-tag", "kneser-ney-attributes", "real words"], 50.0), "%")
    figure.draw_without_rendering()
    labels = figure.axes[0].get_xticklabels()
    assert all(label.get_rotation() == 30 for label in labels)
    level = bars({"atd": 1.0, "lbl": 2.0}, "%")
    assert all(label.get_rotation() == 0 for label in level.axes[0].get_xticklabels())


def test_epochs_are_whole_and_counted_from_one():
    for n in (1, 3):
        figure = learning_curves({"atd": [{"epoch": e, "val/fine": 3.0} for e in range(n)]}, "val/fine")
        figure.draw_without_rendering()
        ax = figure.axes[0]
        shown = [label.get_text() for label in ax.get_xticklabels() if ax.get_xlim()[0] <= label.get_position()[0]]
        assert shown[0] == "1" and all(text.isdigit() for text in shown)
        assert ax.get_ylabel() == "fine, %"


def test_groups_have_colours_as_far_as_there_are_any():
    assert coloured(list("aabbccddeeffgghh")) == list("aabbccddeeffgghh")
    many = coloured([*"aabbccddeeffgghh", "i"])
    assert set(many) == {*"abcdefg", OTHER} and many.count(OTHER) == 3
    assert groups_of(["a-1", "a-2", "b-1"], "^[^-]+") == ["a", "a", OTHER]
