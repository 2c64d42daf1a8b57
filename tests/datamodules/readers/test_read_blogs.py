"""Blogs: three forms of one corpus give the same posts; the prolific are told from the rest."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.readers.blogs import (
    attribute_names,
    post_batches,
    prolific,
    read_authors,
    read_blogs,
)

TEXT = st.text(st.sampled_from("ab <>&;\"',é’\n\t"), min_size=1, max_size=30).map(lambda t: "x" + t)
AUTHOR = st.fixed_dictionaries(
    {
        "gender": st.sampled_from(["male", "female"]),
        "age": st.integers(13, 48),
        "industry": st.sampled_from(["Student", "indUnk", "Communications-Media"]),
        "posts": st.lists(st.tuples(st.just("31,May,2004"), TEXT), min_size=1, max_size=5),
    }
)
CORPUS = st.dictionaries(st.integers(1, 10**7), AUTHOR, min_size=1, max_size=6).map(lambda c: dict(sorted(c.items())))


def xml(author: dict) -> str:
    return (
        "<Blog>\n" + "".join(f"\n<date>{d}</date>\n<post>\n\n{t}\n</post>\n" for d, t in author["posts"]) + "\n</Blog>"
    )


def as_xml(corpus) -> dict[str, str]:
    return {f"blogs/{i}.{a['gender']}.{a['age']}.{a['industry']}.Leo.xml": xml(a) for i, a in corpus.items()}


def as_csv(corpus) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["id", "gender", "age", "topic", "sign", "date", "text"])
    for i, a in corpus.items():
        writer.writerows([i, a["gender"], a["age"], a["industry"], "Leo", d, t] for d, t in a["posts"])
    return out.getvalue()


def as_tsv(corpus) -> tuple[str, str]:
    people, posts = "id\tgender\tage\tindustry\tsign\tposts_total\n", "id\tdate\ttext\n"
    for i, a in corpus.items():
        people += f"{i}\t{a['gender']}\t{a['age']}\t{a['industry']}\tLeo\t{len(a['posts'])}\n"
        posts += "".join(f"{i}\t{d}\t{' '.join(t.split())}\n" for d, t in a["posts"])
    return people, posts


def group(age: int) -> str:
    return "10s" if age < 20 else "20s" if age < 30 else "30s"


@settings(max_examples=60, deadline=None)
@given(corpus=CORPUS, form=st.sampled_from(["xml", "zip", "csv", "csv.gz", "tsv", "tsv.gz"]))
def test_posts_come_back_in_every_form(folder, write, write_zip, corpus, form):
    data = folder()
    if form == "xml":
        for name, text in as_xml(corpus).items():
            write(data / name, text)
    elif form == "zip":
        write_zip(data / "blogs.zip", as_xml(corpus))
    elif form.startswith("csv"):
        write(data / "blogs" / "blogtext.csv", as_csv(corpus), form.endswith("gz"))
    else:
        people, posts = as_tsv(corpus)
        write(data / "blogs" / "authors.tsv", people, form.endswith("gz"))
        write(data / "blogs" / "some_posts.tsv", posts, form.endswith("gz"))
    expected = [
        {"author": i, "gender": a["gender"], "age": a["age"], "age_group": group(a["age"])}
        | {"industry": a["industry"].lower(), "date": d, "text": " ".join(t.split())}
        for i, a in corpus.items()
        for d, t in a["posts"]
    ]
    found = read_blogs(data).to_pylist()
    key = lambda row: row["author"]  # noqa: E731 - files are read by name, where 10 comes before 9
    assert sorted(found, key=key) == expected
    authors = read_authors(data)
    assert dict(zip(authors["author"].to_pylist(), authors["posts"].to_pylist(), strict=True)) == {
        i: len(a["posts"]) for i, a in corpus.items()
    }
    some = pa.array(list(corpus)[:1])
    assert read_blogs(data, some).to_pylist() == [row for row in expected if row["author"] == some[0].as_py()]


def test_lenient_where_the_release_is_wild(tmp_path, write):
    wild = b"<Blog>\n<date>1,July,2003</date>\n<post>caf\xe9 & <b>\x93x\x94 </post> said he</post>\n</Blog>"
    write(tmp_path / "blogs" / "5.male.25.Arts.Leo.xml", wild)
    assert read_blogs(tmp_path)["text"].to_pylist() == ["café & <b>“x” </post> said he"]


def test_prolific_by_posts_then_by_lower_id():
    authors = pa.table({"author": [9, 4, 7, 1], "posts": [3, 5, 3, 1]})
    assert prolific(authors, 2).to_pylist() == [4, 7]


def test_attribute_names():
    table = pa.table({"gender": ["female", "male"], "age_group": ["10s", "30s"], "industry": ["student", "indunk"]})
    assert attribute_names(table).to_pylist() == ["female/10s/student", "male/30s/indunk"]


def test_batches_stay_small(tmp_path, write):
    posts = "".join(f"<date>d</date><post>post {i}</post>\n" for i in range(9000))
    write(tmp_path / "blogs" / "1.male.25.Arts.Leo.xml", f"<Blog>{posts}</Blog>")
    write(tmp_path / "blogs" / "2.male.25.Arts.Leo.xml", "<Blog><date>d</date><post>x</post></Blog>")
    assert [len(batch) for batch in post_batches(tmp_path)] == [9000, 1]  # never less than one author


@pytest.mark.parametrize(
    ("files", "parts"),
    [
        ({"blogs/1.male.25.Arts.xml": "<Blog></Blog>"}, ["1.male.25.Arts.xml", "id.gender.age.industry.sign"]),
        (
            {"blogs/1.male.25.Arts.Leo.xml": "<Blog>\n<date>d</date><post>one</post>\n<date>d</date><post>cut"},
            ["1.male.25.Arts.Leo.xml line 2", "no complete"],
        ),
        ({"blogs/1.male.25.Arts.Leo.xml": "<Blog></Blog>"}, ["line 1", "no complete"]),
        ({"blogs/1.male.25.Arts.Leo.xml": ""}, ["empty"]),
        ({"blogs/blogtext.csv": "id,gender\n1,male\n"}, ["blogtext.csv", "age"]),
        (
            {"blogs/blogtext.csv": "id,gender,age,topic,sign,date,text\nx,male,3,a,b,c,d\n"},
            ["blogtext.csv line 2", "'x' is not a number"],
        ),
        (
            {"blogs/blogtext.csv": b"id,gender,age,topic,sign,date,text\n1,male,3,a,b,c,\xff\n"},
            ["blogtext.csv", "UTF8"],
        ),
        (
            {
                "blogs/authors.tsv": "id\tgender\tage\tindustry\tsign\tposts_total\n1\tmale\t20\tArts\tLeo\t3\n",
                "blogs/posts.tsv": "id\tdate\ttext\n1\td\tone\n2\td\ttwo\n",
            },
            ["posts.tsv line 3", "author 2", "authors.tsv"],
        ),
        ({"blogs/readme.txt": "nothing"}, ["blogs", "Kaggle", "blogs.zip"]),
    ],
)
def test_bad_input(tmp_path, write, one_line, files, parts):
    for name, data in files.items():
        write(tmp_path / name, data)
    with one_line(*parts):
        read_blogs(tmp_path)


def test_the_real_blogs(real_data):
    authors = read_authors(real_data)
    assert authors.num_rows == 19_320
    assert sum(authors["posts"].to_pylist()) == 681_288
    most = prolific(authors)
    posts = read_blogs(real_data)
    assert len(most) == 1000 and len(read_blogs(real_data, most)) == 39_734
    others = posts.filter(pc.invert(pc.is_in(posts["author"], value_set=most)))
    assert len(others) == 42_980 and len(set(attribute_names(others).to_pylist())) == 234
