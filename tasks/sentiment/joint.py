"""The paper's protocol (section 4.1): sentence vectors and weights learn together, unseen ones by gradient steps.

n texts, T words of all of them, B batch, N context size, D attribute dim.
"""

from __future__ import annotations

import torch
from torch import Tensor

from atd.encoded import EncodedCorpus
from atd.lm import MultiplicativeLM
from atd.vocabulary import UNK_ID
from datamodules.treebank import numbered
from tasks.engine.rows import Outcome
from tasks.sentiment.study import HELD_OUT, Study, averages, centred, classified, fit_language_model

WORDS = 2048  # of a step of inference


def joint(study: Study, name: str, seed: int) -> Outcome:
    """Every training phrase has a vector that starts at the average of its words and learns with all weights.

    The classifier is given the learned vectors of the training phrases, and those inferred of the sentences of val and
    test, which start at their averages too.
    """
    cfg, texts = study.cfg, study.texts
    start = averages(study, study.words.vectors_VK)
    if cfg.model.get("activation") != "relu":
        start = centred(start)  # x = 0 is the average text
    parts = numbered({"train": texts["train"], "val": texts["val"]})
    table_AD = torch.cat([start["train"], start["val"]])
    config = {**cfg.model, "D": table_AD.shape[1]}
    module, curve = fit_language_model(study, cfg, config, parts, f"{name}-{seed}", seed, table_AD, learn=True)
    model = module.model
    assert isinstance(model, MultiplicativeLM)
    x = {"train": model.vectors()[: len(texts["train"])].detach()}
    steps = cfg.inference
    with torch.autocast("cpu", torch.bfloat16, enabled=cfg.trainer.precision.startswith("bf16")):
        for split in HELD_OUT:
            x[split] = infer_by_steps(model, texts[split], start[split], steps.lr, steps.epochs, steps.l2, seed)
    moved = {f"moved_{split}": moved_by(model, x[split], start[split]) for split in ("train", "val")}
    return classified(study, {split: vectors.numpy() for split, vectors in x.items()}, chosen=moved, curve=curve)


def moved_by(model: MultiplicativeLM, x_nD: Tensor, start_nD: Tensor) -> float:
    """How far vectors went from their start, relative to its length, on average."""
    start_nD = model.attributes.act(start_nD)
    return float(((x_nD - start_nD).norm(dim=1) / start_nD.norm(dim=1).clamp(min=1e-9)).mean())


def infer_by_steps(
    model: MultiplicativeLM, texts: EncodedCorpus, start_nD: Tensor, lr: float, epochs: int, l2: float, seed: int
) -> Tensor:
    """x (n×D) of texts, the weights frozen: stochastic gradient descent on L, through the model's own non-linearity.

    A step takes WORDS words of all texts at random; a word moves its text by lr times its gradient. The step size
    falls linearly to zero. Works for any model, also one that is not affine in x. Unknown words are context only.
    """
    tokens_T, _ = texts.flat
    context_TN = torch.from_numpy(texts.windows(model.C.shape[0]))
    owner_T = torch.from_numpy(texts.owner).long()
    known = (tokens_T != UNK_ID).nonzero()[:, 0]
    generator = torch.Generator().manual_seed(seed)
    total = epochs * -(-len(known) // WORDS)
    L_nD = start_nD.clone().requires_grad_()
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    model.eval().requires_grad_(False)
    done = 0
    for _ in range(epochs):
        order = known[torch.randperm(len(known), generator=generator)]
        for words_B in order.split(WORDS):
            x_BD = model.attributes.act(L_nD[owner_T[words_B]])
            nll = model.nll(context_TN[words_B], tokens_T[words_B], x_BD, reduction="sum")
            pull = 0.5 * l2 * len(words_B) / len(known) * (L_nD - start_nD).square().sum()
            (slope_nD,) = torch.autograd.grad(nll + pull, L_nD)
            with torch.no_grad():
                L_nD -= lr * (1 - done / total) * slope_nD
            done += 1
    for parameter in learned:
        parameter.requires_grad_(True)
    return model.attributes.act(L_nD.detach())
