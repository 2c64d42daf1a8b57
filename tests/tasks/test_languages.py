"""Language vectors: relatives found again, families scored as defined, matched verses, both kinds of units."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from atd.errors import AtdError
from datamodules.languages import Languages, held_out, plain
from tasks import languages
from tasks.engine.check import check
from tasks.languages.families import FAMILIES, NAMES, agreement, chance, groups, nearest
from tests.small_runs import cached

SMALL = ["task=languages", "data=languages_sample", "task.seeds=2", "trainer.max_epochs=2", "trainer.threads=1"]
SMALL += ["logger=none", "data.lines=400", "model.F=48", "model.K=16", "model.D=8", "model.context=4", "optim.lr=0.01"]
configuration = partial(cached, SMALL)


def test_czech_and_slovak_find_each_other(cache, tmp_path):
    """The paper's observation, on five languages of which two are near relatives."""
    result = languages.run(configuration(cache), tmp_path)
    assert set(result.rows) == {"atd", "atd, seeds averaged", "chance", "char-ngrams"}
    assert result.rows["atd"]["branch_accuracy"] > result.rows["chance"]["branch_accuracy"] + 20
    wanted = {"family_accuracy", "family_accuracy_sd", "branch_accuracy", "branch_accuracy_sd", "perplexity"}
    assert set(result.rows["atd"]) == wanted
    table = next(s for s in result.sections if getattr(s, "title", "") == "Nearest language")
    near = {row[0]: row[3] for row in table.rows}
    assert near["Czech"] == "Slovak" and near["Slovak"] == "Czech"
    assert {"family_tree", "correlation", "language_map"} <= {getattr(s, "name", "") for s in result.sections}


def test_unshared_vocabularies_train(cache, tmp_path):
    change = ["data.unit=word", "model=unshared", "model.K=16", "model.F=16", "model.D=8", "model.context=3"]
    cfg = configuration(cache, *change, "task.seeds=1", "data.lines=300", "optim.samples=50")
    result = languages.run(cfg, tmp_path)
    assert 1 < result.rows["atd"]["perplexity"] < 300


def test_agreement_and_chance_by_hand():
    """Languages a b | c d | e, e alone. Nearest: a→b right, b→c wrong, c→d right, d→a wrong; e does not count."""
    similar = np.zeros((5, 5))
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 0), (4, 0)):
        similar[i, j] = 1
    assert nearest(similar).tolist() == [1, 2, 3, 0, 0]
    group = ["x", "x", "y", "y", "z"]
    assert agreement(similar, group) == 50
    assert chance(group) == 25


def test_every_language_of_the_bibles_has_a_family(real_data):
    from datamodules.readers.bible import languages as available

    codes = available(real_data)
    known = {code for branches in FAMILIES.values() for codes in branches.values() for code in codes.split()}
    assert len(codes) == 48 and set(codes) <= known and set(codes) <= set(NAMES)
    assert groups(["de", "hu", "xx"]) == ["Indo-European", "Uralic", "xx"]
    assert groups(["de", "hu"], "branch") == ["Germanic", "Ugric"]


def bibles(root: Path, **verses: dict[str, str]) -> Path:
    folder = root / "parallel" / "bible"
    folder.mkdir(parents=True)
    for lang, lines in verses.items():
        (folder / f"{lang}.tsv").write_text("".join(f"{v}\t{t}\n" for v, t in lines.items()), encoding="utf-8")
    return root


def test_matched_verses_are_those_all_languages_have(tmp_path, cache):
    root = bibles(
        tmp_path,
        en={"Gen.1.1": "In the", "Gen.1.2": "And", "Gen.1.3": "Light"},
        de={"Gen.1.3": "Licht", "Gen.1.1": "Am"},
    )
    data = Languages(name="b", path=root, context=2, batch_size=4, seed=0, cache=cache)
    assert data.languages == ["de", "en"]
    assert {k: v.to_pylist() for k, v in data.texts().items()} == {"de": ["Licht", "Am"], "en": ["Light", "In the"]}


def test_characters():
    assert plain("Gott, 3 Äpfel!", False) == "_gott_äpfel_"
    assert plain("Бог", True) == "_bog_"
    split = held_out(40)
    assert [int((split == i).sum()) for i in range(3)] == [36, 2, 2]


def test_wrong_settings_are_named(tmp_path, cache):
    common = {"name": "b", "context": 2, "batch_size": 4, "seed": 0, "cache": cache}
    with pytest.raises(AtdError, match="no Bibles here"):
        Languages(path=tmp_path / "nowhere", **common)
    root = bibles(tmp_path, en={"Gen.1.1": "a"}, de={"Gen.1.2": "b"})
    with pytest.raises(AtdError, match="two languages or more"):
        Languages(path=root, languages=["en"], **common)
    with pytest.raises(AtdError, match="no verse is in all languages"):
        Languages(path=root, **common).texts()
    with pytest.raises(AtdError, match=r"data.unit=syllable: must be one of word, character"):
        check(configuration(cache, "data.unit=syllable"))
    with pytest.raises(AtdError, match=r"data.sources=.*: must be a list of some of bible, europarl, monolingual"):
        check(configuration(cache, "data.sources=[koran]"))
    with pytest.raises(AtdError, match=r"data.lines=0: must be a whole number, 1 or more, or null"):
        check(configuration(cache, "data.lines=0"))
    with pytest.raises(AtdError, match=r"data.matched=true: only verses"):
        Languages(path=root, sources=["europarl"], **common)
