"""Differences of F1 between models, paired question by question, with intervals over articles.

    python -m benchmarks.differences runs/heads/rows.jsonl --data runs/heads/dev.json --baseline linear
    python -m benchmarks.differences runs/demo/rows.jsonl --baseline teacher --write page.md

The command reads the answers that `benchmarks/compare.py` kept beside its results, and measures nothing.
Models whose names differ only in -seed0, -seed1 are one line: the mean over their seeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import tyro

from benchmarks.results.files import read_results
from benchmarks.results.rows import Accuracy
from benchmarks.show.differences import Scores, by_seed, difference_table, split_seed
from benchmarks.show.footnotes import overlap_footnotes
from benchmarks.show.tables import check_markers, show
from qa.base.cli import check_choice, check_option
from qa.base.commands import run_command
from qa.base.errors import OptionError
from qa.base.files import file_sha256
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import Example, read_squad

NAME = "differences"  # of the marked part


@dataclass(frozen=True)
class DifferencesOptions:
    """Compare the answers of models with those of a baseline, question by question."""

    rows: tyro.conf.Positional[Path]
    """File of results; the answers are in the folder of the same name with .predictions."""
    baseline: str
    """Model to compare with, by its name in the results without -seedN."""
    data: str = EMBEDDED
    """Data file of the answers: SQuAD JSON (plain or gzip), or the dev part of embedded, everyday, squad or
    squad_v2."""
    models: tuple[str, ...] | None = None
    """Models to compare, by names without -seedN; all when not given."""
    write: Path | None = None
    """Markdown file whose marked part is replaced by the table."""

    def __post_init__(self) -> None:
        if self.write is not None:
            check_markers(self.write, NAME)


def newest_scores(rows: Path, data: Path) -> dict[str, Accuracy]:
    """Return the newest scores of every model on a data file."""
    sha256 = file_sha256(data)
    return {r.model: r for r in read_results(rows) if type(r) is Accuracy and r.data.sha256 == sha256}


def read_f1(
    rows: Path, scores: Mapping[str, Accuracy], data: Path, examples: list[Example]
) -> dict[str, np.ndarray]:
    """Return F1 (Q,) in percent of every model whose answers to a data file are kept.

    OptionError when answers do not have the F1 of their result, or none are kept.
    """
    from benchmarks.show.questions import kept_answers  # loads torch

    kept = {model: kept_answers(rows, result, examples) for model, result in scores.items()}
    f1 = {model: found[1] for model, found in kept.items() if found is not None}
    if not f1:
        raise OptionError(
            f"{rows}: has no answers to {data.name} beside it; run benchmarks/compare.py with --data {data}"
        )
    return f1


def chosen(options: DifferencesOptions, models: Mapping[str, Scores]) -> dict[str, Scores]:
    """Return the baseline and the models of --models. OptionError when one is unknown."""
    check_choice("--baseline", options.baseline, models)
    for model in options.models or ():
        check_option(model in models, "--models", model, f"among {', '.join(models)}")
    return {
        name: scores
        for name, scores in models.items()
        if options.models is None or name in (options.baseline, *options.models)
    }


def print_differences(options: DifferencesOptions) -> str:
    """Print the table, or write it into a file. Returns it as text."""
    data = resolve(options.data, "dev")
    examples = read_squad(data)
    scores = newest_scores(options.rows, data)
    models = chosen(options, by_seed(read_f1(options.rows, scores, data, examples)))
    articles = [example.title for example in examples]
    table = difference_table(models, options.baseline, articles, data.name)
    overlaps = overlap_footnotes(r for model, r in scores.items() if split_seed(model)[0] in models)
    table = replace(table, footnotes=(*table.footnotes, *overlaps))
    return show([table], options.write, NAME)


if __name__ == "__main__":
    run_command("differences")
