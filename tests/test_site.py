"""The site is built without a warning, all its links lead somewhere, and it asks nothing of the network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from small_runs import ROOT

pytest.importorskip("mkdocs", reason="the extra docs is not installed")


class Tags(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.anchors |= {known[key] for key in ("id", "name") if known.get(key)}
        if tag == "a" and known.get("href"):
            self.links.append(known["href"])
        elif tag in ("img", "script", "link", "iframe", "source"):
            self.loads += [known[key] for key in ("src", "href") if known.get(key)]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> dict[Path, Tags]:
    """Every page that a strict build leaves."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stderr
    pages = {path.resolve(): Tags(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    return {path: page for path, page in pages.items() if path.name != "404.html"}


def test_every_link_and_anchor_is_there(site):
    missing = []
    for path, page in site.items():
        for link in page.links + page.loads:
            target, _, anchor = unquote(link).partition("#")
            if "://" in target or target.startswith(("mailto:", "data:")):
                continue
            file = (path.parent / target).resolve() if target else path
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file() or (anchor and file in site and anchor not in site[file].anchors):
                missing.append(f"{path.name}: {link}")
    assert missing == []


def test_a_page_loads_nothing_from_elsewhere(site):
    assert [load for page in site.values() for load in page.loads if re.match(r"(\w+:)?//", load)] == []


def test_equations_and_lines_of_code_are_filled_in(site):
    assert site
    for path in site:
        text = path.read_text(encoding="utf-8")
        assert "@equation" not in text and "$`" not in text, path.name
        assert not re.search(r"<m\w+[^>]*>\\", text), f"{path.name}: a command that became no MathML"
        assert "Code: <a" not in text, f"{path.name}: a link to code that brought no lines"


def test_every_module_and_every_file_of_the_configuration_has_its_place(site):
    names = {path.relative_to(path.parents[1]).as_posix() for path in site}
    assert {"reference/open_lm.html", "reference/effects.words.html", "configuration/index.html"} <= names
    for path in (ROOT / "conf").glob("*/*.yaml"):
        (page,) = [page for file, page in site.items() if file.match(f"configuration/{path.parent.name}.html")]
        assert path.stem in page.anchors, path


def test_a_mark_of_a_text_is_no_tag(site):
    """<s> of a docstring struck out the rest of its page."""
    struck = [path.name for path in site if re.search(r"<(s|unk|says)>", path.read_text(encoding="utf-8"))]
    assert struck == []


def test_names_of_places_do_not_repeat_on_a_page(site):
    for path in site:
        names = re.findall(r'<[^>]+? id="([^"]+)"', path.read_text(encoding="utf-8"))
        assert len(names) == len(set(names)), path.name


def test_columns_have_room_and_numbers_stay_whole(site):
    pages = {path.name: path.read_text(encoding="utf-8") for path in site}
    assert '<th style="min-width' in pages["reliability.html"]
    assert ">7.7e-3</span>" in pages["inference-speed.html"] and "14.9\u00a0s" in pages["inference-speed.html"]
