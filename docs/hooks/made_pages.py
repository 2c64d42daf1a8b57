"""Pages made when the site is built: the library's reference, every file of conf/, the documents of the root."""

from __future__ import annotations

import ast
import html
import re
from pathlib import Path

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("CONTRIBUTING.md", "CHANGELOG.md")
MODULES = """# The library's reference

Made from the docstrings. Begin with [the library](../library.md), which shows how it is used. Most people need
[estimator](estimator.md), [trained](trained.md), [export](export.md) and [effects](effects.md).

| module | what is in it |
|---|---|"""
HYDRA = ("hydra.help", "hydra.job", "hydra.callbacks")
UNSHOWN = ("defaults", "_target_", "name", "task.name")  # keys that nobody sets


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, text in {**documents(), **reference(), **configuration()}.items():
        files.append(File.generated(config, path, content=text))
    return files


def documents() -> dict[str, str]:
    """Those of the root, whose links to docs/ become links to pages beside them."""
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in DOCUMENTS}
    return {name.lower(): re.sub(r"\]\(docs/", "](", text) for name, text in texts.items()}


def reference() -> dict[str, str]:
    """A page for every module of atd, and one that lists them."""
    pages, rows = {}, []
    for path in sorted((ROOT / "atd").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT / "atd").with_suffix("").parts).removesuffix("__init__").rstrip(".")
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if name and said:
            pages[f"reference/{name}.md"] = f"# atd.{name}\n\n::: atd.{name}\n"
            first = " ".join(said.split("\n\n")[0].split()).replace("|", "&#124;")
            rows.append(f"| [atd.{name}]({name}.md) | {first} |")
    return {"reference/index.md": "\n".join([MODULES, *rows]) + "\n", **pages}


def configuration() -> dict[str, str]:
    """A page for every group of conf/, a section for every choice: what it is for, its keys and what they mean."""
    groups: dict[str, list[Path]] = {}
    for path in sorted((ROOT / "conf").glob("*/*.yaml")):
        groups.setdefault(path.parent.name, []).append(path)
    table = ["| group | choices |", "|---|---|"]
    table += [f"| [{group}]({group}.md) | {', '.join(p.stem for p in paths)} |" for group, paths in groups.items()]
    main = section(ROOT / "conf/config.yaml").replace("## config", "# Configuration")
    pages = {"configuration/index.md": f"{main}\n\n## Groups\n\n" + "\n".join(table) + "\n"}
    for group, paths in groups.items():
        start = f"# {group}\n\nChosen by `{group}=…`: a file of `conf/{group}`.\n\n"
        pages[f"configuration/{group}.md"] = start + "\n\n".join(section(path) for path in paths) + "\n"
    return pages


def section(path: Path) -> str:
    """A heading, the comment that the file opens with, and a table of its keys."""
    source = path.read_text(encoding="utf-8")
    opening = re.match(r"(?:#.*\n)*", source)[0]
    said = [line.removeprefix("#").removeprefix(" ") for line in opening.splitlines() if "@package" not in line]
    said = said or [comment(source.splitlines(), 0)]
    package = re.search(r"^# @package (\S+)", source, flags=re.M)
    prefix = "" if package or path.parent.name == "conf" else f"{path.parent.name}."
    keys = rows(source, prefix)
    table = "\n".join(["| key | value | what it means |", "|---|---|---|", *keys]) if keys else ""
    return f"## {path.stem}\n\n{paragraph(said)}\n\n{table}"


def paragraph(said: list[str]) -> str:
    """Sentences as they are, commands as code."""
    blocks: list[tuple[bool, list[str]]] = []
    for line in said:
        command = line.strip().startswith("python ") or (
            bool(blocks) and blocks[-1][0] and blocks[-1][1][-1].endswith("\\")
        )
        if not blocks or blocks[-1][0] != command:
            blocks.append((command, []))
        blocks[-1][1].append(line.strip() if command else escaped(line))
    return "\n\n".join("```sh\n" + "\n".join(b) + "\n```" if is_code else "\n".join(b) for is_code, b in blocks)


def escaped(text: str) -> str:
    return re.sub(r"([*_\[\]])", r"\\\1", html.escape(text, quote=False).replace("|", "&#124;"))


def rows(source: str, start: str) -> list[str]:
    """A row for every key that has a value, as one sets it, in the order of the file, with the comment beside it."""
    lines = source.splitlines()
    root = yaml.compose(source)
    found: list[tuple[str, str, int]] = []

    def walk(node: yaml.Node, prefix: str) -> None:
        for key, value in node.value:
            name = f"{prefix}{key.value}"
            block = isinstance(value, yaml.CollectionNode) and not value.flow_style
            if block and isinstance(value, yaml.MappingNode):
                if comment(lines, key.start_mark.line):
                    found.append((name, "", key.start_mark.line))
                walk(value, f"{name}.")
            elif name.removeprefix(start) not in UNSHOWN and not name.startswith(HYDRA):
                text = "a list, in the file" if block else f"`{source[value.start_mark.index : value.end_mark.index]}`"
                found.append((name, " ".join(text.split()), key.start_mark.line if block else value.end_mark.line))

    if isinstance(root, yaml.MappingNode):
        walk(root, start)
    return [
        f"| `{name}` | {text.replace('|', chr(92) + '|')} | {escaped(comment(lines, line))} |"
        for name, text, line in found
    ]


def comment(lines: list[str], line: int) -> str:
    """What stands behind a line, and goes on in lines of comment below it."""
    if line >= len(lines):
        return ""
    said = [part.strip() for part in re.findall(r"\s#\s(.*)$", lines[line])[:1]]
    for below in lines[line + 1 :]:
        if not said or not re.match(r"\s{8,}#\s", below):
            break
        said.append(below.strip().removeprefix("#").strip())
    return " ".join(said)
