"""What a training step of the multiplicative model costs, on paper: memory, products, traffic and messages.

V vocabulary, K word dim, D attribute dim, F factors, N context, A attributes, M attributes per text, B batch of one
process, S noise words (0 = exact softmax), W processes, P = F + 2 rounded up to eights (columns of the softmax table).
Numbers are single precision; a product of m×k by k×n counts 2mkn operations. docs/scale.md derives and uses these.
"""

from __future__ import annotations

from dataclasses import dataclass

from atd.noise import GROUP
from atd.softmax import LOGITS, ROWS

FLOAT = 4  # bytes
OTHER = 1.05  # measured: scattering rows, small operations and cold caches add some 5 % to what is counted here
STATES = {"adam": 2, "sgd": 1}  # numbers the optimiser keeps per weight; row-wise AdaGrad keeps one per row


@dataclass(frozen=True)
class Rates:
    """What a machine does per second: operations in products of two shapes, bytes moved, bytes made, exponentials."""

    softmax: float
    context: float
    copy: float
    fresh: float
    exponentials: float


@dataclass(frozen=True)
class Step:
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
        return -(-(self.F + 4) // 8) * 8

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
    def folded(self) -> bool:
        """Whether W_fk C W_fkᵀ is multiplied out: when that is less work (MultiplicativeLM.context)."""
        B, N, F, K = self.B, self.N, self.F, self.K
        return N * F * (B * F + K * (K + F)) < B * K * (N * F + N * K + F)

    def flops(self) -> dict[str, int]:
        """Operations in products; the backward pass of a product is two of the same size."""
        B, N, F, K = self.B, self.N, self.F, self.K
        context = N * F * (B * F + K * (K + F)) if self.folded else B * K * (N * F + N * K + F)
        return {
            "context": 6 * context,
            "gate": 6 * B * self.D * F,
            "softmax": 6 * B * self.candidates * self.P,  # logits, gradient in h, gradient in W
        }

    @property
    def groups(self) -> int:
        """Parts of the batch with candidates of their own."""
        return max(self.B // GROUP, 1) if self.S else 1

    def logits(self) -> int:
        """Logits that exist at once."""
        table = self.groups * self.candidates
        rows = max(LOGITS // table // ROWS, 1) * ROWS
        return min(rows, -(-self.B // self.groups)) * table

    def memory(self) -> dict[str, int]:
        """Bytes at the peak of a step: what stays, and the larger of its two heights.

        One is the softmax, with its table, the table's gradient and some logits; the other comes when the gradient of
        W_fv as output layer meets that as input layer.
        """
        B, N, F, D = self.B, self.N, self.F, self.D
        rows = 2 * self.V + 2 * F + N + self.A  # row-wise AdaGrad: W_fv and b, W_fk and W_fd, C, L
        states = STATES[self.optimiser] * self.weights if self.optimiser in STATES else rows
        touched = B * self.M * (D + 2) if self.sparse else self.table
        softmax = 2 * self.groups * self.candidates * self.P + self.logits()
        gradients = self.words + self.factors + touched + self.V * F + (0 if self.S else self.V * self.P)
        activations = B * (N * F + 4 * F)
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
