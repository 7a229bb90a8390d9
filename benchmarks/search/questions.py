"""Questions of a search: windows to recover on, a half to choose the best candidate, a half to check it."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.search.stage import SearchConfig
from qa.base.errors import OptionError
from qa.base.sampling import evenly
from qa.bundles.bundle import Bundle
from qa.data.datasets import check_not_dev, resolve
from qa.data.squad import Example, read_squad
from qa.evaluation.threshold import read_held_out, split_articles
from qa.text.features import Window, make_windows
from qa.text.settings import QASettings


@dataclass(frozen=True)
class Half:
    """Held-out questions that are scored together, with their windows."""

    examples: list[Example]
    windows: list[Window]
    settings: QASettings

    @property
    def articles(self) -> list[str]:
        """Return the article of each question."""
        return [example.title for example in self.examples]


@dataclass(frozen=True)
class Questions:
    """Windows that pruned models recover on, and the questions that score them."""

    data: Path
    train: list[Window]
    choice: Half
    """Questions that every candidate answers."""
    check: Half
    """Questions that only the chosen candidate answers."""


def halves(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Deal questions into two halves of about the same size, whole passages where there are two or more."""
    by_passage = len({example.context for example in examples}) > 1
    groups: dict[str, list[Example]] = {}
    for example in examples:
        groups.setdefault(example.context if by_passage else example.id, []).append(example)
    first: list[Example] = []
    second: list[Example] = []
    for group in groups.values():
        smaller = first if len(first) <= len(second) else second
        smaller.extend(group)
    return first, second


def read_questions(config: SearchConfig, parent: Bundle) -> Questions:
    """Read the data and cut windows; say on stderr where there are fewer questions than --questions."""
    data = resolve(config.data, "train")
    check_not_dev(data, "--data")  # now, and not when the best model is saved
    train, held_out = split_articles(read_squad(data), read_held_out(parent.path))
    if len(held_out) < 2:
        raise OptionError(
            f"--data {config.data}: {len(held_out)} of its questions can be held out to score on, and a "
            "search needs two; give questions on more passages"
        )
    parts = halves([held_out[i] for i in evenly(len(held_out), config.questions)])
    if len(held_out) < config.questions:
        print(
            f"--questions {config.questions}: only {len(held_out)} can be held out of --data {config.data}; "
            f"{len(parts[0])} choose the best model, {len(parts[1])} check it",
            file=sys.stderr,
        )

    def cut(part: list[Example]) -> list[Window]:
        return make_windows(part, parent.tokenizer, parent.settings, progress=True)

    return Questions(data, cut(train), *(Half(part, cut(part), parent.settings) for part in parts))
