"""The one exception that reaches a user as a single line."""

from typing import Any

SHOWN = 200  # letters of the beginning and of the end of what a file says


class AtdError(Exception):
    """A problem the user can mend: the message is one line that names the file or key and the fix."""

    def __str__(self) -> str:
        return " ".join(super().__str__().splitlines())  # a name in it may hold a line break


def reason_of(error: BaseException, most: int = 120) -> str:
    """The first line of what an error says, for a message that has one line."""
    return next((line[:most] for line in str(error).splitlines() if line.strip()), type(error).__name__)


def one_line(thing: Any, most: int = 1000) -> str:
    """Its text without line breaks, cut where nobody would read on."""
    text = " ".join(str(thing).split())
    return text if len(text) <= most else f"{text[:most]}…"


def printable(text: str) -> str:
    """On one line: what cannot be shown is escaped, and a text that is too long loses its middle."""
    return shortened("".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in shortened(text)))


def shortened(text: str) -> str:
    return text if len(text) <= 2 * SHOWN else f"{text[:SHOWN]} … {text[-SHOWN:]}"
