"""The blog experiments (section 4.3): attribute vectors of bloggers, and who of a thousand wrote a post.

An attribute is a tuple of gender, age group and industry. `inferred` asks the paper's question where nothing is given
at test time; `composition` and `mixture` go beyond the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from atd.errors import AtdError
from atd.lm import LogBilinearLM, MultiplicativeLM
from datamodules.blogs import Blogs, folds
from tasks.authorship.attribution import cross_validate
from tasks.authorship.composition import composition
from tasks.authorship.inferred import BY_POST, Factors, infer
from tasks.authorship.likelihood import who_wrote
from tasks.authorship.mixtures import mixtures
from tasks.authorship.posts import posts_of, read_written
from tasks.authorship.report import show_attribution, show_vectors
from tasks.authorship.settings import FITS, Settings
from tasks.authorship.verdict import show_inferred
from tasks.engine.result import Result
from tasks.engine.rows import Store
from tasks.engine.settings import typed
from tasks.figures.charts import learning_curves
from tasks.learning.comparison import compare_models
from tasks.learning.controls import lbl_of
from tasks.learning.corpora import open_corpus
from tasks.learning.models import load_for

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["FITS", "Settings", "run"]

PAPER = {"tfidf": {"accuracy": 45.9}}  # its other rows are bars without figures


def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    if cfg.data.compose:
        raise AtdError("data.compose=true: here a tuple has one vector; composed ones are task.parts=[composition]")
    classified = "experiments" in task.parts or "inferred" in task.parts
    paper = PAPER if classified and not cfg.data.sample else {}
    result = Result("authorship", primary(task.parts), {}, lower_is_better=not classified, paper=paper)
    if classified or "likelihood" in task.parts:
        data = open_corpus(cfg)
        assert isinstance(data, Blogs)
        atd, lbl = trained(result, cfg, data, out)
        show_vectors(result, atd, data, cfg.seed)
        written = read_written(data)
        if classified:
            posts = posts_of(written, atd, lbl, data.attributes, cfg.seed)
            parts = folds(posts.author, task.folds, cfg.seed)
            store = Store(out / "rows", bool(cfg.resume))
            scores = {}
            if "experiments" in task.parts:
                scores = cross_validate(posts, parts, task, cfg.seed, store)
                show_attribution(result, posts, scores)
            if "inferred" in task.parts:
                factors = Factors.of(atd, data, written.words, posts, task, cfg.seed)
                show_inferred(result, scores, infer(posts, factors, parts, task, cfg.seed, store, bool(scores)))
        if "likelihood" in task.parts:
            who_wrote(result, atd, data, written, task, cfg.seed)
    if "composition" in task.parts:
        composition(result, cfg, task, out)
    if "mixture" in task.parts:
        mixtures(result, cfg, task, out)
    return result


def primary(parts: Sequence[str]) -> str:
    """The number that a sweep optimises: of the first of these parts that is asked for."""
    if "experiments" in parts:
        return "tfidf+conditioned/accuracy"
    return f"{BY_POST}/accuracy" if "inferred" in parts else "atd/perplexity"


def trained(result: Result, cfg: DictConfig, data: Blogs, out: Path) -> tuple[MultiplicativeLM, LogBilinearLM]:
    """The multiplicative and the log-bilinear model of the other authors' posts, or those of a run folder."""
    if cfg.checkpoint is not None:
        folder = Path(cfg.checkpoint) / "checkpoints"
        atd, lbl = (load_for(data, folder / name / "best.ckpt").model for name in ("atd", "lbl"))
    else:
        models = compare_models(cfg, data, out, {"atd": cfg.model, "lbl": lbl_of(cfg)})
        result.rows |= models.rows
        caption = "Exact dev perplexity after each epoch."
        result.figure("learning_curves", learning_curves(models.curves), caption)
        atd, lbl = (models.trained(name).model for name in ("atd", "lbl"))
    assert isinstance(atd, MultiplicativeLM)
    assert isinstance(lbl, LogBilinearLM)
    return atd, lbl
