"""Generated strings over all of Unicode that are hard on tokenizers, to compare two implementations."""

import random
from functools import cache
from itertools import cycle, islice

from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad

Ranges = tuple[tuple[int, int], ...]


def _ranges(text: str) -> Ranges:
    """Parse ranges of code points like "0041-005A 0061": hexadecimal, inclusive."""
    pairs = (part.partition("-") for part in text.split())
    return tuple((int(first, 16), int(last or first, 16)) for first, _, last in pairs)


# Scripts and symbols where cleaning, decomposition, marks or case do something, from all ages of Unicode.
BLOCKS = _ranges(
    """
    0080-00FF 0100-024F 0250-02FF 0370-03FF 0400-052F 0530-058F 0590-05FF 0600-06FF 0700-074F 07C0-085F 0860-08FF 0900-097F
    0980-09FF 0A00-0A7F 0B80-0BFF 0C00-0CFF 0D00-0DFF 0E00-0EFF 0F00-0FFF 1000-109F 10A0-10FF 1200-137F 13A0-13FF 1680-177F
    1780-18AF 1900-1AFF 1B00-1C8F 1C90-1DFF 1E00-1EFF 1F00-1FFF 2000-206F 2070-20FF 2100-218F 2190-23FF 2460-24FF 2C00-2DFF
    2E00-2E7F 3000-303F 3040-30FF 31F0-33FF A640-A69F A720-A7FF A800-AAFF AB30-ABFF FB00-FB4F FB50-FDFF FE00-FE6F FE70-FEFF
    FF00-FFFF 10140-102FF 10330-104FF 10570-105BF 10800-10AFF 10C80-10D8F 10EC0-110CF 11100-1145F 11480-1173F 118A0-11A9F
    13430-1345F 16E40-16FFF 1D100-1D24F 1D400-1D7FF 1E000-1E2FF 1E800-1E95F E0000-E01FF
    """
)
# Marks of all combining classes in use, and some that newer versions of Unicode added.
MARKS = _ranges(
    """
    0300-036F 0334-0338 0345 0483-0489 0591-05BD 05BF-05C7 0610-061A 064B-065F 0670 06D6-06ED 0711 0730-074A 0816-082D
    0859-085B 0897-089F 08CA-0903 093C-094D 0951-0954 09BC 0C4D-0C56 0DCA-0DDF 0E38-0E3A 0E48-0E4B 0EB8-0ECD 0F18-0F19
    0F35-0F39 0F71-0F84 1037-103A 135D-135F 17D2-17DD 18A9 1A17-1A18 1A60-1A7F 1AB0-1ACE 1B34-1B44 1CD0-1CF4 1DC0-1DFF
    200C-200D 20D0-20F0 302A-302F 3099-309A A66F-A67D A8E0-A8F1 FB1E FE20-FE2F 101FD 10A0D-10A3F 10F46-10F50 11046 110B9-110BA
    11100-11102 11A34-11A47 16AF0-16AF4 16FF0-16FF1 1BC9E 1D165-1D182 1D185-1D18B 1E000-1E02A 1E8D0-1E8D6 1E944-1E94A
    """
)
COMPOSED = _ranges(
    """
    00C0-017F 01CD-0233 0340-0344 1E00-1EFF 1F00-1FFF 0958-095F 09DC-09DF 0F73-0F81 FB1D-FB4E 1D15E-1D164 1D1BB-1D1C0
    212A-212B
    """
)
HANGUL = _ranges("1100-11FF A960-A97C AC00-D7A3 AC00-D7A3 D7B0-D7FB")
SPACES = _ranges("0009-000D 001C-0020 0020 0085 00A0 1680 180E 2000-200B 2028-2029 202F 205F-2060 3000 FEFF")
REMOVED = _ranges(
    """
    0000-0008 000E-001F 007F-009F 00AD 0600-0605 200B-200F 2060-206F E000-E0FF FFF9-FFFD 1D173-1D17A E0020-E007F 10FF00-10FFFF
    """
)
PUNCTUATION = _ranges(
    """
    0021-002F 003A-0040 005B-0060 007B-007E 00A1-00BF 037E-0387 055A-058A 05BE-05F4 0609-061F 0964-0970 09FD-0A76 166D-169C
    1734-1736 1B4E-1B7F 2010-2027 2030-205E 207D-208E 2308-232A 2768-2775 27E6-27EF 2CF9-2CFF 2E00-2E5D 3001-3011 3014-301F
    A60D-A60F FE10-FE6B FF01-FF20 FF3B-FF65 10100-10102 10EAD 111C5-111CD 11FFF 1E95E-1E95F
    """
)
# With their edges: what stands just outside of the ranges that get spaces.
IDEOGRAPHS = _ranges(
    """
    33FE-3401 3400-4DC0 4E00-9FFF 4E00-9FFF F900-FAFF F900-FAFF 20000-2A6DF 2A6E0-2A702 2A700-2B81F 2B820-2B921 2B920-2CEB1
    2F800-2FA1F 2F800-2FA1F 30000-30010 3007 3021-3029
    """
)
EMOJI = _ranges(
    "1F300-1FAFF 1F3FB-1F3FF 1F1E6-1F1FF 2600-27BF 200D 200D FE00-FE0F FE0F 20E3 E0100-E01EF 0030-0039"
)
SPECIAL = (
    "[SEP]",
    "[CLS]",
    "[UNK]",
    "[PAD]",
    "[MASK]",
    "[sep]",
    "[SEP",
    "SEP]",
    "[[SEP]]",
    "[unused1]",
    "##ing",
    "ing",
    "##",
)
# İ, ı and ς lose or keep dots and ends by language; the others change their length or their number.
CASING = "IiİıI\u0307ΣσςΑΣ ΟΔΟΣßẞŉǰΐΰﬁﬃǅǄᾳᾼὈᾈ\u2126\u212a\u212bℵⅧⅷⒶⓐ\U00010400\U00010428\u13a0\uab70\u10a0\u2d00\u1c90\ua64a"
LONG_WORD_LETTERS = (
    "a",
    "abcdef",
    "\U00010428\U0001d4d0",
    "éèàñ",
    "각가힣",
    "\u0958क",
    "e\u0301",
    "İI",
    "ΣΑ",
    "a\u00adb",
    "##",
)


def _any(rng: random.Random) -> str:
    """Choose one code point of all, without surrogates."""
    c = rng.randrange(0x110000 - 0x800)
    return chr(c if c < 0xD800 else c + 0x800)


def _some(rng: random.Random, ranges: Ranges, least: int, most: int) -> str:
    """Choose a few code points; every range is as likely as the others, so short ranges occur too."""
    return "".join([chr(rng.randint(*pair)) for pair in rng.choices(ranges, k=rng.randint(least, most))])


@cache
def _words() -> list[str]:
    """Return English words of real passages, with their punctuation."""
    contexts = dict.fromkeys(example.context for example in read_squad(resolve(EMBEDDED, "dev")))
    return " ".join(contexts).split()


def _word(rng: random.Random) -> str:
    return rng.choice(_words())


def _uniform(rng: random.Random) -> str:
    return "".join([_any(rng) for _ in range(rng.randint(0, 40))])


def _one_block(rng: random.Random) -> str:
    block = (rng.choice(BLOCKS),)
    parts = [_word(rng) if rng.random() < 0.4 else _some(rng, block, 1, 8) for _ in range(rng.randint(1, 8))]
    return rng.choice((" ", " ", "")).join(parts)


def _marks(rng: random.Random) -> str:
    text = ""
    for _ in range(rng.randint(1, 8)):
        composed = _some(rng, COMPOSED, 1, 2)
        hangul = _some(rng, HANGUL, 1, 3)
        other = _some(rng, BLOCKS, 1, 1)
        text += rng.choice(("", rng.choice("aeiouxnAEO "), composed, hangul, other)) + _some(rng, MARKS, 0, 5)
        if rng.random() < 0.2:
            text += _some(rng, REMOVED, 1, 1) + _some(rng, MARKS, 1, 2)
    return text


def _spaces(rng: random.Random) -> str:
    parts = [_some(rng, rng.choice((SPACES, REMOVED)), 0, 4) + _word(rng) for _ in range(rng.randint(1, 5))]
    return "".join(parts) + _some(rng, SPACES, 0, 3)


def _punctuation(rng: random.Random) -> str:
    return "".join(
        [_some(rng, PUNCTUATION, 1, 6) + rng.choice(("", " ", _word(rng))) for _ in range(rng.randint(1, 6))]
    )


def _ideographs(rng: random.Random) -> str:
    followers = ("", "か", "\u0301", _word(rng))
    return "".join([_some(rng, IDEOGRAPHS, 1, 5) + rng.choice(followers) for _ in range(rng.randint(1, 6))])


def _emoji(rng: random.Random) -> str:
    return "".join(
        [_some(rng, EMOJI, 1, 8) + rng.choice(("", " ", _word(rng))) for _ in range(rng.randint(1, 5))]
    )


def _long_word(rng: random.Random) -> str:
    """Make a word around WordPiece's limit of 100 code points.

    Normalization gives some of these words more or fewer code points.
    """
    letters = rng.choice(LONG_WORD_LETTERS)
    n = rng.randint(90, 210) // rng.choice((1, 1, 1, 2, 3))
    word = (letters * n)[:n] if rng.random() < 0.5 else "".join(rng.choices(letters, k=n))
    return rng.choice(("", "see ")) + word + rng.choice(("", " .", "!", " end"))


def _special(rng: random.Random) -> str:
    parts = [rng.choice(SPECIAL) if rng.random() < 0.6 else _word(rng) for _ in range(rng.randint(1, 8))]
    return rng.choice((" ", "", "\u200b")).join(parts)


def _casing(rng: random.Random) -> str:
    return "".join(rng.choices(CASING + "aZ '", k=rng.randint(1, 20)))


def _disturbed(rng: random.Random) -> str:
    """Take a few real words and insert other characters."""
    first = rng.randrange(len(_words()))
    text = list(" ".join(_words()[first : first + rng.randint(1, 12)]))
    for _ in range(rng.randint(1, 4)):
        strange = rng.choice(
            (_any(rng), _some(rng, rng.choice((BLOCKS, MARKS, SPACES, REMOVED, PUNCTUATION, COMPOSED)), 1, 2))
        )
        text.insert(rng.randint(0, len(text)), strange)
    return "".join(text)


def _mixed(rng: random.Random) -> str:
    return "".join([make(rng)[: rng.randint(1, 20)] for make in rng.choices(MAKERS, k=rng.randint(2, 4))])


MAKERS = (
    _uniform,
    _one_block,
    _marks,
    _spaces,
    _punctuation,
    _ideographs,
    _emoji,
    _long_word,
    _special,
    _casing,
    _disturbed,
)


def generated_texts(n: int, seed: int) -> list[str]:
    """Generate `n` strings of every kind in turn, without surrogates.

    The same seed gives the same strings; 100,000 take 2 seconds.
    """
    rng = random.Random(seed)
    return [make(rng) for make in islice(cycle((*MAKERS, _mixed)), n)]
