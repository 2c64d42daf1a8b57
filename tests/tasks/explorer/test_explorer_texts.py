"""The explorer's answers about a pasted text: its place, the likeliest values, and when not to trust them."""

import numpy as np

from tests.tasks.tiny_model import TEXT, write_checkpoint


def test_a_text_is_placed(client, engine):
    text = "The Lord said: the king and the whale xyzzy! " * 3
    answer = client.post("/api/models/0/read", json={"text": text}).json()
    assert answer["unknown"] == [":", "xyzzy", "!"] and answer["unknown_count"] == 9
    assert len(answer["vector"]) == 6 and min(answer["vector"]) >= 0 and len(answer["places"][0]) == 2
    values, (probability,) = engine.trained.probabilities(text)
    assert answer["columns"][0]["values"][0][0] == values[probability.argmax()]
    found = dict(answer["columns"][0]["values"])
    np.testing.assert_allclose([found[v] for v in values], probability, rtol=1e-5)


def test_text_of_another_kind_is_warned_about(client, engine):
    def warnings(text):
        return client.post("/api/models/0/read", json={"text": text}).json()["warnings"]

    own = " ".join(engine.vocabulary.decode(engine.reader.written().tokens[:120]))
    assert warnings(own) == []
    (short,) = warnings("the lord said to the king")
    assert short.startswith("Only 6 known words")
    foreign = warnings(own + " der Herr sprach zum König" * 20)
    assert len(foreign) == 1 and "does not know 49%" in foreign[0]
    assert engine.reader.reference[1] == "text that the model itself writes"


def test_perplexity_far_above_the_corpus_is_warned_about(tmp_path):
    from tasks.explore import opened

    folder = write_checkpoint(tmp_path / "tour" / "one")
    (folder / "metrics.json").write_text('{"rows": {"atd": {"perplexity": 4.0}}}')
    answer = opened(folder).read({"text": TEXT * 3})
    assert answer["reference"] == 4 and answer["reference_of"] == "held-out text of the corpus"
    assert answer["warnings"][0].startswith("Unlike the corpus: perplexity 2")


def test_the_perplexity_of_a_text_is_exact(engine):
    text = "the lord said to the king and she was very bright"
    answer = engine.read({"text": text})
    np.testing.assert_allclose(answer["perplexity"], engine.trained.perplexity(text)[0], rtol=1e-5)


def test_of_many_values_the_nearest_are_weighed(tmp_path):
    from tasks.explore import opened

    engine = opened(write_checkpoint(tmp_path / "tour" / "many", names=[f"n{i}" for i in range(250)]))
    column = engine.read({"text": TEXT})["columns"][0]
    assert (column["weighed"], column["of"], len(column["values"])) == (200, 250, 10)
    assert engine.views[0].points.shape == (250, 2) and np.isfinite(engine.views[0].points).all()
