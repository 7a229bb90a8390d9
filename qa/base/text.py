"""Texts of users and strangers, made fit for a terminal and for Markdown."""

import html
import re
import unicodedata


def on_one_line(text: str) -> str:
    """Join the lines of a text; remove characters that control a terminal or its direction."""
    return "".join(c for c in re.sub(r"\s+", " ", text) if c.isprintable() or _belongs_to_text(c))


def in_markdown(text: object) -> str:
    """Return a text on one line that adds no HTML, table cell, heading or code span to a Markdown file."""
    return html.escape(on_one_line(str(text)).strip(), quote=False).replace("|", "\\|").replace("`", "'")


def in_code(text: str) -> str:
    """Return a text to stand in a code span of Markdown, in a table too."""
    return on_one_line(text).replace("|", "\\|").replace("`", "'")


def in_quotes(text: str) -> str:
    """Return a text to stand in a string of Python or JavaScript, in quotation marks of either kind."""
    return re.sub(r"""(["'\\])""", r"\\\1", on_one_line(text))


def _belongs_to_text(character: str) -> bool:
    """Return True for joiners in words and emoji, and for characters that Python's Unicode does not know."""
    return character in "\u200c\u200d" or unicodedata.category(character) == "Cn"
