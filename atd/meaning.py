"""Many languages that say the same: which forms a meaning takes depends on the language.

A *meaning* is what all translations of a verse share, the *units* of its text are letter n-grams, and the language is
the attribute. This is the third-order tensor of the paper, with the meaning in the place of the context:

    T_x = T_0 + Σ_d x_d T_d,    logits = T_x r_m + log q_l

r_m: the meaning's vector. x: the language's vector; at x = 0 all languages turn meanings into forms alike. q_l: how
often the language uses each unit whatever is said, counted and fixed. So letters are explained by q, and x has to say
how the language turns meanings into forms: its lexicon.

M meanings, A languages, K meaning dim, D language dim, V units, B verses of one language.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

OTHERS = 0.02  # the share of all languages in the letters of each: no unit is impossible


@dataclass
class Said:
    """What is said under the gate of one language.

    `letters_B`: the language that each verse is written in; the same one, but where gates are dealt at random.
    """

    language: int
    letters_B: Tensor
    meaning_B: Tensor
    count_BV: Tensor  # how often each unit occurs


class MeaningModel(nn.Module):
    """`log_q_AV`: logarithms of the units' frequencies in each language, as `letters` gives them."""

    log_q_AV: Tensor

    def __init__(self, R_MK: Tensor, T_0_VK: Tensor, T_DVK: Tensor, x_AD: Tensor, log_q_AV: Tensor):
        super().__init__()
        self.R = nn.Parameter(R_MK)
        self.T_0 = nn.Parameter(T_0_VK)
        self.T = nn.Parameter(T_DVK)
        self.x = nn.Parameter(x_AD)
        self.register_buffer("log_q_AV", log_q_AV, persistent=False)  # counted anew from the text

    def nll(self, batch: Sequence[Said]) -> Tensor:
        """−log P of the units of some verses, summed."""
        forms = self.forms(torch.tensor([said.language for said in batch], device=self.x.device))
        return torch.stack([self._nll(said, T_x_VK) for said, T_x_VK in zip(batch, forms, strict=True)]).sum()

    def _nll(self, said: Said, T_x_VK: Tensor) -> Tensor:
        log_q_BV = self.log_q_AV[said.letters_B]
        logits_BV = torch.addmm(log_q_BV, self.R[said.meaning_B], T_x_VK.T)
        return said.count_BV.sum(1) @ logits_BV.logsumexp(1) - (said.count_BV * logits_BV).sum()

    def forms(self, languages: Tensor) -> Tensor:
        """T_x of some languages, one after another (…×V×K)."""
        T_D = self.T.flatten(1)
        return torch.addmm(self.T_0.flatten(), self.x[languages], T_D).view(-1, *self.T_0.shape)

    @torch.no_grad()
    def vectors(self) -> np.ndarray:
        """The languages' vectors in the model's own metric (A×D): these do not depend on the coordinates of x.

        H = Σ_v q_v T_v· T_v·ᵀ is the Fisher information of a unit in x, where meanings have unit variance. Rows of
        x H^½ have xᵀ H x′ as their plain products.
        """
        root_q_V = self.log_q_AV.exp().mean(0).sqrt()
        weighted = (self.T * root_q_V[:, None]).flatten(1)
        values, axes = np.linalg.eigh((weighted @ weighted.T).double().cpu().numpy())
        return self.x.double().cpu().numpy() @ (axes * np.sqrt(np.maximum(values, 0)))


def letters(count_AV: Tensor) -> Tensor:
    """log q of every language (A×V) from how often its text has each unit."""
    own_AV = count_AV / count_AV.sum(1, keepdim=True).clamp(min=1)
    all_V = count_AV.sum(0) / count_AV.sum().clamp(min=1)
    return ((1 - OTHERS) * own_AV + OTHERS * all_V).clamp(min=1e-12).log()
