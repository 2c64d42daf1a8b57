"""What a training step of the multiplicative model costs, on paper: memory, products, traffic and messages.

V vocabulary, K word dim, D attribute dim, F factors, N context, A attributes, M attributes per text, B batch of one
process, S noise words (0 = exact softmax), W processes, P columns of the softmax table (`atd.candidates`).
Numbers are single precision; a product of m×k by k×n counts 2mkn operations. docs/scale.md derives and uses these.
"""

from __future__ import annotations

from dataclasses import dataclass

from atd.candidates import Columns
from atd.noise import GROUP
from atd.softmax_kernel import rows_at_once

FLOAT = 4  # bytes
OTHER = 1.05  # measured: scattering rows, small operations and cold caches add some 5 % to what is counted here
STATES = {"adam": 2, "sgd": 1}  # numbers the optimiser keeps per weight; row-wise AdaGrad keeps one per row


@dataclass(frozen=True)
class Rates:
    """What a machine does per second."""

    softmax: float  # operations in products of the softmax's shapes
    context: float  # and of the context's
    copy: float  # bytes moved
    fresh: float  # bytes of new memory made
    exponentials: float


@dataclass(frozen=True)
class Step:
    """One training step, by the sizes of the model and of the batch."""

    V: int
    K: int
    F: int
    D: int
    N: int
    A: int
    B: int
    S: int = 0
    M: int = 1
    sparse: bool = False  # row-sparse attribute table
    optimiser: str = "adam"

    @property
    def P(self) -> int:
        return Columns(self.F).P

    @property
    def words(self) -> int:
        """Numbers in W_fv and b."""
        return self.V * (self.F + 1)

    @property
    def factors(self) -> int:
        """Numbers in W_fk, W_fd and C: few, whatever the corpus."""
        return self.F * (self.K + self.D) + self.N * self.K**2

    @property
    def table(self) -> int:
        """Numbers in L."""
        return self.A * self.D

    @property
    def weights(self) -> int:
        return self.words + self.factors + self.table

    @property
    def candidates(self) -> int:
        """Words whose logits a step computes."""
        return self.S or self.V

    @property
    def context_folded(self) -> int:
        """Multiplications of `MultiplicativeLM.context` when W_fk C W_fkᵀ is multiplied out."""
        return self.N * self.F * (self.B * self.F + self.K * (self.K + self.F))

    @property
    def context_pushed(self) -> int:
        """And when every word is pushed through the three."""
        return self.B * self.K * (self.N * self.F + self.N * self.K + self.F)

    @property
    def folded(self) -> bool:
        """Whether W_fk C W_fkᵀ is multiplied out: when that is less work."""
        return self.context_folded < self.context_pushed

    def flops(self) -> dict[str, int]:
        """Operations in products; the backward pass of a product is two of the same size."""
        return {
            "context": 6 * min(self.context_folded, self.context_pushed),
            "gate": 6 * self.B * self.D * self.F,
            "softmax": 6 * self.B * self.candidates * self.P,  # logits, gradient in h, gradient in W
        }

    @property
    def groups(self) -> int:
        """Parts of the batch with candidates of their own."""
        return max(self.B // GROUP, 1) if self.S else 1

    def logits(self) -> int:
        """Logits that exist at once."""
        table = self.groups * self.candidates
        return min(rows_at_once(table), -(-self.B // self.groups)) * table

    def memory(self) -> dict[str, int]:
        """Bytes at the peak of a step: what stays, and the larger of its two heights.

        One is the softmax, with its table, the table's gradient and some logits; the other comes when the gradient of
        W_fv as output layer meets that as input layer.
        """
        rows = 2 * self.V + 2 * self.F + self.N + self.A  # row-wise AdaGrad: W_fv and b, W_fk and W_fd, C, L
        states = STATES[self.optimiser] * self.weights if self.optimiser in STATES else rows
        touched = self.B * self.M * (self.D + 2) if self.sparse else self.table
        softmax = 2 * self.groups * self.candidates * self.P + self.logits()
        gradients = self.words + self.factors + touched + self.V * self.F + (0 if self.S else self.V * self.P)
        activations = self.B * (self.N * self.F + 4 * self.F)
        return {
            "weights": FLOAT * self.weights,
            "optimiser": FLOAT * states,
            "softmax or gradients": FLOAT * max(softmax, gradients),
            "activations": FLOAT * activations,
        }

    def traffic(self) -> int:
        """Bytes read or written by what is not a product: rows gathered, gradients added up and applied."""
        dense = self.words + self.factors + (0 if self.sparse else self.table)
        update = {"adam": 7, "sgd": 5}.get(self.optimiser, 7) * dense
        rows = 6 * self.B * self.N * self.F + 10 * self.B * self.M * self.D
        return FLOAT * (update + 3 * self.V * self.F + rows)

    def fresh(self) -> int:
        """Bytes of large arrays that are made anew: a CPU pays for every page of them."""
        dense = self.V * self.F
        arrays = 2 * dense + (0 if self.sparse else self.table)  # gradients of the two layers and of L
        arrays += {"adam": 0, "sgd": dense}.get(self.optimiser, 2 * dense)
        arrays += 0 if self.S else 2 * self.V * self.P + dense
        context = 2 * self.B * self.N * (self.F + (0 if self.folded else self.K))
        return FLOAT * (arrays + context)

    def exponentials(self) -> int:
        return self.B * self.candidates

    def seconds(self, rates: Rates) -> float:
        """Time of a step, one thing after the other."""
        flops = self.flops()
        products = flops["softmax"] / rates.softmax + (flops["context"] + flops["gate"]) / rates.context
        memory = self.traffic() / rates.copy + self.fresh() / rates.fresh
        return OTHER * (products + memory + self.exponentials() / rates.exponentials)

    def messages(self, W: int) -> dict[str, int]:
        """Bytes each of W processes sends per step: a ring all-reduce of what is dense, the rows in use of L."""
        ring = 2 * (W - 1) / W
        shared = self.sparse or self.A > W * self.B
        rows = (W - 1) * self.B * self.M * (FLOAT * self.D + 8)
        dense = self.words + self.factors + (0 if shared else self.table)
        return {"all-reduce": int(ring * FLOAT * dense), "attribute rows": rows if shared else 0}
