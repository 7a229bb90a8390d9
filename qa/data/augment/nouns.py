"""Nouns of an English text, by part of speech.

The tagger is that of the pattern library (De Smedt & Daelemans 2012), a lexicon of 94,000 words with Brill's
rules for unknown words and for context. It comes inside the wheel of textblob; nothing is downloaded.
"""

import re
from dataclasses import dataclass

from qa.base.errors import OptionError

_TOKEN = re.compile(
    r"""(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|[A-Z])\.(?=[\s.A-Z])  # abbreviations and initials keep their full stop
    | \w+n['’]t | ['’]s\b | \d+(?:[.,]\d+)* | \w+(?:-\w+)* | \S""",
    re.VERBOSE,
)
_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*\s+")
_VERBS = {"VB", "VBD", "VBP", "VBZ"}  # not VBG, VBN: "licensing laws", "updated values"
_ASKING = {"what", "which", "whose", "many", "much"}


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int
    tag: str
    opens_sentence: bool
    """The first word of a sentence: its capital tells nothing, and without it the word reads wrongly
    in another place."""

    @property
    def is_name(self) -> bool:
        return self.text[0].isupper() and self.tag[:2] in ("NN", "JJ") and not self.opens_sentence


@dataclass(frozen=True, slots=True)
class Noun(_Token):
    """A common noun, or a name with all its words. `tag` is NN, NNS (plural) or NNP (name)."""

    is_asked_for: bool
    """The noun behind "what", "which" or "how many": it says of what kind the answer is."""
    in_compound: bool
    """Beside another noun ("ice hockey"), a number ("28 January") or, as a common noun, behind an adjective
    ("rural areas")."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence: split after . ! ? and space, not after known abbreviations."""
    spans = []
    start = 0
    abbreviations = {m.end() - 1 for m in _TOKEN.finditer(text) if len(m[0]) > 1 and m[0].endswith(".")}
    for match in _SENTENCE_END.finditer(text):
        if match.start() not in abbreviations:
            spans.append((start, match.end()))
            start = match.end()
    return [*spans, (start, len(text))] if start < len(text) else spans


def _tag(text: str) -> list[_Token]:
    try:
        from textblob.en import tag
    except ImportError:
        raise OptionError(
            "the part-of-speech tagger is not installed; pip install 'pocketqa[augment]' brings it"
        ) from None
    tokens = []
    lines = []
    for start, end in sentences(text):
        found = list(_TOKEN.finditer(text, start, end))
        tokens += [(m, i == 0) for i, m in enumerate(found)]
        lines.append(" ".join(m[0] for m in found))
    tags = tag("\n".join(line for line in lines if line), tokenize=False) if tokens else []
    return [
        _Token(m[0], m.start(), m.end(), t.split("-")[0], first)
        for (m, first), (_, t) in zip(tokens, tags, strict=True)
    ]


def nouns(text: str) -> list[Noun]:
    """Return the nouns of a text in order. OptionError when the tagger is not installed."""
    tokens = _tag(text)
    found = []
    i = 0
    while i < len(tokens):
        last = i
        if tokens[i].is_name:
            while (
                last + 1 < len(tokens)
                and tokens[last + 1].is_name
                and text[tokens[last].end : tokens[last + 1].start] == " "
            ):
                last += 1
        run = tokens[i : last + 1]
        if any(t.tag.startswith("NN") for t in run) and len(run[0].text) > 1 and run[0].text[0].isalpha():
            start = run[0].start
            end = run[-1].end
            tag = "NNP" if run[0].text[0].isupper() else run[0].tag[:3]
            context = _is_asked_for(tokens, i), _in_compound(tokens, i, last)
            found.append(Noun(text[start:end], start, end, tag, run[0].opens_sentence, *context))
        i = last + 1
    return found


def _in_compound(tokens: list[_Token], first: int, last: int) -> bool:
    before = tokens[max(0, first - 1) : first]
    behind = tokens[last + 1 : last + 2]
    if any(t.text[0].isdigit() for t in before + behind):
        return True
    if any(t.tag.startswith("NN") and not t.opens_sentence for t in behind):
        return True
    return not tokens[first].is_name and any(
        t.tag[:2] in ("NN", "JJ", "VB", "CD") and t.tag not in _VERBS for t in before
    )


def _is_asked_for(tokens: list[_Token], i: int) -> bool:
    while i and (tokens[i - 1].tag[:2] in ("JJ", "NN", "CD", "RB") or tokens[i - 1].tag == "POS"):
        i -= 1
        if tokens[i].text.lower() in _ASKING:
            return True
    return bool(i) and tokens[i - 1].text.lower() in _ASKING
