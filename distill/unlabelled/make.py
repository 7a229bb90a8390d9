"""Add questions without gold answers to SQuAD data: what `python -m distill.unlabelled` does."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qa.base.cli import check_option
from qa.base.files import check_not_an_input, check_writable
from qa.base.next_step import say_next
from qa.bundles.hf_import import open_model
from qa.bundles.shipped import TEACHER, shipped
from qa.data.datasets import data_reference, resolve
from qa.data.squad import Example, read_json, read_squad, write_squad

if TYPE_CHECKING:
    from distill.unlabelled.words import SimilarWords


@dataclass(frozen=True, kw_only=True)
class UnlabelledOptions:
    """Add questions without gold answers to SQuAD data."""

    out: Path
    """SQuAD JSON file to write."""
    data: str = "embedded"
    """SQuAD JSON file (plain or gzip), or embedded, everyday, squad, squad_v2 (their train part)."""
    passages: int = 1
    """Other passages of its article to ask each question of; fewer where the article has fewer."""
    reworded: int = 0
    """Copies of each passage with replaced words."""
    share: float = 0.15
    """Share of a reworded passage's words to replace, of those that the model has a word vector for."""
    model: Path | None = None
    """Bundle or checkpoint with a WordPiece vocabulary, whose word vectors say which words are similar; by
    default the teacher in models/."""
    seed: int = 0
    """Seed of every choice; the same seed and data give the same file."""

    def __post_init__(self) -> None:
        check_option(self.passages >= 0, "--passages", self.passages, "at least 0")
        check_option(self.reworded >= 0, "--reworded", self.reworded, "at least 0")
        both = self.passages + self.reworded
        check_option(both > 0, "--passages", self.passages, "at least 1 where --reworded is 0")
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
    added = [
        article
        | {"paragraphs": paragraphs(article["paragraphs"], options, similar, f"{options.seed} {number}")}
        for number, article in enumerate(data["data"])
    ]
    examples = write_squad(options.out, added, data.get("version", ""), data_reference(path))
    n_other = sum("-passage" in example.id for example in examples if example.unlabelled)
    n_all = sum(example.unlabelled for example in examples)
    print(
        f"{options.out}: {len(examples):,} questions; {n_other:,} with another passage and "
        f"{n_all - n_other:,} with a reworded one are unlabelled"
    )
    say_next("distill", "--data", options.out, "--out", "RUN")
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
    reworded = []
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
    return [{**one, "qas": qas} for one, qas in zip(given, questions, strict=True)] + reworded


def unlabelled(entry: dict[str, Any], suffix: str) -> dict[str, Any]:
    """Return a question without its answers, under an id of its own."""
    return {"id": f"{entry['id']}-{suffix}", "question": entry["question"], "answers": [], "unlabelled": True}
