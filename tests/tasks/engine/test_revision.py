"""A run says which program it was, and whether that is the program of the revision."""

from __future__ import annotations

from tasks.engine.revision import git, revision


def test_it_is_marked_when_the_program_differs_and_not_when_a_page_does(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "docs").mkdir()
    files = [tmp_path / name for name in ("run.py", "README.md", "docs/results.md")]
    for file in files:
        file.write_text("as it was")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "one")
    clean = revision(tmp_path)
    assert clean and "dirty" not in clean
    for file in files[1:]:
        file.write_text("made anew")
    assert revision(tmp_path) == clean
    files[0].write_text("changed")
    assert revision(tmp_path) == f"{clean}-dirty"


def test_without_git_it_is_what_the_image_says(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("ATD_REVISION", "abc1234")
    assert revision(tmp_path) == "abc1234"
