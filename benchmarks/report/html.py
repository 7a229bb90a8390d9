"""Text in HTML, and figures with their intervals as people read them."""

import unicodedata
from html import escape

# Drawn out of a page these turn the text after them around, or are no characters at all.
_INVISIBLE = {"Cc", "Cs"}
_BIDI_CONTROLS = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def text(value: object) -> str:
    """A value as the text of an element or of an attribute: markup escaped, control characters as U+FFFD."""
    return escape("".join(map(_visible, str(value))))


def _visible(character: str) -> str:
    if character in "\n\t":
        return character
    hidden = unicodedata.category(character) in _INVISIBLE or character in _BIDI_CONTROLS
    return "\ufffd" if hidden else character


def plural(n: int, what: str) -> str:
    """1 thread, 2 threads, 10,570 questions."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def definitions(facts: list[tuple[str, str]]) -> str:
    """Names and values as a list of definitions."""
    return f"<dl>{''.join(f'<dt>{text(name)}</dt><dd>{text(value)}</dd>' for name, value in facts)}</dl>"
