"""More training questions without gold answers: a student learns from its teacher's answers to them.

    python -m distill.unlabelled --data squad_v2 --passages 1 --reworded 1 --out more.json

OUT has all questions of the data, and new ones marked "unlabelled": each question with other passages of its
article (`ID-passage1`), and with its own passage, some of whose words are replaced by similar ones
(`ID-reworded1`; after TinyBERT, Jiao et al. 2020). Only distillation takes such a file.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qa.base.cli import check_option, run_command
from qa.base.files import check_not_an_input, check_writable


@dataclass(frozen=True, kw_only=True)
class UnlabelledConfig:
    """Add questions without gold answers to SQuAD data."""

    out: Path
    """SQuAD JSON file to write."""
    data: str = "embedded"
    """SQuAD JSON file (plain or gzip), or embedded, squad, squad_v2 (their train part)."""
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


def main(config: UnlabelledConfig) -> Any:
    """Write the file and print how many questions of each sort it has."""
    from distill.unlabelled.stage import add_unlabelled

    return add_unlabelled(config)


if __name__ == "__main__":
    run_command(main)
