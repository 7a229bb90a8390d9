"""Questions as people type them, and texts as they arrive on a phone: by rule, with every label kept."""

import random
import re
from collections.abc import Sequence
from itertools import accumulate, pairwise

# Words that people leave out of a query. Question words that say what is asked for stay.
LEFT_OUT = re.compile(
    r"an?|and|are|be|been|can|could|did|do|does|for|had|has|have|i|in|is|its?|may|might|must|my|of|on|or|our"
    r"|please|shall|should|that|the|their|there|they|this|to|was|we|were|what|which|will|with|would|your?"
)
LONG_WORD = re.compile(r"[^\W\d_]{4,}")
SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z])")
BULLET = re.compile(r"^[ \t]*([-*•·–])(?= )", re.MULTILINE)
BULLETS = "-*•"
TYPING_ERRORS = 0.02  # share of a text's long words
LOST_BREAKS = 0.5  # share of a text's line breaks that are lost, where they are lost


def typed(question: str, rng: random.Random) -> str:
    """Return a question in lower case without its mark; sometimes as keywords, or with a typing error."""
    asked = question.strip().rstrip("?").rstrip()
    plain = asked.lower()
    manner = rng.choice(("plain", "keywords", "error"))
    if manner == "keywords":
        kept = [word for before, word in pairwise([".", *asked.split()]) if not _is_left_out(word, before)]
        return " ".join(kept).strip(",;").lower() if len(kept) > 1 else plain
    if manner == "error" and (words := list(LONG_WORD.finditer(plain))):
        word = rng.choice(words)
        return plain[: word.start()] + _misspelt(word.group(), rng) + plain[word.end() :]
    return plain


def _is_left_out(word: str, before: str) -> bool:
    """Return whether people leave a word out of a query. They keep a name within a sentence, such as May."""
    bare = word.strip(".,;:!")
    is_name = bare[:1].isupper() and bare != "I" and before[-1] not in ".!?:"
    return not is_name and LEFT_OUT.fullmatch(bare.lower()) is not None


def _misspelt(word: str, rng: random.Random) -> str:
    """Return a word with two neighbouring letters swapped, one doubled, or one left out; never the first."""
    place = rng.randrange(1, len(word) - 1)
    letter, after = word[place], word[place + 1]
    return word[:place] + rng.choice((after + letter, letter * 2 + after, after)) + word[place + 2 :]


def noisy(
    text: str, spans: Sequence[tuple[int, int]], rng: random.Random
) -> tuple[str, list[tuple[int, int]]]:
    """Return a text as it arrives on a phone, and where its spans are now.

    `spans` are (start, end) in characters, and so are those returned. One or two of these happen: line breaks
    get lost or come at the ends of sentences, bullets become others, capitals get lost, words have typing
    errors. No span has a typing error.
    """
    pieces = list(text)  # what each character becomes
    changes = [_lose_breaks, _break_sentences, _other_bullets, _lose_capitals, _mistype]
    n_left = rng.choice((1, 2))
    for change in rng.sample(changes, len(changes)):
        before = "".join(pieces)
        change(text, pieces, spans, rng)
        n_left -= "".join(pieces) != before  # a text without bullets or line breaks changes otherwise
        if n_left == 0:
            break
    places = [0, *accumulate(map(len, pieces))]
    return "".join(pieces), [(places[start], places[end]) for start, end in spans]


Spans = Sequence[tuple[int, int]]


def _lose_breaks(text: str, pieces: list[str], spans: Spans, rng: random.Random) -> None:
    for place, character in enumerate(text):
        if character == "\n" and rng.random() < LOST_BREAKS:
            pieces[place] = " "


def _break_sentences(text: str, pieces: list[str], spans: Spans, rng: random.Random) -> None:
    for end in SENTENCE_END.finditer(text):
        pieces[end.start()] = "\n"


def _other_bullets(text: str, pieces: list[str], spans: Spans, rng: random.Random) -> None:
    bullet = rng.choice(BULLETS)
    for match in BULLET.finditer(text):
        pieces[match.start(1)] = bullet


def _lose_capitals(text: str, pieces: list[str], spans: Spans, rng: random.Random) -> None:
    pieces[:] = [piece.lower() for piece in pieces]


def _mistype(text: str, pieces: list[str], spans: Spans, rng: random.Random) -> None:
    for word in LONG_WORD.finditer(text):
        inside = any(start < word.end() and word.start() < end for start, end in spans)
        if not inside and rng.random() < TYPING_ERRORS:
            pieces[word.start()] = _misspelt("".join(pieces[word.start() : word.end()]), rng)
            pieces[word.start() + 1 : word.end()] = [""] * (word.end() - word.start() - 1)
