"""Hypothesis strategies for damage to bytes and JSON, and for texts that break programs."""

import json
import random

from hypothesis import strategies as st

DEEP = 3000  # levels; Python's own limit is 1,000
# JSON values where another is expected, some of which Python's writer would not write.
HOSTILE_JSON = (
    *("null", "true", "-1", "0", "1e400", "-1e400", "1e-400", str(2**70), "0.5", "NaN"),
    *('""', '"\\u0000"', '"\\ud800"', '"../../x"', '"/dev/null"', '"' + "x" * 100_000 + '"'),
    *("[]", "{}", "[[]]", '{"a": null}', "[" * DEEP + "]" * DEEP),
)
PLACEHOLDER = "\ue000placeholder\ue000"
# Controls, separators, marks and directions; half surrogate pairs; special tokens; long words.
ODD = (
    *("\x00", "\x01", "\x1b", "\x7f", "\x85", "\xad", "\u0300", "\u0489", "\u180e", "\u200b", "\u200d"),
    *("\u200e", "\u202e", "\u2028", "\u2029", "\u2066", "\ufeff", "\ufffd", "\uffff", "\ud800", "\udfff"),
    *("[CLS]", "[SEP]", "[MASK]", "[PAD]", "##", "İ", "ß", "ﷺ", "👩‍👩‍👧‍👦", "\r", "\r\n", "\t", "\v"),
    *("e\u0301" * 40, "a" * 300, "ー" * 120),
)


def damaged_bytes(raw):
    """Bytes with bits flipped, or a run zeroed, cut out, doubled, set or made of noise; or cut short."""
    places = st.integers(0, len(raw) - 1)

    def flip(bits):
        changed = bytearray(raw)
        for place, bit in bits:
            changed[place] ^= 1 << bit
        return bytes(changed)

    def replace(at, length, how, seed):
        part = raw[at : at + length]
        n = len(part)
        noise = random.Random(seed).randbytes(n)
        middle = {"zero": bytes(n), "cut": b"", "double": 2 * part, "noise": noise, "set": b"\xff" * n}[how]
        return raw[:at] + middle + raw[at + n :]

    how = st.sampled_from(("zero", "cut", "double", "noise", "set"))
    lengths = st.sampled_from((1, 4, 64, 4096))
    return st.one_of(
        st.lists(st.tuples(places, st.integers(0, 7)), min_size=1, max_size=30).map(flip),
        st.builds(replace, places, lengths, how, st.integers(0, 2**32)),
        places.map(lambda at: raw[:at]),
    )


@st.composite
def damaged_json(draw, raw):
    """JSON in which one value, key or element is hostile, missing or doubled."""
    tree = json.loads(raw)
    places = [(None, None)]
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        places += [(node, key) for key in keys]
        waiting += [node[key] for key in keys]
    parent, key = draw(st.sampled_from(places))
    hostile = draw(st.sampled_from(HOSTILE_JSON))
    if parent is None:
        return hostile.encode()
    how = draw(st.sampled_from(("replace", "replace", "delete", "double")))
    if how == "delete":
        del parent[key]
    elif how == "double" and isinstance(parent, list):
        parent.insert(key, parent[key])
    else:
        parent[key] = PLACEHOLDER
    return json.dumps(tree).replace(json.dumps(PLACEHOLDER), hostile).encode()


def damaged(raw):
    """JSON damaged as JSON or as bytes."""
    return damaged_json(raw) | damaged_bytes(raw)


def odd_texts(words, longest):
    """Words, characters of every script and half characters, of up to `longest` characters."""
    characters = st.text(st.characters(exclude_categories=()), max_size=12)
    parts = st.lists(st.sampled_from(words) | characters | st.sampled_from(ODD), max_size=60)
    return st.builds(
        lambda parts, separator, times: (separator.join(parts) * times)[:longest],
        parts,
        st.sampled_from((" ", "", "\n")),
        st.sampled_from((1, 1, 1, 10, 1000)),
    )
