"""Text in HTML, and figures with their intervals as people read them."""

from html import escape


def text(value: object) -> str:
    """A value as the text of an element or of an attribute, markup escaped."""
    return escape(str(value))


def plural(n: int, what: str) -> str:
    """1 thread, 2 threads, 10,570 questions."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def definitions(facts: list[tuple[str, str]]) -> str:
    """Names and values as a list of definitions."""
    return f"<dl>{''.join(f'<dt>{text(name)}</dt><dd>{text(value)}</dd>' for name, value in facts)}</dl>"
