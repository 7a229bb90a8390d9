"""Write a smaller data file: questions evenly spaced over all articles of a larger one.

    python -m qa.data.sample --data squad --questions 2000 --out dev-2000.json
    python -m qa.data.sample --data train-v2.0.json --split train --questions 6000 --add everyday --out m.json

Where all questions would take hours, all models are scored on the same smaller file. With --add, a model can
learn new texts and keep what it knows: the file then ends with all questions of other files. It is the same
on every machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from qa.base.cli import check_option
from qa.base.commands import run_command
from qa.base.errors import SquadFormatError, first_few
from qa.base.files import check_not_an_input
from qa.base.next_step import say_next_distilling, say_next_scoring, say_next_training
from qa.base.sampling import evenly
from qa.data.datasets import resolve, source_reference
from qa.data.squad import Example, check_new_squad, read_originals, read_squad, write_squad


@dataclass(frozen=True)
class SampleOptions:
    """Write some of a data file's questions as a data file."""

    out: Path
    """SQuAD JSON file to write."""
    questions: int
    """Number of questions to take; of fewer, all."""
    data: str = "embedded"
    """File of questions (SQuAD JSON or records), or embedded, everyday, squad, squad_v2."""
    split: Literal["train", "dev"] = "dev"
    """Part of a named data set: train to train on, dev to score on. Where an answer of a table occurs several
    times, dev takes the first place, and train leaves the record out."""
    add: tuple[str, ...] = ()
    """Further data files or names, whose questions all follow the chosen ones. Training holds out the last
    texts of a file."""

    def __post_init__(self) -> None:
        check_option(self.questions >= 1, "--questions", self.questions, "at least 1")
        check_new_squad(self.out, "--out")


def write_sample(options: SampleOptions) -> None:
    """Read, choose, write, and print the result."""
    path = resolve(options.data, options.split)
    more = [resolve(name, options.split) for name in options.add]
    named = map(Path, (options.data, *options.add))  # a table is read from a copy of it
    check_not_an_input(options.out, "--out", [*named, path, *more])
    examples = read_originals(path)
    chosen = [examples[i] for i in evenly(len(examples), options.questions)]
    parts = [read_squad(file, unlabelled=options.split == "train") for file in more]
    check_ids((options.data, *options.add), [chosen, *parts])
    added = [example for part in parts for example in part]
    write_squad(options.out, chosen + added, source_reference(path), added=list(map(source_reference, more)))
    and_added = f", and {len(added):,} added" if more else ""
    print(f"{options.out}: {len(chosen):,} of {len(examples):,} questions{and_added}")
    if options.split == "dev":
        say_next_scoring(options.out)
    elif any(example.unlabelled for example in added):
        say_next_distilling(options.out)
    else:
        say_next_training(options.out)


def check_ids(names: Sequence[str], parts: Sequence[Sequence[Example]]) -> None:
    """Raise SquadFormatError for a question id that two of the files have."""
    files: dict[str, str] = {}
    for name, part in zip(names, parts, strict=True):
        if twice := [example.id for example in part if example.id in files]:
            raise SquadFormatError(
                f"--add {name}: {files[twice[0]]} has questions with the same ids: {first_few(twice)}; "
                "give the questions other ids; a table has them in a column 'id'"
            )
        files |= dict.fromkeys((example.id for example in part), name)


if __name__ == "__main__":
    run_command("sample")
