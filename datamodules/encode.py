"""Tokens to ids, as the library makes them."""

from atd.encoding import count_vocabulary, encode, ids

__all__ = ["count_vocabulary", "encode", "ids"]
