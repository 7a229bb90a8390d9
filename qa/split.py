"""Part questions by their texts: four fifths to train on, and a fifth to score on.

    python -m qa.split mine.csv --out runs/mine

No text is in both parts. Which part a text is in depends on its words alone, not on chance or on the order of
the file.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from qa.base.cli import check_option
from qa.base.commands import run_command
from qa.base.errors import OptionError
from qa.base.files import check_new_folder
from qa.base.next_step import in_runs, say_next_training_on_part
from qa.bundles.trained_on import passage_hash
from qa.data.datasets import resolve, source_reference
from qa.data.squad import Example, articles_of, read_squad, write_squad
from qa.evaluation.bootstrap import MIN_ARTICLES
from qa.evaluation.threshold import ENOUGH_QUESTIONS

HELD_OUT_SHARE = 0.2


@dataclass(frozen=True, kw_only=True)
class SplitOptions:
    """Part the questions of a file by their texts."""

    file: Positional[str]
    """SQuAD JSON, or records as JSON lines, CSV, TSV or Parquet."""
    out: Path
    """Folder for train.json and held_out.json; neither may be there."""

    def __post_init__(self) -> None:
        for path in parts_in(self.out):
            check_option(not path.exists(), "--out", path, "a folder without this file")
        check_new_folder(self.out, "--out")


def split(options: SplitOptions) -> tuple[Path, Path]:
    """Read, part and write; print both files. OptionError where a fifth is too few questions for a score."""
    path = resolve(options.file, "train")
    examples = read_squad(path)
    parts = write_parts(examples, options.out, source_reference(path))
    if parts is None:
        raise OptionError(f"{options.file}: {why_none(examples)}; add questions, or texts")
    train, held_out = parts
    say_next_training_on_part(train, held_out, in_runs(path, "model"))
    return parts


def parts_in(folder: Path) -> tuple[Path, Path]:
    """Return the files to train on and to score on."""
    return folder / "train.json", folder / "held_out.json"


def write_parts(
    examples: Sequence[Example], folder: Path, source: dict[str, Any]
) -> tuple[Path, Path] | None:
    """Write and print the parts of questions from the file `source`; None, writing nothing, of too few."""
    contexts = held_out_contexts(examples)
    if not contexts:
        return None
    parts = parts_in(folder)
    lines = []
    try:
        for path, is_held_out in zip(parts, (False, True), strict=True):
            part = [e for e in examples if (e.context in contexts) == is_held_out]
            write_squad(path, part, source)
            lines.append(f"{path}: {len(part):,} questions on {len({e.context for e in part}):,} texts")
    except BaseException:
        for path in parts:
            path.unlink(missing_ok=True)
        raise
    print("\n".join(lines))
    return parts


def why_none(examples: Sequence[Example]) -> str:
    """Say why no questions are held out."""
    n_texts = len(set(texts_of(examples)))
    return (
        f"{len(examples):,} questions on {n_texts:,} texts; to hold out {ENOUGH_QUESTIONS} questions on "
        f"{MIN_ARTICLES} texts takes about twice as many of both"
    )


def texts_of(examples: Sequence[Example]) -> list[str]:
    """Return the text of each question: its article, or its passage where a fifth of the articles is few.

    A passage with several titles is a text of its own.
    """
    few_articles = HELD_OUT_SHARE * len({e.title for e in examples}) < MIN_ARTICLES
    return [e.context for e in examples] if few_articles else articles_of(examples)


def held_out_contexts(examples: Sequence[Example]) -> set[str]:
    """Return the passages that are held out: of texts in the order of their hashes, 20 % of the questions.

    They are 100 questions on 10 texts at least. Nothing is held out where that is more than half of all. A
    copy of a question stays with its original.
    """
    asked_on = dict(zip((e.id for e in examples), texts_of(examples), strict=True))
    hashes = {text: passage_hash(text) for text in set(asked_on.values())}
    texts = [hashes[asked_on.get(e.copy_of or e.id, asked_on[e.id])] for e in examples]
    sizes = Counter(texts)
    wanted = max(HELD_OUT_SHARE * len(examples), ENOUGH_QUESTIONS)
    held_out: set[int] = set()
    n = 0
    for text in sorted(sizes):
        if n >= wanted and len(held_out) >= MIN_ARTICLES:
            break
        held_out.add(text)
        n += sizes[text]
    passages = {e.context: passage_hash(e.context) for e in examples}
    held = {passages[e.context] for e, text in zip(examples, texts, strict=True) if text in held_out}
    contexts = {context for context, passage in passages.items() if passage in held}
    return contexts if sum(e.context in contexts for e in examples) <= len(examples) / 2 else set()


if __name__ == "__main__":
    run_command("split")
