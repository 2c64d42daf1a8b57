"""What of the navigation follows from pages: the log as docs/log.md lists it, the folders that are made, a way back."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files

LOG = Path(__file__).parents[1] / "log.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for part in config.nav or []:
        for title, entries in part.items():
            first = entries[0] if len(entries) == 1 else None
            if first == "log.md":
                part[title] = [first, *log_sections()]
            elif isinstance(first, str) and first.endswith("/index.md"):
                folder = first.removesuffix("index.md")
                made = (file.src_uri for file in files.documentation_pages() if file.src_uri.startswith(folder))
                part[title] = [first, *sorted(path for path in made if path != first)]
    return files


def log_sections() -> list[dict[str, list[dict[str, str]]]]:
    """A section for every table of docs/log.md that lists pages, a page for every row."""
    _, *sections = re.split(r"^## ", LOG.read_text(encoding="utf-8"), flags=re.M)
    listed = {section.partition("\n")[0]: re.findall(r"\[(.*?)\]\((log/.*?)\)", section) for section in sections}
    return [{title: [{name: page} for name, page in pages]} for title, pages in listed.items() if pages]


def on_post_template(output_content: str, template_name: str, **_) -> str:
    """A page that is not there says where to go on."""
    if template_name != "404.html":
        return output_content
    lost = "<h1>404 - Not found</h1>"
    home = re.search(r'href="([^"]*)" title="[^"]*" class="md-header__button', output_content)
    assert lost in output_content and home, "404.html of the theme is another one"
    link = f'<a href="{home[1].removesuffix(".")}index.html">Begin at the start</a>'
    return output_content.replace(lost, f"<h1>No such page</h1>\n<p>It has moved, or never was. {link}, or search.</p>")
