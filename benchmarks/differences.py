"""Differences of F1 between models, paired question by question, with intervals over articles.

    python -m benchmarks.differences runs/heads/rows.jsonl --data runs/heads/dev.json --baseline linear

The command reads the answers that `benchmarks/compare.py` kept beside its results, and measures nothing.
Scores of a GPU count only where the file has none of a CPU for these questions.
Models whose names differ only in -seed0, -seed1 are one line: the mean over their seeds.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import tyro

from benchmarks.results.files import read_results
from benchmarks.results.rows import Accuracy
from benchmarks.show.collecting import collect
from benchmarks.show.differences import difference_table, split_seed
from benchmarks.show.footnotes import caution_footnotes
from benchmarks.show.tables import as_text
from qa.base.cli import check_choice, check_option
from qa.base.commands import run_command
from qa.base.errors import OptionError, first_few
from qa.base.files import file_sha256
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import Example, articles_of


@dataclass(frozen=True)
class DifferencesOptions:
    """Compare the answers of models with those of a baseline, question by question."""

    rows: tyro.conf.Positional[Path]
    """File of results; the answers are in the folder of the same name with .predictions."""
    baseline: str
    """Model to compare with, by its name in the results without -seedN."""
    data: str = EMBEDDED
    """Questions of the answers: SQuAD JSON or records, or the dev part of embedded, everyday, squad or
    squad_v2."""
    models: tuple[str, ...] | None = None
    """Models to compare, by names without -seedN; all when not given."""


def read_f1(rows: Path, data: str) -> tuple[list[Example], dict[str, np.ndarray], dict[str, Accuracy]]:
    """Return questions, and F1 (Q,) in percent and newest scores of every model whose answers are kept.

    OptionError when answers do not have the F1 of their result, or none are kept.
    """
    from benchmarks.show.questions import read_kept  # loads torch

    scored = [r for r in read_results(rows) if type(r) is Accuracy]
    sha256 = file_sha256(resolve(data, "dev"))
    target = min((r.target for r in scored if r.data and r.data.sha256 == sha256), default=None)
    # The file of answers of a model has those of the machine that scored it last.
    newest = {
        (r.model, r.data.sha256 if r.data else None): r
        for r in scored
        if target in (None, r.target)  # cpu before cuda
    }
    kept, faults = read_kept(data, rows, collect(list(newest.values())))
    if faults or kept is None or not kept.f1:
        why = f"has no answers to {data} beside it; run benchmarks/compare.py with --data {data}"
        raise OptionError(f"{rows}: {'; '.join(faults) or why}")
    scores = {entry.model: entry.accuracy for entry in kept.f1 if entry.accuracy is not None}
    all_scored = [
        r for r in newest.values() if r.data and (r.data.sha256, r.n) == (sha256, len(kept.examples))
    ]
    if others := [r.model for r in all_scored if r.model not in scores]:
        again = "benchmarks/compare.py computes them again"
        print(f"{rows}: no answers are kept of {first_few(others)}; {again}", file=sys.stderr)
    return list(kept.examples), {entry.model: f1 for entry, f1 in kept.f1.items()}, scores


def print_differences(options: DifferencesOptions) -> str:
    """Print the table. Returns it as text. OptionError for an unknown model."""
    examples, f1, scores = read_f1(options.rows, options.data)
    known = list(dict.fromkeys(split_seed(model)[0] for model in f1))
    check_choice("--baseline", options.baseline, known)
    for model in options.models or ():
        check_option(model in known, "--models", model, f"among {', '.join(known)}")
    names = {options.baseline, *(known if options.models is None else options.models)}
    articles = articles_of(examples)
    data = resolve(options.data, "dev").name
    table = difference_table(f1, options.baseline, articles, data, names)
    overlaps = caution_footnotes(r for model, r in scores.items() if split_seed(model)[0] in names)
    table = replace(table, footnotes=(*table.footnotes, *overlaps))
    text = as_text(table)
    print(text, end="")
    return text


if __name__ == "__main__":
    run_command("differences")
