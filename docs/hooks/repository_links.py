"""Links that leave docs/ for the rest of the repository: on the site they lead to the page made of what they name."""

from __future__ import annotations

import posixpath
import re

from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")


def page_of(path: str, anchor: str) -> str | None:
    """The page, with its anchor, that a file of the repository is shown on."""
    folder, _, name = path.rpartition("/")
    if path.endswith(".md") and not folder:
        return f"{name.lower()}{anchor}"
    if path.startswith("atd/") and path.endswith(".py"):
        return (
            f"reference/{path.removeprefix('atd/').removesuffix('.py').replace('/__init__', '').replace('/', '.')}.md"
        )
    if path == "conf/config.yaml":
        return "configuration/index.md"
    if path.startswith("conf/") and path.endswith(".yaml"):
        return f"configuration/{folder.removeprefix('conf/')}.md#{name.removesuffix('.yaml')}"
    return None


def on_page_markdown(markdown: str, page: Page, files: Files, **_) -> str:
    here = posixpath.dirname(page.file.src_uri)

    def relink(match: re.Match) -> str:
        text, link, anchor = match[1], match[2], match[3] or ""
        path = posixpath.normpath(posixpath.join("docs", here, link))
        if path.startswith("docs/"):
            return match[0]
        target = page_of(path, anchor)
        if target is None or files.get_file_from_path(target.partition("#")[0]) is None:
            return text  # a file that the site has no page of
        return f"[{text}]({posixpath.relpath(target, here or '.')})"

    return LINK.sub(relink, markdown)
