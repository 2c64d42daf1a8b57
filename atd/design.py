"""How the columns that describe a text become vectors that add up to its x.

A *term* is a set of columns. Every combination of their values that occurs is an *attribute*, with a vector of its own,
and the x of a text is the sum over the terms. `age + gender` gives a vector to every age and to every gender,
`age:gender` to every pair of them, `age*gender` all of these.

A column of numbers has *knots*, numbers that have vectors. What lies between two knots has a share of both, so x moves
along straight lines from one to the next.

n texts, J shares of a value in one column (1, or 2 between knots), M attributes of a text, A attributes, Q columns.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from atd.errors import AtdError

MISSING = "missing"
KNOTS = 5
Values: TypeAlias = Sequence[Any] | np.ndarray
PIECE = re.compile(r"\s*(?:`([^`]+)`|([^`+*:]+?))\s*([+*:]|$)")


@dataclass(frozen=True)
class Column:
    """A column and its distinct values as text. Of numbers the values are knots, and perhaps `missing` after them."""

    name: str
    values: Sequence[str]
    knots: Sequence[float] | None = None

    @classmethod
    def of_names(cls, name: str, values_n: Values) -> Column:
        """A column of names; None and NaN are `missing`."""
        return cls(name, sorted(set(map(as_text, values_n))))

    @classmethod
    def of_numbers(cls, name: str, values_n: Values, knots: int = KNOTS) -> Column:
        """A column of numbers, with knots at quantiles that are equally far apart."""
        numbers_n = as_numbers(name, values_n)
        known_n = np.isfinite(numbers_n)
        if not known_n.any():
            raise AtdError(f"column {name!r} holds no number to lay knots on")
        places = np.unique(np.quantile(numbers_n[known_n], np.linspace(0, 1, knots)))
        names = [f"{place:g}" for place in places]
        if len(set(names)) < len(names):
            names = [repr(place) for place in places.tolist()]
        return cls(name, names + [MISSING] * (not known_n.all()), places.tolist())

    def joined(self, new: Column) -> Column:
        """The values of this column, in their places, and after them those that only the new one has.

        Of numbers, the knots stay where they are.
        """
        if self.knots is not None:
            lacks = MISSING in new.values and MISSING not in self.values
            return Column(self.name, [*self.values, *[MISSING] * lacks], self.knots)
        return Column(self.name, list(dict.fromkeys([*self.values, *new.values])))

    def encode(self, values_n: Values) -> tuple[np.ndarray, np.ndarray]:
        """(numbers of values (n×J), the share of each (n×J)); the shares of a text sum to 1."""
        if self.knots is None:
            place = {value: i for i, value in enumerate(self.values)}
            names = list(map(as_text, values_n))
            if unknown := next((name for name in names if name not in place), None):
                raise AtdError(f"column {self.name!r} has no value {unknown!r}; it has {', '.join(self.values[:10])}")
            return np.array([[place[name]] for name in names], np.int32), np.ones((len(names), 1), np.float32)
        return self._between(as_numbers(self.name, values_n))

    def _between(self, numbers_n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shares of the two knots around each number; outside of all knots the last one has all."""
        assert self.knots is not None
        known_n = np.isfinite(numbers_n)
        if not known_n.all() and MISSING not in self.values:
            raise AtdError(f"column {self.name!r} was never missing before; give a number")
        knots = np.asarray(self.knots)
        x_n = np.clip(np.where(known_n, numbers_n, knots[0]), knots[0], knots[-1])
        left_n = np.clip(np.searchsorted(knots, x_n, side="right") - 1, 0, max(len(knots) - 2, 0))
        right_n = np.minimum(left_n + 1, len(knots) - 1)
        gap_n = np.maximum(knots[right_n] - knots[left_n], np.finfo(float).tiny)
        share_n = np.where(right_n > left_n, (x_n - knots[left_n]) / gap_n, 0.0)
        ids = np.stack([left_n, right_n], 1)
        ids[~known_n] = len(self.values) - 1
        share_n = np.where(known_n, share_n, 0.0)
        return ids.astype(np.int32), np.stack([1 - share_n, share_n], 1).astype(np.float32)


def as_text(value: Any) -> str:
    if value is None or value != value:
        return MISSING
    return str(value)


def as_numbers(name: str, values_n: Values) -> np.ndarray:
    if isinstance(values_n, np.ndarray) and values_n.dtype.kind in "fiu":
        return values_n.astype(np.float64)
    try:
        return np.array([np.nan if v in (None, "", MISSING) else float(v) for v in values_n], dtype=np.float64)
    except ValueError as error:
        raise AtdError(f"column {name!r} is to hold numbers: {error}") from None


Codes = tuple[np.ndarray, np.ndarray]  # numbers of a column's values (n×J), their shares (n×J)


@dataclass(frozen=True)
class Design:
    """Columns, terms as numbers of columns, and of each term the combinations of values that occur (A_t×columns)."""

    columns: Sequence[Column]
    terms: Sequence[tuple[int, ...]]
    combinations: Sequence[np.ndarray]
    words_A: np.ndarray = field(default_factory=lambda: np.zeros(0))  # of training text
    base_A: np.ndarray | None = None  # words that make the average text, x = 0; None = all of them

    @classmethod
    def of(
        cls,
        columns: Sequence[Column],
        terms: Sequence[tuple[int, ...]],
        codes: Sequence[Codes],
        old: Design | None = None,
    ) -> Design:
        """The design of texts whose values in each column have these codes.

        It has all attributes of an `old` one, too, whose columns these `Column.joined`.
        """
        found = []
        for t, term in enumerate(terms):
            parts = [part[share > 0] for part, share in _crossed([codes[q] for q in term])]
            parts += [] if old is None else [old.combinations[t]]
            found.append(np.unique(np.concatenate(parts), axis=0).astype(np.int32))
        design = cls(columns, terms, found)
        if old is None or not len(old.words_A):
            return design
        words_A = np.zeros(len(design.term_A))
        words_A[design.places(old.names)] = old.words_A
        return replace(design, words_A=words_A)

    @classmethod
    def plain(cls, names: Sequence[str], column: str = "attribute") -> Design:
        """One column, whose values are all attributes."""
        return cls([Column(column, list(names))], [(0,)], [np.arange(len(names), dtype=np.int32)[:, None]])

    @property
    def names(self) -> list[str]:
        """Of all attributes: `f` of a lone column, `gender=f` of one of several, `20s/f` of all columns together.

        Values may hold such signs themselves: of two that would have the same name, both are written out further.
        """
        out, longer, quoted = [], [], []
        for term, codes in zip(self.terms, self.combinations, strict=True):
            whole = len(term) == len(self.columns)
            for row in codes:
                values = [self.columns[q].values[i] for q, i in zip(term, row, strict=True)]
                named = [f"{self.columns[q].name}={value}" for q, value in zip(term, values, strict=True)]
                out.append("/".join(values if whole else named))
                longer.append("/".join(named))
                quoted.append("/".join(map(repr, named)))
        for clearer in (longer, quoted):
            times = Counter(out)
            out = [new if times[old] > 1 else old for old, new in zip(out, clearer, strict=True)]
        return out

    @property
    def term_A(self) -> np.ndarray:
        """The term of every attribute."""
        return np.repeat(np.arange(len(self.terms)), [len(codes) for codes in self.combinations])

    @property
    def formula(self) -> list[tuple[str, ...]]:
        """The terms, as names of columns."""
        return [tuple(self.columns[q].name for q in term) for term in self.terms]

    def places(self, names: Sequence[str]) -> np.ndarray:
        """The attributes of these names."""
        place = {name: a for a, name in enumerate(self.names)}
        return np.array([place[name] for name in names], np.int64)

    def encode(self, codes: Sequence[Codes]) -> tuple[np.ndarray, np.ndarray | None]:
        """(attributes of every text (n×M, or n if M = 1), their shares (n×M), None where all are 1).

        A combination that the design does not have gets the share 0.
        """
        ids, shares, first = [], [], 0
        for term, combinations in zip(self.terms, self.combinations, strict=True):
            sizes = [len(self.columns[q].values) for q in term]
            known = np.ravel_multi_index(tuple(combinations.T), sizes)
            for part, share in _crossed([codes[q] for q in term]):
                wanted = np.ravel_multi_index(tuple(part.T), sizes)
                place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
                ids.append(first + place)
                shares.append(np.where(known[place] == wanted, share, 0))
            first += len(combinations)
        ids_nM, shares_nM = np.stack(ids, 1).astype(np.int32), np.stack(shares, 1).astype(np.float32)
        ids_nM = ids_nM[:, 0] if ids_nM.shape[1] == 1 else ids_nM
        return ids_nM, None if (shares_nM == 1).all() else shares_nM

    def state(self) -> dict[str, Any]:
        """As plain values, for a checkpoint."""
        return {
            "columns": [{"name": c.name, "values": list(c.values), "knots": c.knots} for c in self.columns],
            "terms": [list(term) for term in self.terms],
            "combinations": [codes.tolist() for codes in self.combinations],
            "words": np.asarray(self.words_A).tolist(),
            "base": None if self.base_A is None else self.base_A.tolist(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Design:
        combinations = [np.array(codes, np.int32) for codes in state["combinations"]]
        columns = [Column(**column) for column in state["columns"]]
        base_A = None if state.get("base") is None else np.array(state["base"])
        terms = [tuple(term) for term in state["terms"]]
        return cls(columns, terms, combinations, np.array(state["words"]), base_A)


def _crossed(codes: Sequence[Codes]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of a term's columns: (values (n×columns), share (n)) for every way to choose one share of each."""
    ways = itertools.product(*(range(ids.shape[1]) for ids, _ in codes))
    return [
        (
            np.stack([ids[:, j] for (ids, _), j in zip(codes, way, strict=True)], 1),
            np.prod([shares[:, j] for (_, shares), j in zip(codes, way, strict=True)], axis=0),
        )
        for way in ways
    ]


def terms_of(formula: str) -> list[tuple[str, ...]]:
    """The terms of a formula, as names of columns: `age*gender + industry` → age, gender, age:gender, industry.

    `a:b` is one term of two columns, `a*b` is a + b + a:b. A name that holds one of + * : is put in `backticks`.
    """
    out: list[tuple[str, ...]] = []
    factors: list[str] = []
    signs: list[str] = []
    at = 0
    while at < len(formula) or signs:
        piece = PIECE.match(formula, at)
        if piece is None:
            raise AtdError(f"formula {formula!r}: expected the name of a column at {formula[at:]!r}")
        factors.append((piece[1] or piece[2]).strip())
        at, sign = piece.end(), piece[3]
        if sign in ("*", ":"):
            signs.append(sign)
            continue
        for term in _expanded(factors, signs):
            if term not in out:
                out.append(term)
        factors, signs = [], []
        if sign == "+" and at >= len(formula):
            raise AtdError(f"formula {formula!r}: nothing follows the last +")
    if not out:
        raise AtdError("the formula is empty: name at least one column")
    return out


def _expanded(factors: list[str], signs: list[str]) -> list[tuple[str, ...]]:
    """`a*b` as a, b, a:b; a product of groups that `:` ties together."""
    groups: list[tuple[str, ...]] = [(factors[0],)]
    for sign, factor in zip(signs, factors[1:], strict=True):
        groups = [*groups, (factor,)] if sign == "*" else [*groups[:-1], (*groups[-1], factor)]
    chosen = (c for size in range(1, len(groups) + 1) for c in itertools.combinations(groups, size))
    return [tuple(dict.fromkeys(itertools.chain(*groups))) for groups in chosen]
