"""Texts of users and strangers, made fit for a terminal."""

import re
import unicodedata


def on_one_line(text: str) -> str:
    """Join the lines of a text; remove characters that control a terminal or its direction."""
    return "".join(c for c in re.sub(r"\s+", " ", text) if c.isprintable() or _belongs_to_text(c))


def _belongs_to_text(character: str) -> bool:
    """Return True for joiners in words and emoji, and for characters that Python's Unicode does not know."""
    return character in "\u200c\u200d" or unicodedata.category(character) == "Cn"
