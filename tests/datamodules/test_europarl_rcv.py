"""Parallel parts, what is held out, languages told apart, batches that resume, topics in the model's words."""

from __future__ import annotations

import gzip
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from atd.errors import AtdError
from atd.ragged import Ragged
from atd.settings import check_call
from datamodules.corpus import sample_folder
from datamodules.europarl_rcv import EuroparlRCV
from datamodules.identify import identify
from datamodules.multilingual import unseen
from datamodules.pairs import PairLoader, Pairs


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def corpus(cache, **changes) -> EuroparlRCV:
    settings = {"pairs": ["en-de", "en-fr"], "holdout": 100, "batch_size": 64, "seed": 0, "sample": True}
    data = EuroparlRCV(**{"name": "sample", "path": cache, "cache": cache, **settings, **changes})
    data.prepare_data()
    data.setup()
    return data


def words(data: EuroparlRCV, language: int, sentence: np.ndarray) -> str:
    return " ".join(data.vocabularies[language].decode(sentence))


def test_pairs_stay_aligned_and_words_belong_to_their_language(cache):
    """The first training line, read back through both vocabularies, is the first line of both files."""
    data = corpus(cache)
    root = sample_folder(cache) / "parallel" / "europarl"
    assert data.languages == ["en", "de", "fr"]
    for pairs, other in zip(data.training(), ("de", "fr"), strict=True):
        assert len(pairs.source) == len(pairs.target) and pairs.languages == (0, data.languages.index(other))
        for side, language, lang in ((pairs.source, 0, "en"), (pairs.target, pairs.languages[1], other)):
            line = (root / f"train.en-{other}.{lang}").read_text().splitlines()[1]  # line 0 is held out
            ours = words(data, language, side[0]).split()
            theirs = line.lower().replace("'", "' ").replace(".", " .").replace(",", " ,").replace("?", " ?").split()
            same = sum(a == b for a, b in zip(ours, theirs))
            assert len(ours) == len(theirs) and same >= len(ours) - 3  # numbers and rare words have other names


def test_it_says_what_it_holds(cache):
    data = corpus(cache)
    parts = ", ".join(f"{part} {len(data.source('en-de', part)):,}" for part in ("train", "val", "heldout"))
    assert f"sentences: en-de {parts}, dev 150, test 150; en-fr train 2," in data.contents()
    assert data.contents().endswith(f"fr {len(data.vocabularies[2])} words")


def test_held_out_sentences_are_not_in_training(cache):
    data = corpus(cache)
    seen = {tuple(data.training()[0].source[i]) for i in range(len(data.training()[0]))}
    for part in ("val", "heldout"):
        held = data.source("en-de", part)
        own = [tuple(held[i]) for i in range(len(held))]
        assert 50 < len(own) <= 100
        assert np.mean([s in seen for s in own]) < 0.1  # alike only after numbers became <#>
    table = pa.table({"source": ["a", "b", "c", "c"], "target": ["x", "y", "z", "w"]})
    assert unseen(table, pa.table({"source": ["a"], "target": ["y"]})).to_pydict() == {"source": ["c"], "target": ["z"]}


def test_a_limit_keeps_the_first_lines_of_its_pair_only(cache):
    data = corpus(cache, limit={"en-de": 300})
    assert [len(p) for p in data.training()] == [300, 2300]


def test_wrong_settings_are_named(cache):
    with pytest.raises(AtdError, match=r"task.pairs=.*all from one language"):
        corpus(cache, pairs=["en-de", "fr-de"])
    with pytest.raises(AtdError, match=r"task.limit.en-it: no such pair"):
        corpus(cache, limit={"en-it": 5})
    with pytest.raises(AtdError, match="en-xx"):
        corpus(cache, pairs=["en-xx"])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("batch_size", 0),
        ("holdout", 0),
        ("min_count", 0),
        ("max_size", 3),
        ("dropout", 1.0),
        ("tokeniser", "slow"),
        ("topic_sets", ["sib"]),
        ("limit", {"en-de": 0}),
        ("told_apart", 1),
        ("draws", 5),
    ],
)
def test_values_out_of_range_are_refused_before_any_work(cache, key, value):
    given = {"name": "sample", "path": ".", "cache": str(cache), "pairs": ["en-de"], "batch_size": 64, "seed": 0}
    check_call(EuroparlRCV, given, "data")
    with pytest.raises(AtdError, match=f"data.{key}"):
        check_call(EuroparlRCV, given | {key: value}, "data")


def test_words_of_unpaired_lines_are_known_but_not_trained(cache):
    limit = {"en-de": 40}
    few, more, all_pairs = corpus(cache, limit=limit), corpus(cache, limit=limit, unpaired=True), corpus(cache)
    assert len(few.training()[0]) == len(more.training()[0]) == 40
    assert len(few.vocabularies[1]) < len(more.vocabularies[1]) == len(all_pairs.vocabularies[1])
    german = slice(int(more.bounds[1]), int(more.bounds[2]))
    assert 0 < more.trained()[german].mean() < 0.5 < 0.9 < few.trained().mean()


def test_languages_are_told_apart_by_their_words(cache):
    data = corpus(cache)
    assert Counter(data.written_in("en-de", "test")) == {"de": 150}
    texts = {lang: pa.chunked_array([lines]) for lang, lines in (
        ("de", ["der hund und die katze sind hier", "das ist nicht der rat"]),
        ("fr", ["le chien et la chatte sont ici", "ce n'est pas le conseil"]),
    )}  # fmt: skip
    asked = pa.chunked_array([["die katze ist nicht hier", "la chatte n'est pas ici", "le conseil", "der rat"]])
    assert identify(asked, texts).tolist() == ["de", "fr", "fr", "de"]


def test_lines_go_to_the_language_they_are_written_in(cache, tmp_path):
    """French lines misfiled as German become a pair of their own, and a test line keeps its place."""
    root = sample_folder(cache)
    for folder in ("crosslingual", "monolingual"):
        (tmp_path / folder).symlink_to(root / folder)
    ours = tmp_path / "parallel" / "europarl"
    ours.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        pairs = {lang: [(root / "parallel" / "europarl" / f"{split}.en-{lang}.{side}").read_text().splitlines()
                        for side in ("en", lang)] for lang in ("de", "fr")}  # fmt: skip
        lines = [pairs["fr" if i % 3 == 0 else "de"] for i in range(len(pairs["de"][0]))]
        for k, name in enumerate(("en", "de")):
            text = "\n".join(line[k][i] for i, line in enumerate(lines)) + "\n"
            with gzip.open(ours / f"{split}.en-de.{name}.gz", "wt", encoding="utf-8") as file:
                file.write(text)
    data = corpus(cache, pairs=["en-de"], told_apart=True, sample=False, path=tmp_path, name="mixed")
    assert {"en", "de", "fr"} <= set(data.languages)
    sizes = {data.languages[p.languages[1]]: len(p) for p in data.training()}
    assert sizes["de"] > 1400 and sizes["fr"] > 700 and sizes["de"] + sizes["fr"] > 2250
    written = data.written_in("en-de", "test")
    assert np.mean([w == ("fr" if i % 3 == 0 else "de") for i, w in enumerate(written)]) > 0.97
    rows = np.sort(np.concatenate([rows for _, rows, _ in data.target("en-de", "test")]))
    assert rows.tolist() == list(range(150))


def toy_pairs(n: int = 50) -> Pairs:
    offsets = np.arange(n + 1) * 2
    side = Ragged(np.arange(2 * n) // 2, offsets)  # sentence i is the word i, twice
    return Pairs((0, 1), side, side)


def firsts(batch, side: int) -> list[int]:
    rows = batch.bags.rows[batch.bags.index[batch.bags.offsets[:-1]]]
    return rows[side * batch.size : (side + 1) * batch.size].tolist()


def test_an_epoch_has_every_pair_once_side_by_side():
    loader = PairLoader([toy_pairs(), toy_pairs(23)], np.array([0, 50, 100]), 8, seed=3)
    seen = Counter()
    for batch in loader:
        sources, targets = firsts(batch, 0), firsts(batch, 1)
        assert targets == [s + 50 for s in sources]
        seen.update(sources)
    assert seen == Counter({i: 2 if i < 23 else 1 for i in range(50)})
    loader.set_epoch(1)
    assert firsts(next(iter(loader)), 0) != firsts(next(iter(PairLoader(loader.pairs, loader.bounds, 8, 3))), 0)


def test_a_loader_resumes_mid_epoch_and_ranks_share_a_batch():
    def loader(**options):
        return PairLoader([toy_pairs()], np.array([0, 50, 100]), 8, seed=1, dropout=0.3, **options)

    whole = [b.bags.index.tolist() for b in loader()]
    first = loader()
    batches = iter(first)
    for _ in range(3):
        next(batches)
    second = loader()
    second.load_state_dict(first.state_dict())
    assert [b.bags.index.tolist() for b in second] == whole[3:]
    with pytest.raises(AtdError, match="batch_size"):
        PairLoader([toy_pairs()], np.array([0, 50, 100]), 9, seed=1).load_state_dict(first.state_dict())
    plain = [PairLoader([toy_pairs()], np.array([0, 50, 100]), 8, 1, rank=r, world_size=2) for r in (0, 1)]
    both = [firsts(a, 0) + firsts(b, 0) for a, b in zip(*plain, strict=True)]
    assert both == [firsts(b, 0) for b in PairLoader([toy_pairs()], np.array([0, 50, 100]), 8, 1)]


def test_drawn_sentences_are_never_the_translation():
    loader = PairLoader([toy_pairs()], np.array([0, 50, 100]), 10, seed=0, draws=5)
    for batch in loader:
        rows = batch.bags.rows[batch.bags.index[batch.bags.offsets[:-1]]]
        drawn = rows[2 * batch.size :].view(batch.size, 5)
        assert (drawn != rows[batch.size : 2 * batch.size, None]).all() and (drawn >= 50).all()


@pytest.mark.parametrize("source", ["sib200", "reuters"])
def test_documents_with_topics_come_in_the_words_of_the_model(cache, source):
    data = corpus(cache)
    for language in ("en", "de"):
        documents, labels = data.topics(source, language, "train")
        assert len(documents) == len(labels) > 100
        known = documents.tokens != 0
        assert known.mean() > 0.9
    assert set(labels) == ({"CCAT", "ECAT", "GCAT", "MCAT"} if source == "reuters" else set(labels))


def test_words_with_vectors_join_the_pivot(cache, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("zyzzyva 1 2\nthe 3 4\n")
    data = corpus(cache, vectors=path)
    assert "zyzzyva" in data.vocabularies[0] and "zyzzyva" not in data.vocabularies[1]
    assert data.vocabularies[0].counts[data.vocabularies[0].index["zyzzyva"]] == 0


def test_the_given_test_lines_are_mostly_not_german(real_data, cache):
    data = corpus(cache, sample=False, path=real_data, pairs=["en-de"], limit={"en-de": 2000}, holdout=2000)
    written = Counter(data.written_in("en-de", "test"))
    assert len(data.source("en-de", "test")) == 1995
    assert 250 < written["de"] < 350 and written["fr"] > written["de"]
