"""Ends of answers that include the marks behind a letter; the app and the page mirror it.

A tokenizer that strips accents ends a token before its last combining mark. The text of an answer would lose
the mark, such as the accent of a decomposed "Beyonce\u0301".
"""

from collections.abc import Sequence
from functools import lru_cache

from tokenizers import normalizers

FIRST_MARK = "\u0300"
ALWAYS_MARKS = "\u200d\ufe0f"  # zero width joiner and emoji style, which emoji end in
STRIP = normalizers.BertNormalizer(
    clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False
)
NFD = normalizers.NFD()


@lru_cache(maxsize=4096)
def _is_mark(character: str) -> bool:
    """Return whether stripping accents removes a character that does not decompose."""
    if character in ALWAYS_MARKS:
        return True
    return STRIP.normalize_str(character) == "" and NFD.normalize_str(character) == character


def ends_with_marks(text: str, ends: Sequence[int]) -> list[int]:
    """Return each of the ascending ends, moved over the marks that follow it in the text."""
    if text.isascii():
        return list(ends)
    moved = []
    at = 0
    for end in ends:
        at = max(at, end)  # between the end before and `at` there are only marks
        while at < len(text) and text[at] >= FIRST_MARK and _is_mark(text[at]):
            at += 1
        moved.append(at)
    return moved
