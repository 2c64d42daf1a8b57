"""Generated text with planted changes of use, as unruly as real text where it matters.

Words have Zipf's frequencies. A text is made of short passages; each has one subject, drawn from the few subjects of
its document, and its words are drawn from that subject. So words in a document depend on one another, and tests that
take occurrences for independent find changes that are not there.

Planted are pairs of equally frequent words that swap places: in documents of value 1 each occurrence of either becomes
the other with a given probability. The frequencies stay the same, only the company changes. The pairs have no vector,
so that the company of all other words is exactly as it was.

V vocabulary, S subjects, J pairs, n documents, T words of all texts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from atd.ragged import Ragged, offsets_of

PASSAGE = 12  # words of a passage
FUNCTION = 40  # the most frequent words, which are about as frequent in all subjects


@dataclass(frozen=True)
class World:
    """What texts are drawn from."""

    reach_SV: np.ndarray  # cumulative probabilities of words by subject
    pairs_J2: np.ndarray
    share: float  # probability of a swap under value 1
    length: float  # words of a typical document
    tilt: float  # how much likelier the first half of the subjects is under value 1, as a log ratio

    @property
    def V(self) -> int:
        return self.reach_SV.shape[1]

    @property
    def planted(self) -> np.ndarray:
        return np.sort(self.pairs_J2.ravel())


def world(
    seed: int, *, V: int, subjects: int, pairs: int, share: float, length: float = 120, tilt: float = 0.0
) -> World:
    random = np.random.default_rng(seed)
    zipf_V = 1 / (np.arange(V) + 2.7)
    spread_V = np.where(np.arange(V) < FUNCTION, 0.3, 2.5)
    words_SV = zipf_V * np.exp(spread_V * random.normal(size=(subjects, V)))
    reach_SV = np.cumsum(words_SV, axis=1)
    reach_SV /= reach_SV[:, -1:]
    overall_V = np.diff(reach_SV, axis=1, prepend=0).mean(0)
    ranked = np.argsort(-overall_V[FUNCTION:], kind="stable") + FUNCTION
    places = np.sort(random.choice(min(3 * pairs, (V - FUNCTION) // 2), pairs, replace=False))
    return World(reach_SV, ranked[: 2 * (len(ranked) // 2)].reshape(-1, 2)[places], share, length, tilt)


def draw(world: World, documents: int, random: np.random.Generator) -> tuple[Ragged, np.ndarray]:
    """(texts, value 0 or 1 of each)."""
    value_n = random.permutation(documents) % 2
    length_n = np.maximum(random.lognormal(np.log(world.length), 0.6, documents), 20).astype(int)
    owner_T = np.repeat(np.arange(documents), length_n)
    subject_T = _subjects(world, value_n, length_n, random)
    tokens_T = np.empty(len(owner_T), np.int32)
    for s in range(len(world.reach_SV)):
        here = subject_T == s
        tokens_T[here] = np.searchsorted(world.reach_SV[s], random.random(int(here.sum())))
    swap_V = np.arange(world.V, dtype=np.int32)
    swap_V[world.pairs_J2] = world.pairs_J2[:, ::-1]
    swaps_T = (value_n[owner_T] == 1) & (random.random(len(owner_T)) < world.share)
    return Ragged(np.where(swaps_T, swap_V[tokens_T], tokens_T), offsets_of(length_n)), value_n


def _subjects(world: World, value_n: np.ndarray, length_n: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The subject of each word: passages draw from the few subjects of their document."""
    S = len(world.reach_SV)
    likely_2S = np.full((2, S), 0.1)
    likely_2S[1, : S // 2] *= np.exp(world.tilt)
    mix_nS = random.standard_gamma(likely_2S[value_n]) + 1e-9
    reach_nS = np.cumsum(mix_nS, axis=1) / mix_nS.sum(1, keepdims=True)
    passages_n = -(-length_n // PASSAGE)
    owner_p = np.repeat(np.arange(len(length_n)), passages_n)
    subject_p = (random.random(len(owner_p))[:, None] > reach_nS[owner_p]).sum(1).clip(max=S - 1)
    first_n = np.cumsum(passages_n) - passages_n
    place_T = np.arange(length_n.sum()) - np.repeat(np.cumsum(length_n) - length_n, length_n)
    return subject_p[np.repeat(first_n, length_n) + place_T // PASSAGE]
