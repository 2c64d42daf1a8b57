"""The embedded corpora: the same bytes every time, in the real formats, with the structure they promise."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from atd.errors import AtdError
from datamodules import sample


def words(text: str) -> list[str]:
    return re.findall(r"\w+(?:-\w+)*|[^\w\s]", text.lower())


@pytest.fixture(scope="module")
def books(root: Path) -> dict[str, list[str]]:
    return {p.stem: words(p.read_text(encoding="utf-8")) for p in sorted(root.glob("gutenberg/*.txt"))}


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_same_bytes_again_and_other_bytes_with_another_seed(root: Path, tmp_path: Path) -> None:
    again, other = sample.write(tmp_path / "again"), sample.write(tmp_path / "other", seed=1)
    first, second = files(root), files(other)
    assert first == files(again)
    differing = [name for name, data in first.items() if second.get(name) != data]
    assert len(differing) > 0.9 * len(first)
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
        assert len(re.findall(r"\b\d+\b", text)) > 10, "numbers"


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


def tree(line: str) -> tuple[list[str], list]:
    """An independent reading of one tree: its words, and [label, parts…] nested."""
    stack: list[list] = [[]]
    found = re.findall(r"\([0-4]|\)|[^\s()]+", line)
    for token in found:
        if token[0] == "(":
            stack.append([int(token[1])])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    assert len(stack) == 1 and len(stack[0]) == 1, "balanced"
    return [t for t in found if t[0] != "(" and t != ")"], stack[0][0]


def check_binary(node: list) -> None:
    assert (len(node) == 2 and isinstance(node[1], str)) or len(node) == 3
    for part in node[1:] if len(node) == 3 else []:
        check_binary(part)


def test_trees(root: Path) -> None:
    seen: dict[str, list[str]] = {}
    for split, size in (("train", 700), ("dev", 120), ("test", 200)):
        seen[split] = lines(root / "sst" / f"{split}.txt")
        trees = [tree(line) for line in seen[split]]
        assert len(trees) == size
        for _, node in trees:
            check_binary(node)
        labels = Counter(node[0] for _, node in trees)
        assert sorted(labels) == [0, 1, 2, 3, 4] and min(labels.values()) > 0.05 * size, labels
    assert not set(seen["train"]) & set(seen["dev"] + seen["test"])
    assert not set(seen["dev"]) & set(seen["test"])


def test_trees_compose_negation_and_intensity(root: Path) -> None:
    text = (root / "sst" / "train.txt").read_text(encoding="utf-8")
    negated = re.findall(r"\(([0-4]) \(2 not\) \(([0-4]) \w+\)\)", text)
    assert len(negated) > 30
    assert all((int(a) - 2) * (int(b) - 2) <= 0 for a, b in negated), "negation never keeps the side"
    stretched = re.findall(r"\(([0-4]) \(2 (?:very|truly|utterly)\) \(([0-4]) \w+\)\)", text)
    assert len(stretched) > 30 and all(abs(int(a) - 2) >= abs(int(b) - 2) for a, b in stretched)


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_blogs(root: Path) -> None:
    paths = sorted((root / "blogs").glob("*.xml"))
    name = re.compile(r"(\d+)\.(male|female)\.(\d\d)\.([A-Za-z-]+)\.([A-Z][a-z]+)\.xml")
    posts, people = Counter(), {}
    for path in paths:
        author, gender, age, industry, _ = name.fullmatch(path.name).groups()
        blog = ElementTree.parse(path).getroot()
        assert blog.tag == "Blog" and [e.tag for e in blog] == ["date", "post"] * (len(blog) // 2)
        assert all(re.fullmatch(r"\d\d,[A-Z][a-z]+,2004", e.text) for e in blog.findall("date"))
        posts[author] = len(blog.findall("post"))
        people[author] = (gender, int(age), industry)
    assert len(paths) == len(posts) == 120
    assert {g for g, _, _ in people.values()} == {"male", "female"}
    ages = {a for _, a, _ in people.values()}
    assert all(13 <= a <= 17 or 23 <= a <= 27 or 33 <= a <= 48 for a in ages)
    assert len({i for _, _, i in people.values()}) >= 6
    counts = sorted(posts.values(), reverse=True)
    assert counts[19] > 2 * counts[20], "twenty authors write most"


def test_blogs_tell_their_author(root: Path) -> None:
    """Nearest centroid on half the posts of the prolific authors, tested on the other half."""
    halves: tuple[dict[str, Counter], list[tuple[str, Counter]]] = ({}, [])
    for path in sorted((root / "blogs").glob("*.xml")):
        posts = [words(e.text) for e in ElementTree.parse(path).getroot().findall("post")]
        if len(posts) > 20:
            halves[0][path.name] = Counter(w for post in posts[::2] for w in post)
            halves[1].extend((path.name, Counter(post)) for post in posts[1::2])
    document_frequency = Counter(w for c in halves[0].values() for w in c)

    def score(post: Counter, author: Counter) -> float:
        return sum(
            n * author[w] / author.total() * np.log(21 / document_frequency[w]) for w, n in post.items() if w in author
        )

    right = sum(max(halves[0], key=lambda a: score(post, halves[0][a])) == name for name, post in halves[1])
    assert right / len(halves[1]) > 0.5, "chance is 0.05"


def test_tagged_sentences_cover_the_books(root: Path, books: dict[str, list[str]]) -> None:
    vocabulary: dict[str, set[str]] = {}
    for split, size in (("train", 1500), ("dev", 150), ("test", 150)):
        sentences = lines(root / "pos" / f"ewt_{split}.txt")
        assert len(sentences) == size
        pairs = [token.rpartition("/")[::2] for line in sentences for token in line.split()]
        assert all(re.fullmatch(r"[A-Z]+\$?|[.,:]|``|''", tag) and word for word, tag in pairs)
        if split == "train":
            for word, tag in pairs:
                vocabulary.setdefault(word.lower(), set()).add(tag)
    assert {"NN", "NNS", "NNP", "VBD", "VB", "VBN", "JJ", "RB", "IN", "DT", "PRP", "MD", "CC"} <= set().union(
        *vocabulary.values()
    )
    text = Counter(w for tokens in books.values() for w in tokens if w.isalpha())
    pieces = {piece for word in vocabulary for piece in words(word)}
    unknown = sum(n for w, n in text.items() if w not in pieces) / text.total()
    assert unknown < 0.01, [w for w in text if w not in pieces][:20]


def test_several_may_write_the_same_folder_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        written = list(pool.map(lambda _: sample.write(tmp_path / "same", parts=["sst"]), range(4)))
    assert set(written) == {tmp_path / "same"}
    assert [p.name for p in tmp_path.iterdir()] == ["same"]
    assert sorted(p.name for p in (tmp_path / "same" / "sst").iterdir()) == ["dev.txt", "test.txt", "train.txt"]
