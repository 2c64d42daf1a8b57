"""Books: every word in order, cut at headings, none too long."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.readers import books
from datamodules.readers.books import chapters, read_books

SENTENCE = "the sea was calm and the wind came from the east at last . "
BODY = st.lists(st.integers(1, 12).map(lambda n: (SENTENCE * n).strip()), min_size=5, max_size=9)
TITLE = st.sampled_from(
    ["CHAPTER {n}", "Chapter {n}. The Sea", "THE STORY OF SHIP {n}", "Book {r}", "{r}. At Sea", "{r}"]
)
ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII"]


@settings(max_examples=50, deadline=None)
@given(bodies=st.lists(BODY, min_size=1, max_size=8), title=TITLE, crlf=st.booleans(), packed=st.booleans())
def test_chapters_come_back(folder, write, bodies, title, crlf, packed):
    titles = [title.format(n=i + 1, r=ROMAN[i]) for i in range(len(bodies))]
    texts = ["\n\n".join([t, *body]) for t, body in zip(titles, bodies, strict=True)]
    book = "[A Book by Nobody 1900]\n\n\n" + "\n\n\n".join(texts) + "\n"
    data = folder()
    write(data / "gutenberg" / "nobody-book.txt", book.replace("\n", "\r\n") if crlf else book, packed)
    table = read_books(data)
    assert table["text"].to_pylist() == texts
    assert table["title"].to_pylist() == titles
    assert table["chapter"].to_pylist() == list(range(len(bodies)))
    assert set(table["book"].to_pylist()) == {"nobody-book"}


@settings(max_examples=80, deadline=None)
@given(text=st.text(st.sampled_from("AI V.\n\n1:x "), min_size=1, max_size=400).filter(str.strip))
def test_no_word_is_lost_or_moved(text):
    words = [w for _, chapter in chapters("start\n\n" + text) for w in chapter.split()]
    assert words == ["start", *text.split()]


def test_a_long_tale_is_cut_evenly_at_paragraphs(monkeypatch):
    monkeypatch.setattr(books, "MAX_WORDS", 100)
    paragraphs = [f"{i} " + "word " * 19 + "." for i in range(25)]
    pieces = [text for _, text in chapters("\n\n".join(paragraphs))]
    assert "\n\n".join(pieces) == "\n\n".join(paragraphs)
    assert len(pieces) == 6
    assert all(80 < len(p.split()) <= 110 for p in pieces)


def test_verses_are_parted_by_book():
    verse = "in the beginning there was a word and many words came after it " * 5
    text = "\n\n".join(
        ["The Old Book", "The Book of One", "1:1 " + verse, "1:2 " + verse, "Ezra", "1:1 " + verse, "1:2 x"]
    )
    assert [title for title, _ in chapters(text)] == ["The Old Book The Book of One", "Ezra"]


def test_latin1_and_the_zip_of_nltk(tmp_path, write_zip, one_line):
    write_zip(
        tmp_path / "gutenberg.zip",
        {"gutenberg/README": "no book", "gutenberg/b.txt": "C\xe6sar".encode("latin-1"), "gutenberg/a.txt": "Cæsar"},
    )
    assert read_books(tmp_path).select(["book", "text"]).to_pylist() == [
        {"book": "a", "text": "Cæsar"},
        {"book": "b", "text": "Cæsar"},
    ]


def test_missing_and_empty(tmp_path, write, one_line):
    with one_line("no Gutenberg books", "gutenberg.zip"):
        read_books(tmp_path)
    (tmp_path / "gutenberg").mkdir()
    with one_line("no books (*.txt)"):
        read_books(tmp_path)
    write(tmp_path / "gutenberg" / "a.txt", "\n")
    with one_line("a.txt", "empty"):
        read_books(tmp_path)


def test_the_real_books(real_data):
    table = read_books(real_data)
    assert len(set(table["book"].to_pylist())) == 18
    words = sum(len(text.split()) for text in table["text"].to_pylist())
    assert 2_135_242 - 18 * 15 < words <= 2_135_242  # all but the title lines
    by_book = table.group_by("book").aggregate([("chapter", "max")])
    assert min(by_book["chapter_max"].to_pylist()) >= 4  # at least five pieces, so one can be held out
    emma = table["title"].to_pylist()[:2]
    assert emma == ["VOLUME I CHAPTER I", "CHAPTER II"]
