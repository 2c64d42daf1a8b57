"""New rows, attribute values and words join a trained model.

The corpus of the new rows is encoded with the old words first, in their places, and with all old attributes. A model
is started for it as ever, and `join` gives it what the old one has learned. If that is frozen, the new model says of
old words and attributes what the old one said, to the bit.

V vocabulary, A attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from atd.attributes import CentredTable
from atd.design import Design
from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.lm import MultiplicativeLM, NextWordModel
from atd.open_lm import OpenLM
from atd.trained import Trained
from atd.usage import added, usage_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

OF_A_WORD = ("W_fv", "b")  # parameters that have a row for every word
OF_AN_ATTRIBUTE = ("attributes.L",)


def check_joinable(old: Trained, terms: Sequence[tuple[str, ...]] | None = None) -> None:
    """Whether rows whose columns make these terms can join the model."""
    if type(old.model) not in (OpenLM, MultiplicativeLM) or len(old.vocabularies) > 1:
        raise AtdError("init_from: only a model of kind atd or paper, with one vocabulary, can go on")
    if old.tokeniser is None:
        raise AtdError("init_from: the checkpoint does not say how its texts were tokenised")
    if terms is not None and list(terms) != old.design.formula:
        said, has = (" + ".join(":".join(term) for term in one) for one in (terms, old.design.formula))
        raise AtdError(f"init_from: the attributes are {said}, those of the trained model {has}; they must be the same")


def usage_with(texts: EncodedCorpus, design: Design, old: Trained | None) -> csr_array:
    """How often each word is used under each attribute, by these texts and by those that an old model learned from."""
    usage = usage_of(texts, len(texts.vocabulary), len(design.term_A))
    if old is None or old.usage is None:
        return usage
    return added(usage, old.usage, design.places(old.attributes))


def keep_average(design: Design, old: Design) -> Design:
    """The design of rows that join a frozen model: the average text is what it was."""
    base_A = np.zeros(len(design.term_A))
    base_A[design.places(old.names)] = old.words_A if old.base_A is None else old.base_A
    return replace(design, base_A=base_A)


@torch.no_grad()
def join(model: NextWordModel, design: Design, old: Trained, freeze: bool = True) -> None:
    """Give a model that was just started what an old one has learned; `design` is that of the new rows.

    With `freeze` only the vectors of new words and attributes learn.
    """
    if not isinstance(model, MultiplicativeLM):
        return
    places = torch.from_numpy(design.places(old.attributes))
    rows = dict.fromkeys(OF_A_WORD, torch.arange(len(old.vocabulary))) | dict.fromkeys(OF_AN_ATTRIBUTE, places)
    learned = old.model.state_dict()
    kept = {}
    for name, parameter in model.named_parameters():
        if name in rows:
            parameter[rows[name]] = learned[name]
            kept[name] = rows[name], learned[name]
        else:
            parameter.copy_(learned[name])
            parameter.requires_grad_(parameter.requires_grad and not freeze)
    model.kept = kept if freeze else {}
    table, before = model.attributes, old.model.attributes
    if isinstance(table, CentredTable) and isinstance(before, CentredTable):
        table.words.sub_(before.count[before.column == 0].sum())


def hold(model: NextWordModel, optimiser: torch.optim.Optimizer) -> None:
    """After every step, put what is kept back in its place: decay and momentum would move it."""
    parameters = dict(model.named_parameters())

    @torch.no_grad()
    def restore(*_: Any) -> None:
        for name, (rows, values) in model.kept.items():
            parameter: Tensor = parameters[name]
            parameter[rows.to(parameter.device)] = values.to(parameter.device)

    if model.kept:
        optimiser.register_step_post_hook(restore)
