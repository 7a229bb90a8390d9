"""Add questions without gold answers to SQuAD data: what `python -m distill.unlabelled` does."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distill.unlabelled.manners import noisy, typed
from qa.base.cli import check_option
from qa.base.files import check_not_an_input, check_writable
from qa.base.next_step import in_runs, say_next
from qa.base.shipped import TEACHER, shipped
from qa.bundles.hf_import import open_model
from qa.data.datasets import data_reference, resolve
from qa.data.squad import Example, read_json, read_squad, write_squad

if TYPE_CHECKING:
    from distill.unlabelled.words import SimilarWords


@dataclass(frozen=True, kw_only=True)
class UnlabelledOptions:
    """Add questions to SQuAD data: without gold answers, for a teacher to label, and copies with them."""

    out: Path
    """SQuAD JSON file to write."""
    data: str = "embedded"
    """SQuAD JSON file (plain or gzip), or embedded, everyday, squad, squad_v2 (their train part)."""
    passages: int = 1
    """Other passages of its article to ask each question of; fewer where the article has fewer."""
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
            check_option(value >= 0, f"--{name.replace('_', '-')}", value, "at least 0")
        others = "at least 1 where --same-kind, --reworded, --typed and --noisy are 0"
        check_option(sum(counts.values()) > 0, "--passages", self.passages, others)
        check_option(0 < self.share <= 1, "--share", self.share, "in (0, 1]")
        check_option(self.seed >= 0, "--seed", self.seed, "at least 0")
        check_writable(self.out, "--out")
        check_not_an_input(self.out, "--out", [Path(self.data)])


def add_unlabelled(options: UnlabelledOptions) -> list[Example]:
    """Write the file and print how many questions of each sort it has."""
    path = resolve(options.data, "train")
    read_squad(path)  # checks the whole file, and that all of it is labelled
    data = read_json(path)
    similar = similar_words(options.model) if options.reworded else None
    articles = data["data"]
    added = [
        article
        | {"paragraphs": paragraphs(article["paragraphs"], options, similar, f"{options.seed} {number}")}
        for number, article in enumerate(articles)
    ]
    ask_same_kind(articles, added, options)
    examples = write_squad(options.out, added, data.get("version", ""), data_reference(path))
    n_reworded = sum("-reworded" in example.id for example in examples if example.unlabelled)
    n_unlabelled = sum(example.unlabelled for example in examples)
    n_copies = sum(example.copy_of is not None for example in examples)
    print(
        f"{options.out}: {len(examples):,} questions; {n_unlabelled - n_reworded:,} with another passage and "
        f"{n_reworded:,} with a reworded one are unlabelled, {n_copies:,} are copies with answers"
    )
    say_next("distill", "--data", options.out, "--out", in_runs(options.out, "distilled"))
    return examples


def similar_words(model: Path | None) -> "SimilarWords":
    """Return the similar words of a model, by default of the shipped teacher."""
    from distill.unlabelled.words import SimilarWords
    from qa.models.model import QAModel

    bundle = open_model(model or shipped(TEACHER, "--model"), format="pytorch")
    return SimilarWords.of(QAModel.from_pretrained(bundle.path), bundle.tokenizer)


def paragraphs(
    given: list[dict[str, Any]], options: UnlabelledOptions, similar: "SimilarWords | None", seed: str
) -> list[dict[str, Any]]:
    """Return an article's paragraphs with the added questions, then its reworded paragraphs."""
    rng = random.Random(seed)
    questions = [list(paragraph["qas"]) for paragraph in given]
    reworded: list[dict[str, Any]] = []
    for place, paragraph in enumerate(given):
        others = [other for other in range(len(given)) if other != place]
        for entry in paragraph["qas"]:
            for number, other in enumerate(rng.sample(others, min(options.passages, len(others))), start=1):
                questions[other].append(unlabelled(entry, f"passage{number}"))
        for number in range(1, options.reworded + 1):
            assert similar is not None
            context = similar.replace(paragraph["context"], options.share, rng)
            qas = [unlabelled(entry, f"reworded{number}") for entry in paragraph["qas"]]
            reworded.append({"context": context, "qas": qas})
    copies = Copies(random.Random(f"{seed} copies"))  # of its own: what else is added stays the same
    for paragraph, qas in zip(given, questions, strict=True):
        for number in range(1, options.typed + 1):
            qas += [copies.typed(entry, number) for entry in paragraph["qas"]]
    noisy = [copies.noisy(paragraph, number) for paragraph in given for number in range(1, options.noisy + 1)]
    return [{**one, "qas": qas} for one, qas in zip(given, questions, strict=True)] + reworded + noisy


class Copies:
    """Labelled copies of questions and passages."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def typed(self, entry: dict[str, Any], number: int) -> dict[str, Any]:
        """Return a question as people type it."""
        return {**copied(entry, f"typed{number}"), "question": typed(entry["question"], self.rng)}

    def noisy(self, paragraph: dict[str, Any], number: int) -> dict[str, Any]:
        """Return a passage as it arrives on a phone, with its questions."""
        answers = [answer for entry in paragraph["qas"] for answer in entry.get("answers", [])]
        spans = [(a["answer_start"], a["answer_start"] + len(a["text"])) for a in answers]
        context, moved = noisy(paragraph["context"], spans, self.rng)
        places = iter(moved)
        qas = []
        for entry in paragraph["qas"]:
            found = [next(places) for _ in entry.get("answers", [])]
            here = [{"text": context[start:end], "answer_start": start} for start, end in found]
            qas.append({**copied(entry, f"noisy{number}"), "answers": here})
        return {"context": context, "qas": qas}


def copied(entry: dict[str, Any], suffix: str) -> dict[str, Any]:
    """Return a question with its answers, under an id of its own."""
    return {**entry, "id": f"{entry['id']}-{suffix}", "copy_of": entry["id"]}


def ask_same_kind(
    given: list[dict[str, Any]], added: list[dict[str, Any]], options: UnlabelledOptions
) -> None:
    """Add to `added`, in place, each question with passages of other articles of its category."""
    rng = random.Random(f"{options.seed} same kind")
    by_kind: dict[str, dict[int, list[int]]] = {}
    for article, one in enumerate(given):
        for place, paragraph in enumerate(one["paragraphs"]):
            for kind in {entry["category"] for entry in paragraph["qas"] if entry.get("category")}:
                by_kind.setdefault(kind, {}).setdefault(article, []).append(place)
    for article, one in enumerate(given):
        for entry in (entry for paragraph in one["paragraphs"] for entry in paragraph["qas"]):
            others = sorted(by_kind.get(entry.get("category") or "", {}).keys() - {article})
            for number, other in enumerate(rng.sample(others, min(options.same_kind, len(others))), start=1):
                place = rng.choice(by_kind[entry["category"]][other])
                added[other]["paragraphs"][place]["qas"].append(unlabelled(entry, f"passage{number}k"))


def unlabelled(entry: dict[str, Any], suffix: str) -> dict[str, Any]:
    """Return a question without its answers, under an id of its own."""
    return {"id": f"{entry['id']}-{suffix}", "question": entry["question"], "answers": [], "unlabelled": True}
