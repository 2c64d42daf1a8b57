"""Every message that docs/troubleshooting.md explains is one that the code can say."""

from __future__ import annotations

import ast
import re

import pytest
from small_runs import ROOT

PAGE = ROOT / "docs/troubleshooting.md"
FOLDERS = ("atd", "datamodules", "tasks", "hydra_plugins")


def messages() -> list[str]:
    """The first column of the tables."""
    return re.findall(r"^\| `([^`]*)` \|", PAGE.read_text(encoding="utf-8"), flags=re.M)


@pytest.fixture(scope="module")
def said() -> list[str]:
    """All text of the code, with … where something is filled in."""
    texts = []
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                texts.append("".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return texts


def test_the_page_explains_messages():
    assert len(messages()) > 40


@pytest.mark.parametrize("message", messages())
def test_a_message_is_one_of_the_code(message, said):
    """Its words between the dots stand in one text of the code, in their order."""
    pieces = [re.escape(piece.strip()) for piece in message.split("…") if piece.strip(" ;.:,?()")]
    pattern = re.compile(".*".join(pieces), flags=re.S)
    assert any(pattern.search(text) for text in said), message
