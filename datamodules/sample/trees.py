"""Film reviews as sentiment trees: binary, Penn brackets, a label from 0 to 4 on every node.

Each word has a value; how a phrase combines the values of its two parts is the point of the treebank:
intensifiers stretch, negation turns and weakens, `but` favours what follows, `too` and `lacks` spoil praise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

SIZES = {"train": 700, "dev": 120, "test": 200}

ADJECTIVES = {
    2.0: "wonderful brilliant superb dazzling unforgettable magnificent exhilarating masterful",
    1.0: "good funny charming clever warm touching fresh lively honest graceful witty engaging tender smart",
    0.0: "long quiet french modern early second animated recent political domestic historical musical",
    -1.0: "dull slow clumsy predictable thin flat weak tired silly shallow bland stale muddled forced",
    -2.0: "awful dreadful unbearable insulting disastrous wretched appalling hopeless",
}
NOUNS = {
    2.0: "masterpiece triumph marvel gem",
    1.0: "delight treat pleasure surprise charmer",
    0.0: "film movie story script plot cast director camera scene ending dialogue performance comedy drama thriller "
    "romance documentary sequel soundtrack picture hero score editing setting",
    -1.0: "bore mistake muddle chore letdown",
    -2.0: "disaster mess fiasco insult travesty",
}
VERBS = {  # before "the audience", "every viewer"
    1.5: "delights enchants thrills captivates dazzles",
    0.8: "rewards amuses moves entertains",
    0.0: "follows shows addresses meets",
    -0.8: "tires confuses irritates disappoints",
    -1.5: "bores insults exhausts repels",
}
INTENSIFIERS = {"very": 1.5, "truly": 1.6, "really": 1.4, "utterly": 1.7, "rather": 0.9, "slightly": 0.6, "fairly": 0.7}
THINGS = ("heart", "charm", "wit", "energy", "depth", "suspense", "warmth", "imagination")
VIEWERS = ("the audience", "every viewer", "young and old", "its fans", "even a critic")


@dataclass(frozen=True)
class Node:
    value: float
    parts: tuple[Node, Node] | str

    @property
    def label(self) -> int:
        return sum(self.value > edge for edge in (-1.35, -0.45, 0.45, 1.35))

    def __str__(self) -> str:
        inside = self.parts if isinstance(self.parts, str) else f"{self.parts[0]} {self.parts[1]}"
        return f"({self.label} {inside})"


def word(text: str, value: float = 0.0) -> Node:
    return Node(value, text)


def join(left: Node, right: Node, value: float | None = None) -> Node:
    """A phrase; without a special way of combining, the values add up."""
    value = left.value + right.value if value is None else value
    return Node(max(-2.4, min(2.4, value)), (left, right))


def flat(text: str) -> Node:
    """Neutral words, right-branching."""
    first, _, rest = text.partition(" ")
    return join(word(first), flat(rest)) if rest else word(first)


class Critic:
    """Draws phrases. `mood` shifts the values drawn, so that a sentence mostly agrees with itself."""

    def __init__(self, rng: Random):
        self.rng, self.mood = rng, 0.0

    def draw(self, table: dict[float, str]) -> Node:
        weights = [0.25 + 1 / (0.3 + abs(value - self.mood)) for value in table]
        value = self.rng.choices(list(table), weights)[0]
        return word(self.rng.choice(table[value].split()), value)

    def neutral(self, table: dict[float, str]) -> Node:
        return word(self.rng.choice(table[0.0].split()))

    def quality(self) -> Node:
        """An adjective phrase."""
        adjective, draw = self.draw(ADJECTIVES), self.rng.random()
        if draw < 0.3:
            adverb = self.rng.choice(list(INTENSIFIERS))
            return join(word(adverb), adjective, adjective.value * INTENSIFIERS[adverb])
        if draw < 0.42:
            return join(word("not"), adjective, -0.6 * adjective.value)
        if draw < 0.48:
            return join(word("too", -0.5), adjective, -0.8 - 0.2 * abs(adjective.value))
        if draw < 0.6:
            second = self.draw(ADJECTIVES)
            pair = join(word("and"), second)
            return join(adjective, pair, 0.75 * (adjective.value + second.value))
        return adjective

    def subject(self) -> Node:
        noun = self.neutral(NOUNS)
        if self.rng.random() < 0.35:
            noun = join(self.neutral(ADJECTIVES), noun)
        return join(word(self.rng.choice(["the", "this", "its", "the"])), noun)

    def verdict(self) -> Node:
        """A verb phrase."""
        return self.rng.choice([self.is_so, self.is_so, self.is_a, self.does, self.lacks, self.fails, self.might])()

    def is_so(self) -> Node:
        return join(word(self.rng.choice(["is", "was", "feels", "remains"])), self.quality())

    def is_a(self) -> Node:
        noun = join(self.draw(ADJECTIVES), self.draw(NOUNS))
        noun = join(word("a"), noun)
        if self.rng.random() < 0.2:
            return join(join(word("is"), word("never")), noun, -0.6 * noun.value)
        return join(word("is"), noun)

    def does(self) -> Node:
        return join(self.draw(VERBS), flat(self.rng.choice(VIEWERS)))

    def lacks(self) -> Node:
        thing = word(self.rng.choice(THINGS), 0.9)
        if self.mood > 0:
            return join(join(word("is"), word("full")), join(word("of"), thing), 1.1)
        return join(word("lacks", -0.9), join(word("any"), thing), -1.0)

    def fails(self) -> Node:
        verb = self.rng.choice(["amuse", "convince", "surprise", "move"])
        goal = join(word("to"), join(word(verb, 0.8), flat(self.rng.choice(VIEWERS))))
        if self.mood > 0:
            return join(join(word("never"), word("fails", -1.0), 0.7), goal, 1.4)
        return join(word("fails", -1.0), goal, -1.2)

    def might(self) -> Node:
        quality = self.draw(ADJECTIVES)
        return join(flat("could have"), join(word("been"), quality), -0.6 * quality.value)

    def clause(self) -> Node:
        return join(self.subject(), self.verdict())

    def review(self) -> Node:
        """A whole sentence."""
        self.mood = self.rng.choice([-2.0, -1.0, 0.0, 1.0, 2.0])
        first, draw = self.clause(), self.rng.random()
        if draw < 0.3:
            self.mood = -self.mood
            second = self.clause()
            turn = join(word("but"), second)
            first = join(join(first, word(",")), turn, 0.35 * first.value + 0.85 * second.value)
        elif draw < 0.4:
            self.mood = -self.mood
            second = self.clause()
            aside = join(join(word("although"), first), word(","))
            first = join(aside, second, 0.2 * first.value + 0.85 * second.value)
        elif draw < 0.6:
            second = self.clause()
            first = join(first, join(word("and"), second), 0.75 * (first.value + second.value))
        return join(first, word("."))


def capitalised(node: Node) -> Node:
    if isinstance(node.parts, str):
        return Node(node.value, node.parts.capitalize())
    return Node(node.value, (capitalised(node.parts[0]), node.parts[1]))


def distinct(draw: Callable[[], str], count: int, seen: set[str]) -> list[str]:
    """`count` texts not seen before; they are seen then."""
    texts: list[str] = []
    while len(texts) < count:
        text = draw()
        if text not in seen:
            seen.add(text)
            texts.append(text)
    return texts


def write(root: Path, seed: int) -> None:
    folder = root / "sst"
    folder.mkdir(parents=True)
    critic, seen = Critic(Random(f"reviews {seed}")), set[str]()
    for split, size in SIZES.items():
        lines = distinct(lambda: str(capitalised(critic.review())), size, seen)
        (folder / f"{split}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
