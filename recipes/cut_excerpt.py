"""Cut the excerpt that ships with the project from SQuAD 1.1: whole paragraphs, many articles, fixed seed.

python recipes/cut_excerpt.py --train train-v1.1.json --dev dev-v1.1.json
"""

import gzip
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qa.base.cli import run_with
from qa.base.files import write_whole
from qa.data.squad import read_json, read_squad


@dataclass(frozen=True)
class ExcerptOptions:
    """Cut the embedded excerpt out of SQuAD 1.1."""

    train: Path
    """SQuAD 1.1 train file."""
    dev: Path
    """SQuAD 1.1 dev file."""
    out: Path = Path(__file__).parent
    """Folder to write squad-excerpt-train.json.gz and squad-excerpt-dev.json.gz into."""
    seed: int = 0
    """Seed of the choice."""


def cut(source: Path, n_articles: int, n_questions: int, seed: int) -> dict[str, Any]:
    """Return whole paragraphs of `n_articles` articles, drawn in turn until there are `n_questions`."""
    read_squad(source)  # refuses a faulty file with the place of the fault
    rng = random.Random(seed)
    articles = rng.sample(read_json(source)["data"], n_articles)
    chosen: list[dict[str, Any]] = [{"title": a["title"], "paragraphs": []} for a in articles]
    piles = [rng.sample(a["paragraphs"], len(a["paragraphs"])) for a in articles]
    total = 0
    while total < n_questions and any(piles):
        for article, pile in zip(chosen, piles, strict=True):
            if pile and total < n_questions:
                paragraph = pile.pop()
                article["paragraphs"].append(paragraph)
                total += len(paragraph["qas"])
    return {"version": "1.1-excerpt", "data": chosen}


def write(excerpt: dict[str, Any], path: Path) -> None:
    """Write as gzip without a time stamp, so that the same choice gives the same bytes."""
    text = json.dumps(excerpt, ensure_ascii=False, separators=(",", ":"))
    write_whole(path, gzip.compress(text.encode(), compresslevel=9, mtime=0))


def main(config: ExcerptOptions) -> None:
    """Cut both files."""
    for split, source, n_articles, n_questions in (
        ("train", config.train, 40, 1500),
        ("dev", config.dev, 16, 500),
    ):
        path = config.out / f"squad-excerpt-{split}.json.gz"
        write(cut(source, n_articles, n_questions, config.seed), path)
        examples = read_squad(path)
        n_titles = len({e.title for e in examples})
        print(f"{path}: {len(examples)} questions of {n_titles} articles, {path.stat().st_size} bytes")


if __name__ == "__main__":
    run_with(ExcerptOptions, lambda: main)
