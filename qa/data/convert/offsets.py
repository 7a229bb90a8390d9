"""Place of an answer: at its offset, or at its only place, or at its offset in another counting.

Tools count characters otherwise than Python: JavaScript in UTF-16 units, others in bytes, or without the
carriage returns. A counting is trusted only where every offset of the file fits in it.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

from qa.data.convert.cells import Unusable

POINTS = set(".,．，٫٬")  # within numbers, by language
SPACES = set("'’\u00a0\u2009\u202f")  # between groups of three digits
THREE_DIGITS = re.compile(r"\d{3}(?!\d)")
# Vowels and final consonants of Hangul, which stand behind others in one syllable where a text is in NFD.
JAMO_WITHIN = re.compile("[\u1160-\u11ff\ud7b0-\ud7ff]")
# How many units a character has in each counting.
COUNTINGS: dict[str, Callable[[str], int]] = {
    "UTF-16 units": lambda c: 1 + (c > "\uffff"),
    "bytes of UTF-8": lambda c: len(c.encode()),
    "characters without carriage returns": lambda c: int(c != "\r"),
    "line ends as two characters": lambda c: 1 + (c == "\n"),
}
Given = tuple[str, str, int]
"""An answer's context, its text, and its start."""
Counting = tuple[str, Callable[[str, int], int]]
"""A way to count: its name, and what gives the character of a context at an offset."""


def stands_at(context: str, text: str, start: int) -> bool:
    """Return whether the text, with or without the white space around it, begins at this character."""
    return start >= 0 and (context.startswith(text, start) or context.startswith(text.strip(), start))


def common_counting(given: Sequence[Given]) -> Counting | None:
    """Return the only counting in which all offsets of a file fit.

    None where all fit as they are, or no counting is certain. A constant shift is a counting too, for two
    answers or more.
    """
    if all(stands_at(*one) for one in given):
        return None
    candidates: list[Counting] = [(name, _reader(width)) for name, width in COUNTINGS.items()]
    shift = _common_shift(given)
    if shift is not None:
        candidates.append((f"characters from {-shift}", lambda _, start: start + shift))
    found: dict[tuple[int, ...], Counting] = {}
    for name, read in candidates:
        if all(stands_at(context, text, read(context, start)) for context, text, start in given):
            found.setdefault(tuple(read(context, start) for context, _, start in given), (name, read))
    return next(iter(found.values())) if len(found) == 1 else None


def _reader(width: Callable[[str], int]) -> Callable[[str, int], int]:
    @lru_cache(maxsize=16)  # questions of one context follow each other
    def places(context: str) -> list[int]:
        found = []
        for place, character in enumerate(context):
            n = width(character)
            found += [place, *[-1] * (n - 1)] if n else []
        return found

    return lambda context, start: places(context)[start] if start < len(places(context)) else -1


def _common_shift(given: Sequence[Given]) -> int | None:
    """Return the only shift that puts every answer at one of its occurrences."""
    common: set[int] | None = None
    for context, text, start in dict.fromkeys(given):
        shifts = {place - start for place in occurrences(context, text.strip())}
        common = shifts if common is None else common & shifts
        if not common:
            return None
    return common.pop() if common and len(common) == 1 and len(set(given)) > 1 else None


def occurrences(context: str, text: str) -> list[int]:
    """Return every place of a text that is not empty."""
    found = []
    place = context.find(text)
    while place >= 0:
        found.append(place)
        place = context.find(text, place + 1)
    return found


def first_place(context: str, text: str) -> int:
    """Return the first place of a text, if there is one outside of longer words; else raise Unusable."""
    places = occurrences(context, text)
    whole = [place for place in places if not is_inside_word(context, text, place)]
    return (whole or [only_place(context, text, None)])[0]


def only_place(context: str, text: str, start: int | None) -> int:
    """Return the place of a text that occurs once, and not inside a longer word.

    Raises Unusable for another text; its reason says whether there was a start, which is wrong then.
    """
    reason = (
        "answer {}; give answer_start"
        if start is None
        else "answer is not at its answer_start, and {}; correct it"
    )
    place = context.find(text)
    if place < 0 and _as_seen(text) in _as_seen(context):
        raise Unusable(
            "answer has other characters than its context, which look alike; copy it from there", text
        )
    if place < 0:
        raise Unusable("answer does not occur in its context", text)
    if context.find(text, place + 1) >= 0:
        raise Unusable(reason.format("occurs several times"), text)
    if is_inside_word(context, text, place):
        raise Unusable(reason.format("occurs only inside a longer word"), text)
    return place


def _as_seen(text: str) -> str:
    """Return a text in NFC, with a plain space for each white space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def is_inside_word(context: str, text: str, place: int) -> bool:
    """Return whether a longer word or number has the text at this place."""
    end = place + len(text)
    return _go_on(context[max(0, place - 2) : place], text) or _go_on(text, context[end : end + 5])


def _go_on(left: str, right: str) -> bool:
    """Return whether one word or number goes on from the left text to the right one."""
    before, after = left[-1:], right[:1]
    if (_is_word(before) and _is_word(after)) or (after and unicodedata.category(after).startswith("M")):
        return True
    if JAMO_WITHIN.match(after):
        return True
    point_before = left[-2:-1].isdigit() and _goes_on_behind(before, right)
    point_after = before.isdigit() and _goes_on_behind(after, right[1:])
    return point_before or point_after


def _goes_on_behind(mark: str, text: str) -> bool:
    """Return whether a number goes on behind a mark: with any digits, or with three behind a space."""
    return bool(mark) and (
        (mark in POINTS and text[:1].isdigit()) or (mark in SPACES and THREE_DIGITS.match(text) is not None)
    )


def _is_word(character: str) -> bool:
    """Return whether it is a digit, or a letter of a script with cases, whose words have spaces."""
    return character.isdigit() or character.lower() != character.upper()
