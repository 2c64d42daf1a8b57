"""Several vectors per attribute: an author of many subjects as a mixture (an extension the paper's conclusion names).

B batch, N context size, A attributes, J components, D attribute dim, F factors, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from atd.attributes import Blend
from atd.lm import MultiplicativeLM
from atd.noise import NoiseDraw
from atd.softmax import exact_nll, sampled_nll


class MixtureLM(MultiplicativeLM):
    """P(w | context, a) = Σ_j π_aj P(w | context, x_aj), with π_a = softmax(u_a).

    Attribute a owns the rows aJ … aJ+J−1 of `L`. The context is pushed through the model once, and the J gated
    copies share one softmax call. Given a ready vector x the model is the plain multiplicative one.
    """

    def __init__(self, V: int, K: int, D: int, F: int, N: int, A: int, components: int = 3, **options):
        super().__init__(V, K, D, F, N, A * components, **options)
        self.components = components
        self.u = nn.Parameter(torch.zeros(A, components))

    def weights(self) -> Tensor:
        """π (A×J)."""
        return self.u.softmax(1)

    def vectors(self) -> Tensor:
        """Σ_j π_aj x_aj (A×D): one vector per attribute, for maps, neighbours and samples."""
        x_AJD = self.attributes.vectors().view(*self.u.shape, -1)
        return (self.weights()[:, :, None] * x_AJD).sum(1)

    def blended(self, shares_PA: Tensor) -> Tensor:
        x_AD = self.vectors()
        return shares_PA.to(x_AD) @ x_AD

    def hidden(self, context_BN: Tensor, attribute: Tensor | Blend | None = None, language: int = 0) -> Tensor:
        """Without a mixture there is one hidden vector: that of the mean x of an attribute, or of a ready x."""
        if isinstance(attribute, Tensor) and not attribute.is_floating_point():
            attribute = self.vectors()[attribute]
        return super().hidden(context_BN, attribute, language)

    def components_of(self, attribute_B: Tensor) -> Tensor:
        """Rows of `L` that belong to each attribute (B×J)."""
        return attribute_B[:, None] * self.components + torch.arange(self.components, device=attribute_B.device)

    def gated_copies(self, context_BN: Tensor, attribute_B: Tensor) -> Tensor:
        """f of every component, flattened (BJ×F)."""
        x_BJD = self.attributes(self.components_of(attribute_B).flatten()).view(len(attribute_B), self.components, -1)
        f_BJF = self.condition(self.context(context_BN)[:, None], x_BJD)
        return nn.functional.dropout(f_BJF, self.dropout, self.training).flatten(0, 1)

    def mixed(self, nll_BJ: Tensor, attribute_B: Tensor, reduction: str) -> Tensor:
        nll_B = -(self.u[attribute_B].log_softmax(1) - nll_BJ).logsumexp(1)
        return nll_B.mean() if reduction == "mean" else nll_B

    def component_nll(self, context_BN: Tensor, target_B: Tensor, attribute_B: Tensor) -> Tensor:
        """Exact −log P(w | context, x_aj) of every component (B×J)."""
        target = target_B.repeat_interleave(self.components)
        losses = exact_nll(self.gated_copies(context_BN, attribute_B), *self.output(), target, "none")
        return losses.view(-1, self.components)

    def nll(
        self,
        context_BN: Tensor,
        target_B: Tensor,
        attribute: Tensor | Blend | None = None,
        language: int = 0,
        reduction: str = "mean",
    ) -> Tensor:
        if not isinstance(attribute, Tensor) or attribute.is_floating_point():
            return super().nll(context_BN, target_B, attribute, language, reduction)
        return self.mixed(self.component_nll(context_BN, target_B, attribute), attribute, reduction)

    def sampled_nll(
        self,
        context_BN: Tensor,
        target_B: Tensor,
        draw: NoiseDraw,
        attribute: Tensor | Blend | None = None,
        language: int = 0,
    ) -> Tensor:
        if not isinstance(attribute, Tensor) or attribute.is_floating_point():
            return super().sampled_nll(context_BN, target_B, draw, attribute, language)
        target = target_B.repeat_interleave(self.components)
        f = self.gated_copies(context_BN, attribute)
        losses = sampled_nll(f, *self.output(), target, draw, reduction="none")
        return self.mixed(losses.view(-1, self.components), attribute, "mean")
