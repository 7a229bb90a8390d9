"""Tables of the tokenizer's treatment of each code point, which a program in another language can follow.

The library has three Unicode tables of different ages, and no Java or Android version has the same. So we ask
the library, code point by code point, and the answers travel with the model (characters.json).
"""

import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import Any

import tokenizers
from tokenizers import normalizers, pre_tokenizers

from qa.base.errors import UnsupportedExport

LAST_CODE_POINT = 0x10FFFF
SURROGATES = range(0xD800, 0xE000)
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)
# Stands between the code points we ask about: no step changes it or makes one, and no mark passes it.
SEPARATOR = "!"
LETTER = "a"  # the same for the splitter, which parts words at a "!"


@cache
def character_tables() -> dict[str, Any]:
    """Every table, found by asking the installed tokenizers library about all 1,112,064 code points (3
    seconds).

    A range is [first, last], inclusive; lists ascend; what is not named stays as it is. In the order of
    BertNormalizer's steps: `removed` are dropped by clean_text and `spaces` become U+0020; `ideographs` get a
    space on either side from handle_chinese_chars; strip_accents first decomposes: `decompositions` are [code
    point, its full NFD ...] (without Hangul syllables, which Unicode decomposes by arithmetic), sorts marks
    by `combining` [first, last, canonical combining class], and drops `marks`; `lowercase` are [code point,
    lower-case code points ...], whatever stands around it. Then BertPreTokenizer splits at `whitespace`,
    which vanishes, and at `punctuation`, each a word of its own. `combining` and `marks` leave out what
    decomposes, for no such code point is left when they are needed.
    """
    every = "".join(chr(c) for c in range(LAST_CODE_POINT + 1) if c not in SURROGATES)
    cleaned = _normalized(every, clean_text=True)
    spaced = _normalized(every, handle_chinese_chars=True)
    decomposed = _changed(normalizers.NFD(), every)
    whole = "".join(c for c in every if c not in decomposed)
    stripped = _normalized(whole, strip_accents=True)
    whitespace, punctuation = _splits(every)
    return {
        "tokenizers": tokenizers.__version__,
        "removed": _ranges(c for c, seen in cleaned.items() if seen == ""),
        "spaces": _ranges(c for c, seen in cleaned.items() if seen == " "),
        "ideographs": _ranges(c for c, seen in spaced.items() if seen == f" {c} "),
        "decompositions": _mapping({c: d for c, d in decomposed.items() if ord(c) not in HANGUL_SYLLABLES}),
        "combining": _class_ranges(_combining_classes(whole)),
        "marks": _ranges(c for c, seen in stripped.items() if seen == ""),
        "lowercase": _mapping(_normalized(every, lowercase=True)),
        "whitespace": _ranges(whitespace),
        "punctuation": _ranges(punctuation),
    }


def _normalized(characters: str, **switch: bool) -> dict[str, str]:
    """Return each character that BertNormalizer with one switch on changes, with its replacement."""
    off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return _changed(normalizers.BertNormalizer(**{**off, **switch}), characters)


def _changed(normalizer: Any, characters: str) -> dict[str, str]:
    """Return each character that a normalizer changes, with its replacement.

    All are asked in one string: a million calls take longer.
    """
    asked = characters.replace(SEPARATOR, "")
    seen = normalizer.normalize_str(SEPARATOR.join(asked)).split(SEPARATOR)
    return {c: part for c, part in zip(asked, seen, strict=True) if part != c}


def _splits(characters: str) -> tuple[list[str], list[str]]:
    """Return the characters that BertPreTokenizer drops, and those that it makes words of their own."""
    text = LETTER + LETTER.join(characters) + LETTER
    pieces = [offsets for _, offsets in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]
    # A character is at an odd place. The text begins and ends with a letter, so what was dropped stands
    # between two pieces.
    alone = [text[start] for start, end in pieces if end - start == 1 and start % 2]
    dropped = [text[end] for (_, end), (start, _) in pairwise(pieces) if end < start]
    return dropped, alone


def _combining_classes(characters: str) -> dict[str, int]:
    """Return the canonical combining class of each character that NFD moves; none of `characters` may
    decompose.

    NFD swaps two neighbours when the first has the higher class, so each character is put beside a mark of
    the least and of the greatest class. The classes themselves are Python's: Unicode never changes one, while
    the library may know fewer marks.
    """
    # marks of the classes 1 and 240, the least and the greatest in use
    low = "\u0334"
    high = "\u0345"
    asked = SEPARATOR.join(f"{c}{low}{high}{c}" for c in characters if c != SEPARATOR)
    seen = normalizers.NFD().normalize_str(asked)
    movable = [asked[i] for i in range(0, len(asked), 5) if asked[i : i + 4] != seen[i : i + 4]]
    classes = {c: unicodedata.combining(c) for c in movable}
    if not all(classes.values()):
        raise UnsupportedExport(
            "this Python knows less of Unicode than its tokenizers do; take a newer Python"
        )
    return classes


def _ranges(characters: Iterable[str]) -> list[list[int]]:
    """Return ascending characters as inclusive ranges of code points."""
    ranges: list[list[int]] = []
    for c in map(ord, characters):
        if ranges and c == ranges[-1][1] + 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    return ranges


def _class_ranges(classes: dict[str, int]) -> list[list[int]]:
    """Return ranges of neighbours that share a class, each with the class."""
    return sorted(
        [*pair, n] for n in set(classes.values()) for pair in _ranges(c for c in classes if classes[c] == n)
    )


def _mapping(changed: dict[str, str]) -> list[list[int]]:
    """Return [code point, replacement ...] for each character."""
    return [[ord(c), *map(ord, seen)] for c, seen in changed.items()]
