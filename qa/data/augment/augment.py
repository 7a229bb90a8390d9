"""Options and steps of `python -m qa.data.augment`."""

import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from typing import Any, TypeGuard

from qa.base.cli import check_option
from qa.base.errors import SquadFormatError
from qa.base.next_step import say_next_training
from qa.data.augment.nouns import Noun, nouns, sentences
from qa.data.convert.report import check_out, log_path, tsv
from qa.data.datasets import resolve, source_reference
from qa.data.metrics import normalize_answer
from qa.data.squad import Example, grouped, read_originals, write_squad

LOG_SUFFIX = ".added.tsv"
SHOWN = 80  # characters of a text without a title in the log
N_PASSAGES = 20  # passages tried for a question before it is left out; a frequent answer stands in many

# Nouns that change little in a question (one about "the name of the bridge" is one about the bridge), and
# dates.
_VAGUE = re.compile(
    r"names?|kind|type|sort|part|number|term|word|example|way|things?|one|matter|use|people|time|day|month|year|decade|century"
    r"|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class AugmentOptions:
    """Add unanswerable questions to SQuAD data: swapped between passages, and with one noun replaced."""

    out: Path
    """SQuAD 2.0 JSON file to write: all questions of the data and those added; OUT.added.tsv beside it lists
    these."""
    data: str = "embedded"
    """Questions: SQuAD JSON or records, or embedded, everyday, squad, squad_v2 (their train part)."""
    share: float = 0.2
    """Questions to add for each question of the data, half of them of either kind, 0 < share <= 1."""
    seed: int = 0
    """Seed of every choice; the same seed and data give the same file."""

    def __post_init__(self) -> None:
        check_option(0 < self.share <= 1, "--share", self.share, "in (0, 1]")
        check_option(self.seed >= 0, "--seed", self.seed, "at least 0")
        check_out(self.out, [Path(self.data)], LOG_SUFFIX)


@dataclass(frozen=True, slots=True)
class Added:
    """An added question: of what kind it is, which one it was made from, and what was changed."""

    example: Example
    kind: str
    source: Example
    old: str
    new: str


def unanswerable(example: Example, kind: str, **changes: Any) -> Example:
    """Return a changed question, which has no answer, under an id of its own."""
    return replace(example, id=f"{example.id}-{kind}", answers=(), is_impossible=True, **changes)


def holds_answer(context: str, example: Example) -> bool:
    """Return True where a passage contains a gold answer, compared as the metrics compare words."""
    words = f" {normalize_answer(context)} "
    return any(f" {normalize_answer(a.text)} " in words for a in example.answers)


def swap(example: Example, passages: list[tuple[str, str]], rng: random.Random) -> Added | None:
    """Ask the question of another article's passage, (title, context); None when none of 20 suits."""
    for title, context in rng.sample(passages, min(N_PASSAGES, len(passages))):
        asked = unanswerable(example, "swapped", title=title, context=context)
        if asked.article != example.article and not holds_answer(context, example):
            return Added(asked, "swapped", example, example.article[:SHOWN], asked.article[:SHOWN])
    return None


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))


def alike(one: str, other: str) -> bool:
    """Return True where two nouns may mean the same: words that begin or end alike, or an abbreviation."""
    pairs = product(_words(one), _words(other))
    # bridge and bridges, Slavs and Slavic, way and railway
    if any(a[:4] == b[:4] or a.endswith(b) or b.endswith(a) for a, b in pairs):
        return True
    return one[0] == other[0] and (one.isupper() or other.isupper())  # Washington University and WUSTL


def replaceable(question: str, context_words: set[str]) -> list[Noun]:
    """Return the nouns that decide a question: used once, used by the passage too, not vague, not asked for.

    A name before 's stays whole (People's Committee).
    """
    found = nouns(question)
    uses = Counter(n.text.lower() for n in found)
    return [
        n
        for n in found
        if uses[n.text.lower()] == 1
        and _words(n.text) <= context_words
        and not _VAGUE.fullmatch(n.text)
        and not (n.opens_sentence or n.is_asked_for or n.in_compound)
        and not re.match(r"['’]s [A-Z]", question[n.end :])
        and not re.search(r"[A-Z]\w*['’]s $", question[: n.start])
    ]


def replacements(old: Noun, example: Example, candidates: Iterable[Noun]) -> list[str]:
    """Return nouns to replace `old`: of its kind, not in question and answers, nor near an answer."""
    golds = [(a.start, a.start + len(a.text)) for a in example.answers]
    taken = _words(example.question).union(*(_words(a.text) for a in example.answers))
    holding = [
        (s, e) for s, e in sentences(example.context) if any(s < end and start < e for start, end in golds)
    ]
    fit = [
        n.text
        for n in candidates
        if n.tag == old.tag
        and not (n.opens_sentence or n.in_compound)
        and not _words(n.text) & taken
        and not alike(n.text, old.text)
        and not _VAGUE.fullmatch(n.text)
    ]
    near = {n.text for n in candidates if any(s <= n.start < e for s, e in holding)}
    return [text for text in dict.fromkeys(fit) if text not in near]


def replace_noun(example: Example, candidates: list[Noun], rng: random.Random) -> Added | None:
    """Replace one noun of the question by one of the passage's, `candidates`; None when none fits."""
    olds = replaceable(example.question, _words(example.context))
    for old in sorted(rng.sample(olds, len(olds)), key=lambda n: n.tag != "NNP"):  # names first
        if fit := replacements(old, example, candidates):
            new = rng.choice(fit)
            before = example.question[: old.start]
            if article := re.search(r"\b([Aa])n? $", before):
                before = before[: article.start()] + article[1] + ("n " if new[0].lower() in "aeiou" else " ")
            question = before + new + example.question[old.end :]
            asked = unanswerable(example, "noun", question=question)
            return Added(asked, "noun", example, old.text, new)
    return None


def augment(examples: list[Example], share: float, seed: int) -> list[Added]:
    """Return the questions to add, each made from another answerable one; fewer where too few suit."""
    rng = random.Random(seed)
    sources = [e for e in examples if e.answers]
    rng.shuffle(sources)
    n_added = round(share * len(examples))
    articles_asked = Counter(question for _, question in {(e.article, e.question) for e in examples})
    passages = list(dict.fromkeys((e.title, e.context) for e in examples))
    ids = {e.id for e in examples}
    candidates: dict[str, list[Noun]] = {}

    def changed(example: Example) -> Added | None:
        if example.context not in candidates:
            candidates[example.context] = nouns(example.context)
        return replace_noun(example, candidates[example.context], rng)

    def is_new(added: Added | None) -> TypeGuard[Added]:
        return added is not None and added.example.id not in ids

    swapped = (swap(e, passages, rng) for e in sources if articles_asked[e.question] == 1)
    added = list(islice(filter(is_new, swapped), n_added // 2))
    used = {a.source.id for a in added}
    with_other_noun = (changed(e) for e in sources if e.id not in used)
    return added + list(islice(filter(is_new, with_other_noun), n_added - n_added // 2))


def write_augmented(options: AugmentOptions) -> list[Added]:
    """Write the data with the added questions and their log, and print how many there are."""
    path = resolve(options.data, "train")
    examples = read_originals(path)
    added = augment(examples, options.share, options.seed)
    wanted = round(options.share * len(examples))
    if not added:
        raise SquadFormatError(
            f"{options.data}: no question could be added of {wanted} wanted; are there answerable ones, and "
            "two articles?"
        )
    columns = ("id", "kind", "source", "old", "new", "question")
    rows = tsv(
        [columns, *((a.example.id, a.kind, a.source.id, a.old, a.new, a.example.question) for a in added)]
    )
    log = log_path(options.out, LOG_SUFFIX)
    everything = grouped([*examples, *(a.example for a in added)])
    write_squad(options.out, everything, source_reference(path), (log, rows))
    kinds = Counter(a.kind for a in added)
    print(f"{options.out}: {len(examples):,} questions and {len(added):,} added, see {log}")
    print(
        f"{kinds['swapped']:,} swapped between passages, {kinds['noun']:,} with one noun replaced, "
        f"{wanted:,} wanted"
    )
    say_next_training(options.out)
    return added
