"""Words of the command line: which run to continue, and text as a value that Hydra reads as it is."""

from __future__ import annotations

import os
import re

from atd.errors import AtdError


def resume_arguments(arguments: list[str]) -> list[str]:
    """`resume=FOLDER` runs in that folder, with the configuration saved there and nothing else."""
    folder = next((a.partition("=")[2] for a in arguments if is_resume(a)), None)
    if not folder or folder == "null":
        return arguments
    if not os.path.isfile(f"{folder}/config.yaml"):  # of a name that no file can have, too
        raise AtdError(f"resume={folder}: no config.yaml there; give the folder of a run, such as outputs/attributes/…")
    others = [a for a in arguments if not is_resume(a)]
    if others:
        raise AtdError(f"resume={folder}: continues a run as it was, so {others[0]} cannot be set with it")
    return [f"resume={quoted(folder)}", f"hydra.run.dir={quoted(folder)}", "hydra.output_subdir=null"]


def quoted(text: str) -> str:
    """Text as a value that Hydra reads as it is, brackets and dollars included."""
    text = re.sub(r'(\\*)"', r'\1\1\\"', text)  # a quotation mark, and the backslashes before it
    text = re.sub(r"(\\+)$", r"\1\1", text)
    return '"' + text.replace("${", r"\${") + '"'


def is_resume(argument: str) -> bool:
    return argument.lstrip("+").startswith("resume=")
