"""What an unknown word can stand for: the known words it is made of, or the nearest by its ending or beginning.

"Reisekaufmann" is travel and merchant; "Viertelmeilen" ends in miles. Languages that write compounds as one word
have a large share of their content words outside any vocabulary.
"""

from __future__ import annotations

from atd.vocabulary import UNK_ID, Vocabulary

SHORTEST = 3  # letters of a part
ENDING = 4  # letters of a known ending or beginning
LINKS = ("", "s", "n", "en", "es", "er")  # between parts: Reise·n, Arbeit·s·markt
CUT = ("e", "en")  # lost at the end of the first part: Schul(e)haus


def parts(word: str, vocabulary: Vocabulary) -> list[int]:
    """Ids of the known words a word is or stands for; `<unk>` when nothing fits."""
    if word in vocabulary:
        return [vocabulary.index[word]]
    if not word.isalpha():
        return [UNK_ID]
    return compound(word, vocabulary) or ending(word, vocabulary) or beginning(word, vocabulary) or [UNK_ID]


def compound(word: str, vocabulary: Vocabulary) -> list[int]:
    """Two known words, the split whose rarer part is most common."""
    best: tuple[int, list[int]] = (0, [])
    for cut in range(SHORTEST, len(word) - SHORTEST + 1):
        second = vocabulary.index.get(word[cut:])
        if second is None:
            continue
        for first in first_parts(word[:cut]):
            if (i := vocabulary.index.get(first)) is not None:
                common = int(min(vocabulary.counts[i], vocabulary.counts[second])) * (len(word) - cut)
                best = max(best, (common, [i, second]))
    return best[1]


def first_parts(text: str) -> list[str]:
    joined = [text.removesuffix(link) for link in LINKS if text.endswith(link)]
    return [p for p in [*joined, *(text + cut for cut in CUT)] if len(p) >= SHORTEST]


def ending(word: str, vocabulary: Vocabulary) -> list[int]:
    known = (vocabulary.index.get(word[cut:]) for cut in range(1, len(word) - ENDING + 1))
    return next(([i] for i in known if i is not None), [])


def beginning(word: str, vocabulary: Vocabulary) -> list[int]:
    """The same word with another ending: politischste → politisch, politische."""
    for cut in range(len(word) - 1, max(ENDING, len(word) - 4) - 1, -1):
        for end in ("", "e", "en", "er", "es", "n", "s", "t", "te", "ung", "lich"):
            if (i := vocabulary.index.get(word[:cut] + end)) is not None:
                return [i]
    return []
