"""The embedded corpora: the same bytes every time, in the real formats, with the structure they promise."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from atd.errors import AtdError
from datamodules import sample


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample.write(tmp_path_factory.mktemp("sample") / "corpora")


def words(text: str) -> list[str]:
    return re.findall(r"\w+(?:-\w+)*|[^\w\s]", text.lower())


@pytest.fixture(scope="module")
def books(root: Path) -> dict[str, list[str]]:
    return {p.stem: words(p.read_text(encoding="utf-8")) for p in sorted(root.glob("gutenberg/*.txt"))}


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_same_bytes_again_and_other_bytes_with_another_seed(root: Path, tmp_path: Path) -> None:
    again, other = sample.write(tmp_path / "again"), sample.write(tmp_path / "other", seed=1)
    assert files(root) == files(again)
    differing = [name for name, data in files(root).items() if files(other).get(name) != data]
    assert len(differing) > 0.9 * len(files(root))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again", "other"], "a temporary folder was left behind"


def test_a_written_folder_is_kept_and_a_foreign_one_refused(root: Path, tmp_path: Path) -> None:
    before = (root / ".sample").stat().st_mtime_ns
    assert sample.write(root) == root
    assert (root / ".sample").stat().st_mtime_ns == before
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(AtdError, match="holds something else"):
        sample.write(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(AtdError, match="no sample corpus 'novels'"):
        sample.write(tmp_path / "new", parts=["novels"])


def test_the_package_is_small() -> None:
    folder = Path(sample.__file__).parent
    assert sum(p.stat().st_size for p in folder.rglob("*") if p.suffix in (".py", ".txt")) < 300_000


def test_books_look_like_books(root: Path) -> None:
    names = sorted(p.stem for p in root.glob("gutenberg/*.txt"))
    assert names == sorted(sample.book_groups()) and len(names) == 8
    for name, group in sample.book_groups().items():
        text = (root / "gutenberg" / f"{name}.txt").read_text(encoding="utf-8")
        assert 12_000 < len(text.split()) < 16_000
        assert re.match(r"\[The Scroll of \w+\]\n" if group == "scripture" else r"\[.+ by .+ \d{4}\]\n", text)
        assert re.findall(r"^CHAPTER ([IVX]+)$", text, re.M)[:4] == ["I", "II", "III", "IV"]
        assert max(map(len, text.splitlines())) <= 72
        assert text.count('"') % 2 == 0
        if group == "scripture":
            assert "\n1:1 " in text and "\n2:10 " in text
        else:
            assert len(re.findall(r'"[A-Z][^"]+[,?!]"', text)) > 100, "dialogue"
        assert len(re.findall(r"\b\d+\b", text)) > 50, "numbers"


def test_books_of_one_author_are_nearest(books: dict[str, list[str]]) -> None:
    vocabulary = sorted(set().union(*books.values()))
    counts = {name: Counter(tokens) for name, tokens in books.items()}
    profiles = np.array([[np.sqrt(counts[name][w]) for w in vocabulary] for name in books])
    profiles /= np.linalg.norm(profiles, axis=1, keepdims=True)
    cosine = profiles @ profiles.T - 2 * np.eye(len(books))
    names = list(books)
    nearest = {name: names[i] for name, i in zip(names, cosine.argmax(1))}
    assert len(sample.similar_books()) == 4
    for first, second in sample.similar_books():
        assert nearest[first] == second and nearest[second] == first


def test_function_words_are_shared(books: dict[str, list[str]]) -> None:
    common = set.intersection(*(set(tokens) for tokens in books.values()))
    share = {name: sum(t in common for t in tokens) / len(tokens) for name, tokens in books.items()}
    assert min(share.values()) > 0.4, share


def similarity(tokens: list[str]) -> tuple[list[str], np.ndarray]:
    """Frequent words and the cosines of their PPMI-weighted contexts (four places before, two after)."""
    counts = Counter(tokens)
    rows = sorted(w for w, c in counts.items() if c >= 10 and w[0].isalpha())
    columns = {w: j for j, w in enumerate(sorted(w for w, c in counts.items() if c >= 10))}
    row_of, table = {w: i for i, w in enumerate(rows)}, np.zeros((6, len(rows), len(columns)))
    for k, shift in enumerate((-4, -3, -2, -1, 1, 2)):
        for i, token in enumerate(tokens[4:-2], 4):
            if token in row_of and tokens[i + shift] in columns:
                table[k, row_of[token], columns[tokens[i + shift]]] += 1
    flat = np.hstack(list(table))
    ppmi = np.log1p(flat * flat.sum() / (flat.sum(1, keepdims=True) * flat.sum(0, keepdims=True) + 1e-9))
    ppmi /= np.linalg.norm(ppmi, axis=1, keepdims=True) + 1e-9
    return rows, ppmi @ ppmi.T - 2 * np.eye(len(rows))


def test_a_word_keeps_the_company_of_its_book(books: dict[str, list[str]]) -> None:
    groups, text = sample.book_groups(), {}
    for name, tokens in books.items():
        text.setdefault(groups[name], []).extend(tokens)
    tables = {group: similarity(tokens) for group, tokens in text.items()}
    hits = {}
    for word, companies in sample.polysemous_words().items():
        assert len(companies) >= 2
        for group, company in companies.items():
            rows, cosine = tables[group]
            near = [rows[i] for i in cosine[rows.index(word)].argsort()[: -5 - 1 : -1]]
            hits[word, group] = sum(w in company or w.rstrip("s") in company for w in near)
    assert min(hits.values()) >= 2, hits
    assert np.mean(list(hits.values())) >= 3.5, hits
