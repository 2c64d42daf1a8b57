"""Reads a lexicon file: tagged words, inflected nouns and verbs by class, and the rules that put them in order.

One entry per line, `kind name: items`. The kinds:
  tag DT: the a        Penn tag of literal words in rules (elsewhere `word/TAG` says it)
  noun lamp: lamp …    a class of nouns; `ox/oxen` irregular plural, `rum~` has none;
                       `light!` is commoner than its place in the list says
  verb lamp: snuff …   verbs that take that class as object; `ride_out` has a particle
  adj lamp: = thing dim        adjectives of the class; `= thing` includes another list
  rule name: a b | c d *3      alternatives, `*3` a weight; `at lamp:` is the rule `at.lamp`
  scene night: lamp street     classes a paragraph speaks of
  man, woman, group: …         people by their calling
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

FOLDER = Path(__file__).parent / "lexicon"
Tagged = tuple[str, str]  # word, Penn tag


def plural(noun: str) -> str:
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + "ed"


class Noun:
    """`one` and `many` are tagged forms; a mass noun has no `many`."""

    def __init__(self, entry: str):
        self.weight = 2.5 if entry.endswith("!") else 1.0
        entry = entry.rstrip("!")
        self.mass = entry.endswith("~")
        one, _, many = entry.rstrip("~").partition("/")
        self.one: Tagged = (one, "NN")
        self.many: Tagged = self.one if self.mass else (many or plural(one), "NNS")


class Verb:
    """Tagged forms by letter: `b` base, `v` past, `p` participle; each a tuple that ends in the particle."""

    def __init__(self, entry: str):
        self.weight = 2.5 if entry.endswith("!") else 1.0
        head, _, particle = entry.rstrip("!").partition("_")
        forms = head.split("/")
        base = forms[0]
        simple = forms[1] if len(forms) > 1 else past(base)
        participle = forms[2] if len(forms) > 2 else simple
        tail = ((particle, "RP"),) if particle else ()
        self.b = ((base, "VB"), *tail)
        self.v = ((simple, "VBD"), *tail)
        self.p = ((participle, "VBN"), *tail)


class Lexicon:
    """The union of several files; a later file adds to an earlier one, and replaces its rules of the same name."""

    def __init__(self, *names: str):
        self.tags: dict[str, str] = {}
        self.nouns: dict[str, list[Noun]] = {}
        self.verbs: dict[str, list[Verb]] = {}
        self.adjectives: dict[str, list[str]] = {}
        self.predicates: dict[str, list[str]] = {}  # without the included: "was dim", not "was second"
        self.rules: dict[str, list[tuple[float, list[str]]]] = {}
        self.scenes: dict[str, list[str]] = {}
        self.people: dict[str, list[str]] = defaultdict(list)
        for name in names:
            rules: dict[str, list[tuple[float, list[str]]]] = defaultdict(list)
            for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
                if line and not line.startswith("#"):
                    head, _, body = line.partition(":")
                    self._entry(*head.partition(" ")[::2], body, rules)
            self.rules.update(rules)

    def _entry(self, kind: str, name: str, body: str, rules: dict) -> None:
        items = body.split()
        if kind == "tag":
            self.tags.update(dict.fromkeys(items, name))
        elif kind == "noun":
            self.nouns[name] = [Noun(item) for item in items]
        elif kind == "verb":
            self.verbs[name] = [Verb(item) for item in items]
        elif kind == "adj":
            own = items[2:] if items[0] == "=" else items
            self.predicates[name] = own
            self.adjectives[name] = own + self.adjectives[items[1]] if items[0] == "=" else own
        elif kind == "scene":
            self.scenes[name] = items
        elif kind in ("man", "woman", "group"):
            self.people[kind] = items
        elif kind in ("rule", "at"):
            rules[name if kind == "rule" else f"at.{name}"] += [alternative(a) for a in body.split("|")]
        else:
            raise ValueError(f"unknown kind of lexicon entry: {kind!r}")


def alternative(text: str) -> tuple[float, list[str]]:
    tokens = text.split()
    if tokens and tokens[-1].startswith("*") and tokens[-1][1:].isdigit():
        return float(tokens[-1][1:]), tokens[:-1]
    return 1.0, tokens
