"""Add questions without gold answers to SQuAD data: what `python -m distill.unlabelled` does."""

import random
from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distill.unlabelled.manners import noisy, typed
from qa.base.cli import changed, check_option, flag_of
from qa.base.errors import OptionError, SquadFormatError
from qa.base.files import check_not_an_input
from qa.base.next_step import say_next_distilling
from qa.base.shipped import TEACHER, shipped
from qa.bundles.hf_import import open_model
from qa.data.datasets import resolve, source_reference
from qa.data.squad import Answer, Example, check_new_squad, grouped, read_originals, write_squad

if TYPE_CHECKING:
    from distill.unlabelled.words import SimilarWords


Article = list[list[Example]]
"""Questions of each passage of an article."""


@dataclass(frozen=True, kw_only=True)
class UnlabelledOptions:
    """Add questions to SQuAD data: without gold answers, for a teacher to label, and copies with them."""

    out: Path
    """SQuAD JSON file to write."""
    data: str = "embedded"
    """Questions: SQuAD JSON or records, or embedded, everyday, squad, squad_v2 (their train part)."""
    passages: int = 1
    """Other passages of its article to ask each question of; fewer where the article has fewer. A passage
    without a title is an article."""
    same_kind: int = 0
    """Passages of other articles of the same category to ask each question of, where the data has categories;
    only the teacher labels these."""
    reworded: int = 0
    """Copies of each passage with replaced words."""
    typed: int = 0
    """Copies of each question as people type it: in lower case, without its mark, as keywords, with typing
    errors. They keep their answers."""
    noisy: int = 0
    """Copies of each passage with other line breaks, bullets, capitals, or with typing errors outside of its
    answers, which stay."""
    share: float = 0.15
    """Share of a reworded passage's words to replace, of those that the model has a word vector for."""
    model: Path | None = None
    """Bundle or checkpoint with a WordPiece vocabulary, whose word vectors say which words are similar; by
    default the teacher in models/."""
    seed: int = 0
    """Seed of every choice; the same seed and data give the same file."""

    def __post_init__(self) -> None:
        counts = {
            name: getattr(self, name) for name in ("passages", "same_kind", "reworded", "typed", "noisy")
        }
        for name, value in counts.items():
            check_option(value >= 0, flag_of(name), value, "at least 0")
        others = "at least 1 where --same-kind, --reworded, --typed and --noisy are 0"
        check_option(sum(counts.values()) > 0, "--passages", self.passages, others)
        check_option(0 < self.share <= 1, "--share", self.share, "in (0, 1]")
        for name in changed(self, () if self.reworded else ("share", "model")):
            raise OptionError(f"--{name} needs --reworded, whose words it decides")
        check_option(self.seed >= 0, "--seed", self.seed, "at least 0")
        check_new_squad(self.out, "--out")
        check_not_an_input(self.out, "--out", [Path(self.data)])


def add_unlabelled(options: UnlabelledOptions) -> list[Example]:
    """Write the file and print how many questions of each sort it has."""
    path = resolve(options.data, "train")
    given = grouped(read_originals(path))
    articles = [
        [list(passage) for _, passage in groupby(article, lambda e: e.context)]
        for _, article in groupby(given, lambda e: e.article)
    ]
    similar = similar_words(options.model) if options.reworded else None
    added = [
        with_added(article, options, similar, f"{options.seed} {number}")
        for number, article in enumerate(articles)
    ]
    if options.same_kind:
        ask_same_kind(articles, added, options)
    examples = [example for article in added for passage in article for example in passage]
    if len(examples) == len(given):
        raise SquadFormatError(
            f"{options.data}: nothing to add: --passages needs an article of two passages (one without a "
            "title is an article), --same-kind needs categories; --reworded, --typed and --noisy need neither"
        )
    write_squad(options.out, examples, source_reference(path))
    n_reworded = sum("-reworded" in example.id for example in examples if example.unlabelled)
    n_unlabelled = sum(example.unlabelled for example in examples)
    n_copies = sum(example.copy_of is not None for example in examples)
    print(
        f"{options.out}: {len(examples):,} questions; {n_unlabelled - n_reworded:,} with another passage and "
        f"{n_reworded:,} with a reworded one are unlabelled, {n_copies:,} are copies with answers"
    )
    say_next_distilling(options.out)
    return examples


def similar_words(model: Path | None) -> "SimilarWords":
    """Return the similar words of a model, by default of the shipped teacher."""
    from distill.unlabelled.words import SimilarWords
    from qa.models.model import QAModel

    bundle = open_model(model or shipped(TEACHER, "--model"), format="pytorch")
    return SimilarWords.of(QAModel.from_pretrained(bundle.path), bundle.tokenizer)


def with_added(
    article: Article, options: UnlabelledOptions, similar: "SimilarWords | None", seed: str
) -> Article:
    """Return an article's passages with the added questions, then its reworded and its noisy passages."""
    rng = random.Random(seed)
    asked = [list(passage) for passage in article]
    reworded: Article = []
    for place, passage in enumerate(article):
        others = [other for other in range(len(article)) if other != place]
        for example in passage:
            for number, other in enumerate(rng.sample(others, min(options.passages, len(others))), start=1):
                asked[other].append(unlabelled(example, f"passage{number}", article[other][0]))
        for number in range(1, options.reworded + 1):
            assert similar is not None
            context = similar.replace(passage[0].context, options.share, rng)
            if context == passage[0].context:
                continue
            elsewhere = replace(passage[0], context=context)
            reworded.append([unlabelled(example, f"reworded{number}", elsewhere) for example in passage])
    rng = random.Random(f"{seed} copies")  # of its own: what else is added stays the same
    for passage, questions in zip(article, asked, strict=True):
        for number in range(1, options.typed + 1):
            questions += [copied(e, f"typed{number}", question=typed(e.question, rng)) for e in passage]
    numbers = range(1, options.noisy + 1)
    copies = [(passage, noisy_copy(passage, n, rng)) for passage in article for n in numbers]
    # A text without line breaks, sentences or words to change stays as it is.
    return [*asked, *reworded, *(copy for passage, copy in copies if copy[0].context != passage[0].context)]


def noisy_copy(passage: list[Example], number: int, rng: random.Random) -> list[Example]:
    """Return a passage's questions with their answers, on the passage as it arrives on a phone."""
    spans = [(a.start, a.start + len(a.text)) for e in passage for a in e.answers]
    context, moved = noisy(passage[0].context, spans, rng)
    places = iter(moved)
    return [
        copied(
            e,
            f"noisy{number}",
            context=context,
            answers=tuple(Answer(context[start:end], start) for start, end in islice(places, len(e.answers))),
        )
        for e in passage
    ]


def copied(example: Example, suffix: str, **changes: Any) -> Example:
    """Return a changed question with its answers, under an id of its own."""
    return replace(example, id=f"{example.id}-{suffix}", copy_of=example.id, **changes)


def ask_same_kind(given: list[Article], added: list[Article], options: UnlabelledOptions) -> None:
    """Add to `added`, in place, each question with passages of other articles of its category."""
    rng = random.Random(f"{options.seed} same kind")
    by_kind: dict[str, dict[int, list[int]]] = {}
    for number, article in enumerate(given):
        for place, passage in enumerate(article):
            for kind in {e.category for e in passage if e.category}:
                by_kind.setdefault(kind, {}).setdefault(number, []).append(place)
    numbers = {kind: sorted(places) for kind, places in by_kind.items()}
    for number, article in enumerate(given):
        for example in filter(lambda e: e.category, chain(*article)):
            kind = example.category or ""
            own, n_others = bisect_left(numbers[kind], number), len(numbers[kind]) - 1
            chosen = rng.sample(range(n_others), min(options.same_kind, n_others))
            for n, index in enumerate(chosen, start=1):
                other = numbers[kind][index + (index >= own)]
                place = rng.choice(by_kind[kind][other])
                asked = unlabelled(example, f"passage{n}k", given[other][place][0])
                added[other][place].append(asked)


def unlabelled(example: Example, suffix: str, passage: Example) -> Example:
    """Return a question without its answers, asked of another one's passage, under an id of its own."""
    return Example(
        f"{example.id}-{suffix}",
        passage.title,
        passage.context,
        example.question,
        answers=(),
        is_impossible=False,
        unlabelled=True,
    )
