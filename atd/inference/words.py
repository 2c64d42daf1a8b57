"""The words the softmax of inference runs over: all, or a fixed subset that stands for all.

T positions, F factors, V vocabulary, S words of the softmax.
"""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from atd.candidates import Candidates
from atd.errors import AtdError
from atd.noise import Shares
from atd.softmax_kernel import Targets, softmax_pass

POWER = 0.75  # of a word's share in the choice of a subset, as for the noise words of training


class SoftmaxWords:
    """The words of the softmax with their table (`candidates`) and the slot of every word in it (−1: not there).

    With `samples` the words are a subset, the same for every text and seed. It is chosen as noise words are
    (`atd.noise`), by exp(0.75·bias), which in a trained model says how frequent a word is, and with the comb in the
    middle of its gap: frequent words are certain, and each of the others counts for those around it. The target is
    always added, and where it is in the subset it is left out there.
    """

    def __init__(self, W_VF: Tensor, b_V: Tensor, samples: int | None = None):
        self.W_VF = W_VF
        self.b_V = b_V
        self.samples = samples
        self._subsets: dict[int, SoftmaxWords] = {}
        V = len(b_V)
        self.slot_V = torch.arange(V, device=b_V.device)
        if samples is None or samples >= V:
            self.candidates = Candidates.of(W_VF, b_V)
            return
        if samples < 2:
            raise AtdError(f"samples must be at least 2, got {samples}")
        ids_S, log_weight_S = Shares((POWER * b_V.double()).softmax(0)).choose(samples, 0.5)
        self.candidates = Candidates.of(W_VF[ids_S], b_V[ids_S] + log_weight_S.to(b_V.dtype))
        self.slot_V.fill_(-1)
        self.slot_V[ids_S] = torch.arange(len(ids_S), device=b_V.device)

    def subset(self, samples: int) -> SoftmaxWords:
        """So many of the words; made once."""
        if samples not in self._subsets:
            self._subsets[samples] = SoftmaxWords(self.W_VF, self.b_V, samples)
        return self._subsets[samples]

    @cached_property
    def double(self) -> SoftmaxWords:
        """The same words in double precision."""
        return SoftmaxWords(self.W_VF.double(), self.b_V.double(), self.samples)

    def targets(self, target_T: Tensor) -> Targets:
        """The words that came, as `atd.softmax_kernel` takes them."""
        return Targets(self.W_VF[target_T], self.b_V[target_T], self.slot_V[target_T])

    def slope(self, f_TF: Tensor, target_T: Tensor) -> Tensor:
        """The gradient of −log P(target) in f (T×F): the mean row under P less the target's."""
        return softmax_pass(f_TF, self.candidates, self.targets(target_T), f_TF.new_ones(len(f_TF))).dh_BH
