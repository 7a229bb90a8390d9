"""The tables of the football experiment out of every question's scores. Nothing is measured here."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmarks.football_train import FOOTBALL, SQUAD_FOOTBALL, STARTS
from benchmarks.table import as_markdown, as_text, replace_marked
from benchmarks.views.cells import UNKNOWN, Table, number
from benchmarks.zoo_train import QuestionScores
from qa.bootstrap import LEVEL, N_RESAMPLES, Interval, paired_difference
from qa.files import write_whole
from qa.metrics import has_answer
from qa.squad import Example

MARKERS_NAME = "football"
SHOWN = ("F1", "EM", "Ans F1", "Ans EM", "No Ans F1 (= EM)")


@dataclass(frozen=True)
class Results:
    """What was measured: scores by (start, max_length), and under which conditions."""

    lengths: Sequence[int]
    scores: Mapping[tuple[str, int], QuestionScores]
    examples: Sequence[Example]
    conditions: Sequence[str]
    """Notes that follow from the data and the bundles, a sentence each."""
    failures: Sequence[str]

    @cached_property
    def categories(self) -> dict[str, int]:
        """Questions of each category, the most frequent first."""
        return dict(Counter(str(e.category) for e in self.examples).most_common())

    def f1(self, start: str, length: int) -> np.ndarray:
        """F1 (Q,) of every question in percent."""
        return self.scores[start, length].array(self.examples)


def share(examples: Sequence[Example], scores: QuestionScores) -> dict[str, float]:
    """EM and F1 in percent over these of the questions scored, and how many they are; empty when there are none."""
    ids = [e.id for e in examples]
    if not ids:
        return {}
    exact, f1 = (100 * float(np.mean([values[qid] for qid in ids])) for values in (scores.exact, scores.f1))
    return {"exact": exact, "f1": f1, "total": len(ids)}


def by_category(examples: Sequence[Example], scores: QuestionScores) -> dict[str, dict[str, float]]:
    """`share` of every category there is, by name."""
    names = sorted({str(e.category) for e in examples})
    return {name: share([e for e in examples if e.category == name], scores) for name in names}


def main_table(results: Results) -> Table:
    """A line for each model and length: scores over all, with an answer, without, and by category."""
    headings = ("trained on", "tokens", *SHOWN, *(f"{name} ({n:,})" for name, n in results.categories.items()))
    answerable = [e for e in results.examples if has_answer(e)]
    impossible = [e for e in results.examples if not has_answer(e)]
    cells = []
    for start, title in STARTS.items():
        for length in results.lengths:
            scores = results.scores.get((start, length))
            if scores is None:
                cells.append((title, str(length), *[UNKNOWN] * (len(headings) - 2)))
                continue
            every, with_answer, without = (share(part, scores) for part in (results.examples, answerable, impossible))
            parts = by_category(results.examples, scores)
            figures = [
                every["f1"], every["exact"], with_answer.get("f1"), with_answer.get("exact"), without.get("f1"),
                *(parts[name]["f1"] for name in results.categories),
            ]  # fmt: skip
            cells.append((title, str(length), *map(number, figures)))
    notes = [
        f"Ans: the {len(answerable):,} questions with an answer; No Ans: the {len(impossible):,} without, where F1 and EM are "
        "the same; by category: F1, with the number of questions",
        "some templates have many right answers and one gold answer, which lowers categories unequally: compare within a column",
        *results.conditions,
        *results.failures,
    ]
    return Table("Football match reports", headings, tuple(cells), tuple(notes), n_left=1)


def comparisons(results: Results) -> list[tuple[str, Interval]]:
    """(what, difference of F1 in points): SQuAD first against football alone by length; longer windows against the shortest."""
    found = []
    for length in results.lengths:
        if {(SQUAD_FOOTBALL, length), (FOOTBALL, length)} <= results.scores.keys():
            pair = results.f1(SQUAD_FOOTBALL, length), results.f1(FOOTBALL, length)
            found.append((f"SQuAD first - football alone, {length} tokens", paired_difference(*pair)))
    shortest, *longer = sorted(results.lengths)
    for start, title in STARTS.items():
        for length in longer:
            if {(start, length), (start, shortest)} <= results.scores.keys():
                pair = results.f1(start, length), results.f1(start, shortest)
                found.append((f"{length} - {shortest} tokens, {title}", paired_difference(*pair)))
    return found


def comparison_table(results: Results) -> Table | None:
    """Every comparison with its interval and in words; None when there is nothing to compare."""
    cells = [
        (
            what, f"{one.mean:+.2f}", f"{one.low:+.2f} to {one.high:+.2f}",
            "within the noise of questions" if one.holds_zero else "exceeds the noise of questions; seeds not tried",
        )
        for what, one in comparisons(results)
    ]  # fmt: skip
    if not cells:
        return None
    notes = (
        f"F1 over all questions, the same on both sides; interval: {LEVEL:.0%}, of a bootstrap over questions, paired, "
        f"{N_RESAMPLES:,} resamples",
        f"{len(results.examples):,} questions on {len({e.title for e in results.examples}):,} reports; where several are on one "
        "report they are not independent, and the intervals rather too narrow",
    )
    return Table("Football: differences", ("difference", "F1", "interval", "in words"), tuple(cells), notes, n_left=1)


def write_results(results: Results, out: Path, readme: Path | None) -> str:
    """Write football.md into `out` and, where given, the tables into a marked Markdown file. Returns them as text."""
    tables = [table for table in (main_table(results), comparison_table(results)) if table is not None]
    markdown = "\n".join(map(as_markdown, tables))
    write_whole(out / "football.md", markdown)
    if readme is not None:
        text = readme.read_text(encoding="utf-8")
        write_whole(readme, replace_marked(text, MARKERS_NAME, markdown, str(readme)))
    return "\n".join(map(as_text, tables)) + "\n"
