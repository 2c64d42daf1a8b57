"""The command `atd`: train a model on a table, and ask it.

    atd fit reviews.csv --text text --attributes age gender --out trained.ckpt
    atd similar trained.ckpt love --given gender=f

Every command has --help with an example. What can be mended is one line on stderr, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from atd.errors import AtdError
from atd.machine import prepare

EXAMPLES = {
    "fit": "atd fit reviews.csv --text text --attributes age gender --out trained.ckpt",
    "similar": "atd similar trained.ckpt love --given gender=f age=20s",
    "compare": "atd compare trained.ckpt love gender=f gender=m",
    "generate": "atd generate trained.ckpt --given '0.5*age:20s + 0.5*age:60s' --words 30",
    "encode": "atd encode trained.ckpt reviews.csv --out vectors.csv",
    "predict": "atd predict trained.ckpt reviews.csv --column gender",
    "effects": "atd effects trained.ckpt reviews.csv --column gender",
    "export": "atd export trained.ckpt words.txt --given gender=f",
    "card": "atd card trained.ckpt --out README.md",
    "explore": "atd explore trained.ckpt",
}
ABOUT = {
    "fit": "train a model on a table of texts",
    "similar": "the words nearest to a word",
    "compare": "a word's neighbours under a and under b",
    "generate": "text in the manner of an attribute or a mix",
    "encode": "the inferred vector of every text",
    "predict": "the likeliest value of a column for every text",
    "effects": "the words whose use differs between the values of a column",
    "export": "vectors in files that other programs read; to a folder everything",
    "card": "what the model is, in Markdown",
    "explore": "a page on this machine to play with a model (needs the platform)",
}


class Parser(argparse.ArgumentParser):
    """One line for what cannot be, and the exit code of every error that can be mended."""

    def error(self, message: str) -> NoReturn:
        self.exit(1, f"error: {message}; {self.prog} --help says more\n")


def program() -> int:
    """The command as it is installed: a process of its own."""
    prepare()
    return main()


def main(words: Sequence[str] | None = None) -> int:
    asked = parser().parse_args(words)
    try:
        from atd import commands  # here: --help does not pay for PyTorch

        getattr(commands, asked.command)(asked)
    except AtdError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `atd … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"error: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


def parser() -> Parser:
    top = Parser("atd", description="Vectors for the attributes of text. `atd COMMAND --help` has an example of each.")
    top.add_argument("--version", action="version", version=_version())
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    made = {}
    for name, about in ABOUT.items():
        made[name] = commands.add_parser(
            name,
            help=about,
            description=about[0].upper() + about[1:] + ".",
            epilog=f"example: {EXAMPLES[name]}",
        )
    _fit(made.pop("fit"))
    for one in made.values():
        one.add_argument("model", metavar="MODEL", help="a checkpoint file, or the folder of a run")
    for name in ("similar", "compare"):
        made[name].add_argument("word", metavar="WORD")
    _asks(made)
    _reads_texts(made)
    return top


def _fit(fit: argparse.ArgumentParser) -> None:
    fit.add_argument("table", metavar="TABLE", help="a csv, tsv, jsonl, parquet, arrow or feather file")
    fit.add_argument("--text", default="text", help="the column of texts (text)")
    which = fit.add_mutually_exclusive_group()
    which.add_argument("--attributes", nargs="+", metavar="COLUMN", help="the columns that describe a text")
    which.add_argument("--formula", help="how they combine, such as 'age*gender + industry'")
    fit.add_argument("--init-from", metavar="MODEL", help="a trained model that the rows join; it says the attributes")
    fit.add_argument("--no-freeze", action="store_true", help="train what it has learned on, too")
    fit.add_argument("--continuous", nargs="+", metavar="COLUMN", help="those that hold numbers")
    fit.add_argument("--group", metavar="COLUMN", help="rows of one value, say an author, are held out together")
    fit.add_argument("--out", required=True, metavar="FILE", help="where the model is written")
    fit.add_argument("--language", default="en", help="of the texts (en)")
    sizes: dict[str, Any] = {"K": "word dim (100)", "F": "factors (100)", "D": "attribute dim (32)"}
    for name, says in sizes.items():
        fit.add_argument(f"--{name}", type=int, help=says)
    fit.add_argument("--context", type=int, help="words before the predicted one (5)")
    fit.add_argument("--epochs", type=int, help="(5)")
    fit.add_argument("--min-steps", type=int, help="more epochs of a small table, until they have so many steps (2000)")
    fit.add_argument("--batch-size", type=int, help="words of a step (1024; of a large table up to 4096)")
    fit.add_argument("--lr", type=float, help="step size (0.006)")
    fit.add_argument("--min-count", type=int, help="rarer words are unknown (2)")
    fit.add_argument(
        "--validation", type=float, help="share of rows to compare epochs on, and as much to test on (0.1)"
    )
    fit.add_argument("--seed", type=int, help="(0)")
    fit.add_argument("--precision", choices=["auto", "fp32", "bf16"], help="auto: bf16 where it is fast (auto)")
    fit.add_argument("--threads", type=int, help="(1)")


def _asks(made: dict[str, Any]) -> None:
    """Options of those that take an attribute."""
    for name in ("similar", "generate", "export"):
        says = "an attribute, a sum such as '0.5*a + 0.5*b', or columns and values"
        made[name].add_argument("--given", nargs="+", metavar="NAME", help=says)
    made["similar"].add_argument("-n", type=int, default=10, help="how many words (10)")
    made["compare"].add_argument("a", metavar="A")
    made["compare"].add_argument("b", metavar="B")
    made["compare"].add_argument("-n", type=int, default=15, help="how many neighbours (15)")
    for name in ("similar", "compare"):
        says = "list only words that texts described so use at least so often (0)"
        made[name].add_argument("--min-count", type=int, default=0, metavar="N", help=says)
    made["generate"].add_argument("--words", type=int, default=40, help="(40)")
    made["generate"].add_argument("--temperature", type=float, default=0.8, help="(0.8)")
    made["generate"].add_argument("--seed", type=int, default=0, help="(0)")
    made["generate"].add_argument("-n", type=int, default=1, help="how many texts (1)")
    made["export"].add_argument("out", metavar="PATH", help="a file, whose ending says the kind, or a folder")
    made["export"].add_argument("--kind", help="of the file, where its ending does not say")
    made["card"].add_argument("--out", metavar="FILE", help="(stdout)")


def _reads_texts(made: dict[str, Any]) -> None:
    """Options of those that read texts."""
    for name in ("encode", "predict", "effects"):
        made[name].add_argument("texts", metavar="TEXTS", help="a table, or a .txt file with a text on every line")
        made[name].add_argument("--text", default="text", help="the column of texts (text)")
        made[name].add_argument("--out", metavar="FILE", help="(stdout)")
    made["predict"].add_argument("--column", help="which one; not needed if there is only one")
    made["effects"].add_argument("--column", required=True, help="which one")
    made["effects"].add_argument("-n", type=int, default=20, help="how many words (20)")


def _version() -> str:
    import atd

    return atd.__version__


if __name__ == "__main__":
    sys.exit(program())
