"""The tokenizer's Unicode tables: followed step by step, they give what the real tokenizer gives."""

import json
import random
from bisect import bisect_right

import msgspec
import pytest
from tokenizers import normalizers, pre_tokenizers
from unicode_texts import generated_texts

from export.android.characters import character_tables
from qa.formats.package import RANGES, Characters

N_TEXTS = 24_000
NAMES = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
SWITCHES = {  # as BERT's tokenizers are made, and every switch alone
    "uncased": dict(zip(NAMES, (True, True, None, True), strict=True)),
    "cased": dict(zip(NAMES, (True, True, None, False), strict=True)),
    "cased without accents": dict(zip(NAMES, (True, True, True, False), strict=True)),
    "lowercase with accents": dict(zip(NAMES, (True, True, False, True), strict=True)),
    "accents only": dict(zip(NAMES, (False, False, True, False), strict=True)),
}


class Reference:
    """A tokenizer's normalizer and splitter out of the tables alone."""

    def __init__(self, tables):
        self.sets = {name: {c for a, b in tables[name] for c in range(a, b + 1)} for name in RANGES}
        self.decompositions = {c: parts for c, *parts in tables["decompositions"]}
        self.lowercase = {c: parts for c, *parts in tables["lowercase"]}
        self.firsts = [first for first, _, _ in tables["combining"]]
        self.combining = tables["combining"]

    def combining_class(self, c):
        at = bisect_right(self.firsts, c) - 1
        return self.combining[at][2] if at >= 0 and c <= self.combining[at][1] else 0

    def decomposed(self, c):
        if 0xAC00 <= c <= 0xD7A3:  # Unicode Standard, section 3.12
            lead, rest = divmod(c - 0xAC00, 21 * 28)
            vowel, trail = divmod(rest, 28)
            return [0x1100 + lead, 0x1161 + vowel, *([0x11A7 + trail] if trail else [])]
        return self.decompositions.get(c, [c])

    def nfd(self, points):
        points = [part for c in points for part in self.decomposed(c)]
        classes = []
        for i, c in enumerate(points):
            starter = classes[-1][0] if classes else 0
            n = self.combining_class(c)
            classes.append((i if n == 0 else starter, n))  # a mark stays behind the last starter
        return [c for _, c in sorted(zip(classes, points, strict=True), key=lambda pair: pair[0])]

    def normalize(self, text, clean_text, handle_chinese_chars, strip_accents, lowercase):
        points = list(map(ord, text))
        if clean_text:
            points = [
                0x20 if c in self.sets["spaces"] else c for c in points if c not in self.sets["removed"]
            ]
        if handle_chinese_chars:
            points = [
                part for c in points for part in ([0x20, c, 0x20] if c in self.sets["ideographs"] else [c])
            ]
        if lowercase if strip_accents is None else strip_accents:
            points = [c for c in self.nfd(points) if c not in self.sets["marks"]]
        if lowercase:
            points = [part for c in points for part in self.lowercase.get(c, [c])]
        return "".join(map(chr, points))

    def words(self, text):
        words = []
        begin = 0
        for i, c in enumerate([*map(ord, text), 0x20]):
            if c in self.sets["whitespace"] or c in self.sets["punctuation"]:
                words += [(begin, i)] * (begin < i) + [(i, i + 1)] * (c in self.sets["punctuation"])
                begin = i + 1
        return words


@pytest.fixture(scope="module")
def reference():
    return Reference(character_tables())


@pytest.fixture(scope="module")
def texts():
    return generated_texts(N_TEXTS, 1)


@pytest.mark.parametrize("name", SWITCHES)
def test_the_tables_followed_in_order_normalize_as_the_tokenizer_does(reference, texts, name):
    normalizer = normalizers.BertNormalizer(**SWITCHES[name])
    some = texts if name == "uncased" else texts[:6000]
    wrong = [
        ascii(t) for t in some if reference.normalize(t, **SWITCHES[name]) != normalizer.normalize_str(t)
    ]
    assert wrong == []


def test_every_code_point_comes_out_as_the_tokenizer_has_it(reference):
    every = [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    random.Random(0).shuffle(every)  # so that marks meet letters and each other
    normalizer = normalizers.BertNormalizer(**SWITCHES["uncased"])
    texts = ["".join(every[i : i + 200]) for i in range(0, len(every), 200)]
    wrong = [
        ascii(t)
        for t in texts
        if reference.normalize(t, **SWITCHES["uncased"]) != normalizer.normalize_str(t)
    ]
    assert wrong == []


def test_the_tables_give_nfd(reference, texts):
    nfd = normalizers.NFD()
    wrong = [ascii(t) for t in texts if "".join(map(chr, reference.nfd(map(ord, t)))) != nfd.normalize_str(t)]
    assert wrong == []


def test_marks_of_all_classes_are_ordered_as_the_tokenizer_does(reference):
    marks = [c for first, last, _ in character_tables()["combining"] for c in range(first, last + 1)]
    rng = random.Random(0)
    nfd = normalizers.NFD()
    runs = [rng.choices(marks, k=rng.randint(2, 8)) for _ in range(20_000)]
    assert all(
        "".join(map(chr, reference.nfd(run))) == nfd.normalize_str("".join(map(chr, run))) for run in runs
    )


def test_the_tables_split_as_the_tokenizer_does(reference, texts):
    splitter = pre_tokenizers.BertPreTokenizer()
    wrong = [
        ascii(t)
        for t in texts
        if reference.words(t) != [offsets for _, offsets in splitter.pre_tokenize_str(t)]
    ]
    assert wrong == []


def broken(name, entries):
    return json.loads(json.dumps({**character_tables(), name: entries}))


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("removed", None),
        ("removed", [[5, 3]]),
        ("spaces", [[9, 10], [10, 11]]),
        ("spaces", [[9, 10, 0]]),
        ("ideographs", [[0x3400, 0x110000]]),
        ("marks", [[-1, 4]]),
        ("whitespace", [[9.5, 10]]),
        ("punctuation", [[True, True]]),
        ("punctuation", ["ab"]),
        ("combining", [[0x300, 0x314]]),
        ("combining", [[0x300, 0x314, 0]]),
        ("combining", [[0x300, 0x314, 255]]),
        ("decompositions", [[0xC0]]),
        ("decompositions", [[0xC1, 65, 0x301], [0xC0, 65, 0x300]]),
        ("decompositions", [[0xC0, *[65] * 19]]),
        ("lowercase", [[65, 0x110000]]),
        ("lowercase", [[65, 97], [65, 97]]),
        ("tokenizers", 22),
    ],
)
def test_broken_tables_are_refused_by_name(name, entries):
    with pytest.raises(msgspec.ValidationError, match=name):
        msgspec.convert(broken(name, entries), Characters)
