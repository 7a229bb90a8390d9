"""Seeded damage: to bytes, to JSON, and texts that break programs."""

import json
import random
from typing import Any

DEEP = 3000  # levels; Python's own limit is 1,000
# What JSON can hold where something else is expected. Strings stand for JSON that Python's writer would not
# write.
HOSTILE_JSON = (
    "null",
    "true",
    "-1",
    "0",
    "1e400",
    "-1e400",
    "1e-400",
    str(2**70),
    "0.5",
    '""',
    '"\\u0000"',
    '"\\ud800"',
    '"../../x"',
    '"/dev/null"',
    "[]",
    "{}",
    "[[]]",
    '{"a": null}',
    "NaN",
    '"' + "x" * 100_000 + '"',
    "[" * DEEP + "]" * DEEP,
)
PLACEHOLDER = "\ue000placeholder\ue000"
# First and last code points of some blocks and planes: Latin, Greek, Hebrew, Arabic, Devanagari, Thai,
# Hangul, Kana, CJK, private use, presentation forms, every later plane with something in it, tags and
# variation selectors, the last plane.
BLOCKS = (
    (0x20, 0x7E),
    (0xA0, 0x24F),
    (0x370, 0x3FF),
    (0x590, 0x5FF),
    (0x600, 0x6FF),
    (0x900, 0x97F),
    (0xE00, 0xE7F),
    (0x1100, 0x11FF),
    (0x3040, 0x30FF),
    (0x4E00, 0x9FFF),
    (0xE000, 0xE0FF),
    (0xFB00, 0xFDFF),
    (0x10000, 0x103FF),
    (0x1F300, 0x1FAFF),
    (0x20000, 0x2A6DF),
    (0x30000, 0x3134F),
    (0xE0000, 0xE01EF),
    (0xF0000, 0xF00FF),
    (0x10FF00, 0x10FFFF),
)
# Controls, separators, marks and directions; half surrogate pairs; what tokenizers treat in a way of its own.
ODD = (
    "\x00",
    "\x01",
    "\x1b",
    "\x7f",
    "\x85",
    "\xad",
    "\u0300",
    "\u0489",
    "\u180e",
    "\u200b",
    "\u200d",
    "\u200e",
    "\u202e",
    "\u2028",
    "\u2029",
    "\u2066",
    "\ufeff",
    "\ufffd",
    "\uffff",
    "\ud800",
    "\udfff",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "[PAD]",
    "##",
    "İ",
    "ß",
    "ﷺ",
    "👩‍👩‍👧‍👦",
    "\r",
    "\r\n",
    "\t",
    "\v",
    "e\u0301" * 40,
    "a" * 300,
    "ー" * 120,
)


def damaged_bytes(raw: bytes, rng: random.Random) -> bytes:
    """One of: bits flipped, a run zeroed, cut, cut out, doubled, made of noise, or emptied."""
    how = rng.randrange(8)
    at = rng.randrange(max(1, len(raw)))
    length = min(len(raw) - at, rng.choice((1, 4, 64, 4096)))
    if how <= 1:
        changed = bytearray(raw)
        for place in (rng.randrange(len(raw)) for _ in range(rng.choice((1, 3, 30)))):
            changed[place] ^= 1 << rng.randrange(8)
        return bytes(changed)
    middle = {
        2: bytes(length),
        3: b"",
        4: raw[at : at + length] * 2,
        5: rng.randbytes(length),
        6: b"\xff" * length,
    }
    if how == 7:
        return raw[: rng.choice((0, 1, at))]
    return raw[:at] + middle[how] + raw[at + length :]


def damaged_json(raw: bytes, rng: random.Random) -> bytes:
    """JSON in which one value, key or element somewhere is hostile, missing or twice."""
    tree = json.loads(raw)
    parents = [(None, None), *_places(tree)]
    parent, key = rng.choice(parents)
    hostile = rng.choice(HOSTILE_JSON)
    if parent is None:
        return hostile.encode()
    how = rng.randrange(4)
    if how == 0:
        del parent[key]
    elif how == 1 and isinstance(parent, list):
        parent.insert(key, parent[key])
    else:
        parent[key] = PLACEHOLDER
    return json.dumps(tree).replace(json.dumps(PLACEHOLDER), hostile).encode()


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """(container, key or index) of every value below the root."""
    found = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        found += [(node, key) for key in keys]
        waiting += [node[key] for key in keys]
    return found


def odd_text(rng: random.Random, words: list[str], longest: int) -> str:
    """Words, characters of every block, and odd ones, of up to `longest` characters; now and then nothing, or
    blanks alone."""
    kind = rng.randrange(12)
    if kind <= 1:
        return rng.choice(("", " ", "\n\n", "\u3000", "\x00", "."))
    block = rng.choice(BLOCKS)
    parts = []
    n = 0
    wanted = int(longest ** rng.random())
    while n < wanted:
        pick = rng.randrange(10)
        if pick < 5:
            part = rng.choice(words)
        elif pick < 8:
            part = "".join(chr(rng.randint(*block)) for _ in range(rng.randrange(1, 12)))
        else:
            part = rng.choice(ODD)
        parts.append(part)
        n += len(part) + 1
    return rng.choice((" ", "", "\n")).join(parts)
