"""A voice: one author's way of choosing words. Expands the rules of a lexicon into tagged tokens.

Tokens of a rule (`*` for the class is the topic of the sentence):
  word, word/TAG   themselves         $rule, $rule.*   another rule
  n.c ns.c         bare noun          T.c  N.c  N1.c   noun phrase: definite, any, singular
  v.c b.c p.c      verb: past, base, participle        A.c  P.c  adjective: attributive, predicative
  O.c              his, her, their + noun                E.c  was/were + noun phrase
  @person @other   the one spoken of, somebody else    @he @his @was @is @it   agreement with them
  @name            @person without a pronoun
  @digits @year    numbers            %list            a proper name of the book
Agreement reaches over whatever stands between: `@he` and `@his` follow the last `@person`,
`@was` and `@it` the last noun phrase, and `v.* N.*` choose verb and object from one class.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import exp
from random import Random
from typing import Any

from datamodules.sample.lexicon import Lexicon, Noun, Tagged

PRONOUNS = {
    "he": {"man": "he", "woman": "she", "group": "they"},
    "his": {"man": "his", "woman": "her", "group": "their"},
}


class Choice:
    """Weighted choice in log time; `random.choices` sums the weights anew on each call."""

    def __init__(self, items: Sequence[Any], weights: Sequence[float]):
        self.items = list(items)
        self.edges = list(accumulate(weights))

    def __call__(self, rng: Random) -> Any:
        return self.items[bisect(self.edges, rng.random() * self.edges[-1], hi=len(self.items) - 1)]


class Voice:
    """`taste` bends every weight once, so that two books over one lexicon are alike and not the same.

    `names` maps list names to proper names (`_` for the space inside one); `man` and `woman` are people.
    """

    def __init__(self, lexicon: Lexicon, names: dict[str, list[str]], scenes: dict[str, float], taste: Random):
        self.lexicon, self.taste = lexicon, taste
        self.names = {key: self.ranked([proper(n) for n in names[key]]) for key in sorted(names)}
        self.nouns = {c: self.ranked(nouns) for c, nouns in lexicon.nouns.items()}
        self.verbs = {c: self.ranked(verbs) for c, verbs in lexicon.verbs.items()}
        self.adjectives = {c: self.ranked([(a, "JJ") for a in adj]) for c, adj in lexicon.adjectives.items()}
        self.predicates = {c: self.ranked([(a, "JJ") for a in adj]) for c, adj in lexicon.predicates.items()}
        self.scenes = Choice([lexicon.scenes[s] for s in scenes], list(scenes.values()))
        self.roles = {k: self.ranked(list(v)) for k, v in lexicon.people.items()}
        self.rules = {
            name: Choice([[self.compile(t) for t in tokens] for _, tokens in options],
                         [w * exp(0.35 * taste.gauss(0, 1)) for w, _ in options])
            for name, options in lexicon.rules.items()
        }  # fmt: skip
        self.topics: list[str] = []
        self.people: list[tuple[list[Tagged], str]] = []
        self.rng = taste
        self.out: list[Tagged] = []
        self.used: set[Noun] = set()
        self.topic = ""
        self.gender = "man"
        self.many = False
        self.named = -1

    def ranked(self, items: list) -> Choice:
        """Zipf-like: earlier items are commoner, bent by taste."""
        return Choice(
            items,
            [getattr(x, "weight", 1.0) * exp(0.4 * self.taste.gauss(0, 1)) / (i + 3) for i, x in enumerate(items)],
        )

    # A paragraph keeps its scene and its two people; a sentence keeps its topic.

    def turn_to(self, rng: Random) -> None:
        """A new paragraph: a scene and two different people."""
        self.rng = rng
        self.topics = self.scenes(rng)
        self.people = []
        while len(self.people) < 2:
            person = self.someone()
            if person not in self.people:
                self.people.append(person)
        self.named, self.gender = -1, self.people[0][1]

    def say(self, rule: str = "sentence") -> list[Tagged]:
        self.out, self.topic = [], self.rng.choice(self.topics)
        self.used.clear()
        self.expand(rule)
        return articles(self.out)

    def someone(self) -> tuple[list[Tagged], str]:
        draw = self.rng.random()
        if draw < 0.65:
            kind = "man" if self.rng.random() < 0.6 or "woman" not in self.names else "woman"
            return self.names[kind](self.rng), kind
        kind = "group" if draw > 0.88 else "man" if self.rng.random() < 0.7 else "woman"
        tag = "NNS" if kind == "group" else "NN"
        return [("the", "DT"), *((w, tag) for w in self.roles[kind](self.rng).split("_"))], kind

    # Expansion

    def expand(self, rule: str) -> None:
        for step, argument in self.rules[rule](self.rng):
            step(argument)

    def compile(self, token: str) -> tuple[Callable, Any]:
        """A token of a rule as (method, argument), so that expansion parses nothing."""
        lead, _, rest = token.partition(".")
        if token[0] == "$":
            stem = lead[1:]
            return (self._rule_of, stem) if rest == "*" else (self.expand, token[1:])
        if token[0] == "%":
            return self._list, token[1:]
        if token[0] == "@":
            return getattr(self, "_" + token[1:]), token[1:]
        if rest and hasattr(self, "_" + lead):
            return getattr(self, "_" + lead), rest
        word, slash, tag = token.rpartition("/")
        if slash and word:
            return self.out_append, (word, tag)
        return self.out_append, (token, self.lexicon.tags[token] if token not in MARKS else MARKS[token])

    def out_append(self, tagged: Tagged) -> None:
        self.out.append(tagged)

    def _rule_of(self, stem: str) -> None:
        many = self.many  # "the casks below the deck were": the head of the phrase agrees, not what follows it
        self.expand(f"{stem}.{self.topic}")
        self.many = many

    def _list(self, key: str) -> None:
        self.out += self.names[key](self.rng)

    def _verb(self, form: str, c: str) -> None:
        if c == "*":  # a verb that suits anything leaves it to the book which things are likely
            c = "any" if self.rng.random() < 0.15 else self.topic
        self.out += getattr(self.verbs[c](self.rng), form)

    def _v(self, c: str) -> None:
        self._verb("v", c)

    def _b(self, c: str) -> None:
        self._verb("b", c)

    def _p(self, c: str) -> None:
        self._verb("p", c)

    def _A(self, c: str) -> None:
        self.out.append(self.adjectives[self.topic if c == "*" else c](self.rng))

    def _P(self, c: str) -> None:
        self.out.append(self.predicates[self.topic if c == "*" else c](self.rng))

    def _O(self, c: str) -> None:
        self._pronoun("his")
        (self._ns if self.gender == "group" else self._n)(c)

    def _n(self, c: str) -> None:
        self.out.append(self.nouns[self.topic if c == "*" else c](self.rng).one)

    def _ns(self, c: str) -> None:
        self.out.append(self.nouns[self.topic if c == "*" else c](self.rng).many)

    def _phrase(self, c: str, definite: float, many: float) -> None:
        """Determiner, perhaps an adjective, noun; remembers the number for what agrees with it."""
        c, draw = self.topic if c == "*" else c, self.rng.random
        noun = self.nouns[c](self.rng)
        for _ in range(3):  # a sentence names a thing once, mostly
            if noun not in self.used:
                break
            noun = self.nouns[c](self.rng)
        self.used.add(noun)
        self.many = not noun.mass and draw() < many
        if draw() < definite:
            self.out.append(("the", "DT"))
        elif noun.mass:
            self.out.append(("some", "DT"))
        elif self.many:
            self.expand("count")
        else:
            self.out.append(("a", "DT"))
        if draw() < 0.4 and c in self.adjectives:
            self.out.append(self.adjectives[c](self.rng))
        self.out.append(noun.many if self.many else noun.one)

    def _T(self, c: str) -> None:
        self._phrase(c, 1.0, 0.25)

    def _N(self, c: str) -> None:
        self._phrase(c, 0.6, 0.3)

    def _N1(self, c: str) -> None:
        self._phrase(c, 0.0, 0.0)

    def _E(self, c: str) -> None:
        at = len(self.out)
        self._phrase(c, 0.0, 0.35)
        self.out.insert(at, ("were" if self.many else "was", "VBD"))

    def _person(self, token: str) -> None:
        """One of the paragraph's two people; a pronoun may stand for the one named last."""
        i = 0 if self.rng.random() < 0.65 else 1
        person, self.gender = self.people[i]
        if token == "person" and i == self.named and self.rng.random() < 0.45:
            self._pronoun("he")
        else:
            self.out += person
        self.named = i

    _name = _person

    def _other(self, _: str) -> None:
        self.out += self.people[1 - max(self.named, 0)][0]

    def _pronoun(self, case: str) -> None:
        self.out.append((PRONOUNS[case][self.gender], "PRP$" if case == "his" else "PRP"))

    _he = _his = _pronoun

    def _was(self, _: str) -> None:
        self.out.append(("were" if self.many else "was", "VBD"))

    def _is(self, _: str) -> None:
        self.out.append(("are", "VBP") if self.many else ("is", "VBZ"))

    def _it(self, _: str) -> None:
        particle = self.out[-1][1] == "RP"  # "set it up"
        self.out.insert(len(self.out) - particle, ("them" if self.many else "it", "PRP"))

    def _digits(self, _: str) -> None:
        self.out.append((str(self.rng.randrange(3, 400)), "CD"))

    def _year(self, _: str) -> None:
        self.out.append((str(self.rng.randrange(1780, 1900)), "CD"))


MARKS = {",": ",", ".": ".", ";": ":", ":": ":", "!": ".", "?": ".", "``": "``", "''": "''", "'s": "POS"}


def proper(name: str) -> list[Tagged]:
    """`Captain_Marsh` as tagged tokens; a small word inside (`of`, `the`) keeps its own tag."""
    small = {"of": "IN", "the": "DT", "and": "CC"}
    return [(w, small.get(w, "NNP")) for w in name.split("_")]


def articles(tokens: list[Tagged]) -> list[Tagged]:
    """`a` before a vowel is `an`."""
    for i, (word, tag) in enumerate(tokens[:-1]):
        following = tokens[i + 1][0].lower()
        if word == "a" and tag == "DT":
            vowel = following[0] in "aeiou" and not following.startswith(("one", "uni", "use"))
            if vowel or following.startswith(("hour", "honest", "heir", "honour")):
                tokens[i] = ("an", "DT")
    return tokens
