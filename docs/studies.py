"""What `make reproduce` runs: a command for every record of docs/results, and what is shown of its report."""

from __future__ import annotations

from dataclasses import dataclass

CONTROLS = "task.controls=[no-attributes,shuffled,lbl,kneser-ney,kneser-ney-attributes]"
BLOGGERS = "data=table data.path={tables}/blogs.csv data.attributes=[gender,age,industry]"


@dataclass(frozen=True)
class Study:
    """A record and the command that gives it; `{tables}` is the folder of docs/tables.py."""

    record: str
    arguments: str
    seeds: tuple[int, ...] = ()  # the command is run once for each; without any it knows its seeds itself
    tables: tuple[str, ...] = ()  # titles of tables and texts that are kept with the record; `*` for anything
    figures: tuple[str, ...] = ()  # names of its pictures, likewise
    model_of: str = ""  # the record whose run trained the model that this one shows

    def commands(self) -> list[str]:
        return [f"{self.arguments} seed={seed}" for seed in self.seeds] or [self.arguments]


STUDIES = (  # those of the paper first
    Study(
        "crosslingual",  # with the rows of experiment=crosslingual_best
        "experiment=crosslingual task.rows=[atd,atd+,atd-best,atd-256]",
        tables=("Nearest words across languages", "Nearest collocations"),
        figures=("languages", "words_*"),
    ),
    Study("languages5", "experiment=languages5", figures=("correlation",)),
    Study("madlibs", "experiment=madlibs", seeds=(0, 1, 2), tables=("* …",)),
    Study(
        "generation",
        "experiment=generation",
        seeds=(0, 1, 2),
        tables=("Samples",),
        figures=("style_against_fluency", "who_samples_are_taken_for"),
    ),
    Study("low_resource", "experiment=low_resource"),
    Study("sentiment", "experiment=sentiment"),
    Study("sentiment_paper", "experiment=sentiment_paper"),
    Study(
        "authorship",
        "experiment=authorship",
        figures=("effect_of_conditional_embeddings", "effect_of_inferred_vectors"),
    ),
    Study(
        "similarity",
        "experiment=similarity",
        tables=("Conditional word similarity",),
        model_of="authorship",
    ),
    Study("maps", "experiment=maps", figures=("attribute_map",), model_of="authorship"),
    Study("books", "experiment=books"),
    Study("table_bible", "data=table data.path={tables}/bible.csv data.attributes=[book] task.seeds=3 " + CONTROLS),
    Study(
        "table_authors", "data=table data.path={tables}/authors.csv data.attributes=[author] task.seeds=3 " + CONTROLS
    ),
    Study("table_blogs_composed", f"{BLOGGERS} task.seeds=3 {CONTROLS}"),
    Study("table_blogs_tuples", f"{BLOGGERS} data.compose=false task.seeds=3 {CONTROLS}"),
    Study("authors", "experiment=authors", figures=("reliability", "length")),
    Study("authors1k", "experiment=authors1k"),
    Study("authorship_variants", "experiment=authorship_variants"),
    Study("crosslingual_polyglot", "experiment=crosslingual_polyglot"),
    Study("languages48", "experiment=languages48", figures=("family_tree",)),
    Study("languages800", "experiment=languages800", figures=("language_map",)),
    Study("reviewers", "experiment=reviewers", figures=("losses",)),
    Study("graphs", "experiment=graphs"),
    Study("effects", "experiment=effects", figures=("calibration", "power*")),
    Study("benchmark", "task=benchmark data=gutenberg benchmark.rounds=3 trainer.threads=1 benchmark.revision=4d653bf"),
)
