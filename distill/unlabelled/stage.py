"""Steps of `python -m distill.unlabelled`."""

import random
from typing import Any

from distill.unlabelled.__main__ import UnlabelledConfig
from distill.unlabelled.words import SimilarWords
from qa.base.next_step import say_next
from qa.bundles.hf_import import open_model
from qa.bundles.shipped import TEACHER, shipped
from qa.data.datasets import data_reference, resolve
from qa.data.squad import Example, read_json, read_squad, write_squad
from qa.models.model import QAModel


def add_unlabelled(config: UnlabelledConfig) -> list[Example]:
    """Read the data, add questions, write, and print the counts."""
    path = resolve(config.data, "train")
    read_squad(path)  # checks the whole file, and that all of it is labelled
    data = read_json(path)
    articles: list[dict[str, Any]] = data["data"]
    similar = None
    if config.reworded:
        bundle = open_model(config.model or shipped(TEACHER, "--model"), format="pytorch")
        similar = SimilarWords.of(QAModel.from_pretrained(bundle.path), bundle.tokenizer)
    added = [
        article
        | {"paragraphs": paragraphs(article["paragraphs"], config, similar, f"{config.seed} {number}")}
        for number, article in enumerate(articles)
    ]
    examples = write_squad(config.out, added, data.get("version", ""), data_reference(path))
    n_other = sum("-passage" in example.id for example in examples if example.unlabelled)
    n_all = sum(example.unlabelled for example in examples)
    print(
        f"{config.out}: {len(examples):,} questions; {n_other:,} with another passage and "
        f"{n_all - n_other:,} with a reworded one are unlabelled"
    )
    say_next("distill.run", "--data", config.out, "--out", "RUN")
    return examples


def paragraphs(
    given: list[dict[str, Any]], config: UnlabelledConfig, similar: SimilarWords | None, seed: str
) -> list[dict[str, Any]]:
    """Return an article's paragraphs with the added questions, then its reworded paragraphs."""
    rng = random.Random(seed)
    questions = [list(paragraph["qas"]) for paragraph in given]
    reworded = []
    for place, paragraph in enumerate(given):
        others = [other for other in range(len(given)) if other != place]
        for entry in paragraph["qas"]:
            for number, other in enumerate(rng.sample(others, min(config.passages, len(others))), start=1):
                questions[other].append(unlabelled(entry, f"passage{number}"))
        for number in range(1, config.reworded + 1):
            assert similar is not None
            context = similar.replace(paragraph["context"], config.share, rng)
            qas = [unlabelled(entry, f"reworded{number}") for entry in paragraph["qas"]]
            reworded.append({"context": context, "qas": qas})
    return [{**one, "qas": qas} for one, qas in zip(given, questions, strict=True)] + reworded


def unlabelled(entry: dict[str, Any], suffix: str) -> dict[str, Any]:
    """Return a question without its answers, under an id of its own."""
    return {"id": f"{entry['id']}-{suffix}", "question": entry["question"], "answers": [], "unlabelled": True}
