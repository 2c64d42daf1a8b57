"""Lines of the source beside what is said of them: a line such as "Code: link to a Python file" brings them.

A link whose text is `OpenLM.shrinkage`, as code, to ../atd/open_lm.py shows this function; with a second piece of code
behind a comma, the statement of it that begins so. They are read when the site is built, so that they cannot go stale;
what is not there stops the build.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
ALONE = re.compile(r"^Code: \[`([\w.]+)`(?:, `([^`]+)`)?\]\(((?:\.\./)+([\w/]+\.py))\)$", flags=re.M)


def definition(tree: ast.Module, name: str) -> ast.stmt:
    """The class, function or constant of this name, `Class.method` too."""
    body: list[ast.stmt] = tree.body
    found: ast.stmt | None = None
    for part in name.split("."):
        found = next((node for node in body if part in names(node)), None)
        if found is None:
            raise LookupError(f"no {part} of {name}")
        body = getattr(found, "body", [])
    assert found is not None
    return found


def names(node: ast.stmt) -> set[str]:
    """What a statement defines."""
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else set()


def without_docstring(node: ast.stmt) -> tuple[int, int, set[int]]:
    """First and last line, and the lines of the docstring, which the page says in its own words."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    inner = getattr(node, "body", [None])[0]
    is_text = (
        isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant) and isinstance(inner.value.value, str)
    )
    said = set(range(inner.lineno, inner.end_lineno + 1)) if is_text else set()
    return first, node.end_lineno or first, said


def lines(path: str, name: str, starts: str | None) -> str:
    """The definition, or the first statement of it that starts with some text."""
    source = (ROOT / path).read_text(encoding="utf-8")
    node = definition(ast.parse(source), name)
    if starts:
        inside = (n for n in ast.walk(node) if isinstance(n, ast.stmt))
        node = next(n for n in inside if (ast.get_source_segment(source, n) or "").startswith(starts))
    first, last, said = without_docstring(node)
    rows = source.splitlines()
    return dedent("\n".join(rows[i - 1] for i in range(first, last + 1) if i not in said)).rstrip()


def on_page_markdown(markdown: str, **_) -> str:
    def shown(match: re.Match) -> str:
        name, starts, link, path = match.groups()
        code = lines(path, name, starts)
        return f"`{name}` in [`{path}`]({link}):\n{{ .source }}\n\n```python\n{code}\n```"

    return ALONE.sub(shown, markdown)
