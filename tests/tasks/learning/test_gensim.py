"""gensim is a rival, not a part of the platform: who lacks it is told so at once."""

from __future__ import annotations

from importlib import import_module

import pytest
from small_runs import composed

from atd.errors import AtdError


@pytest.mark.parametrize(
    ("task", "what"), [("graphs", "row graph2vec"), ("sentiment", "row doc2vec"), ("effects", "rival compass")]
)
def test_what_needs_gensim_says_so_before_anything_is_trained(task, what, tmp_path, monkeypatch):
    for place in ("tasks.learning.doc2vec", "tasks.effects"):
        monkeypatch.setattr(f"{place}.find_spec", lambda name: None)
    with pytest.raises(AtdError, match=f"the {what} needs gensim; pip install gensim"):
        import_module(f"tasks.{task}").run(composed(f"task={task}"), tmp_path)
    assert not list(tmp_path.iterdir())
