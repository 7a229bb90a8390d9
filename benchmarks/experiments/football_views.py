"""The tables of the football experiment out of every question's scores. Nothing is measured here."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.experiments.base import QuestionScores
from benchmarks.results.stats import resampled_scores, score_interval
from benchmarks.show.tables import UNKNOWN, Table, number, text_table
from qa.data.metrics import has_answer
from qa.data.squad import Example
from qa.evaluation.bootstrap import LEVEL, N_RESAMPLES, Interval

MARKERS_NAME = "football"
SQUAD = "squad"
FOOTBALL = "football"
SQUAD_FOOTBALL = "squad-football"
# In the order they are trained and shown; the first is not trained here.
STARTS = {SQUAD: "SQuAD", FOOTBALL: "football", SQUAD_FOOTBALL: "SQuAD, then football"}
SHOWN = ("F1", "EM", "Ans F1", "Ans EM", "No Ans F1 (= EM)")


@dataclass(frozen=True)
class FootballResults:
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

    def difference(self, ours: tuple[str, int], theirs: tuple[str, int]) -> Interval | None:
        """F1 of one model less that of another, paired, in points; None where one is not known."""
        if not {ours, theirs} <= self.scores.keys():
            return None
        first, second = (self.scores[key].array(self.examples) for key in (ours, theirs))
        return score_interval(first - second, [e.title for e in self.examples])


def main_table(results: FootballResults) -> Table:
    """A line for each model and length: scores over all, with an answer, without, and by category."""
    headings = (
        "trained on",
        "tokens",
        *SHOWN,
        *(f"{name} ({n:,})" for name, n in results.categories.items()),
    )
    answerable = [e for e in results.examples if has_answer(e)]
    impossible = [e for e in results.examples if not has_answer(e)]
    cells = []
    for start, title in STARTS.items():
        for length in results.lengths:
            scores = results.scores.get((start, length))
            if scores is None:
                cells.append((title, str(length), *[UNKNOWN] * (len(headings) - 2)))
                continue
            every, with_answer, without = (
                scores.mean(part) for part in (results.examples, answerable, impossible)
            )
            parts = scores.by_category(results.examples)
            figures = [
                every["f1"],
                every["exact"],
                with_answer.get("f1"),
                with_answer.get("exact"),
                without.get("f1"),
                *(parts[name]["f1"] for name in results.categories),
            ]
            cells.append((title, str(length), *map(number, figures)))
    notes = [
        f"Ans: the {len(answerable):,} questions with an answer; No Ans: the {len(impossible):,} without, "
        "where F1 and EM are "
        "the same; by category: F1, with the number of questions",
        "some templates have many right answers and one gold answer, which lowers categories unequally: "
        "compare within a column",
        *results.conditions,
        *results.failures,
    ]
    return text_table("Football match reports", headings, cells, notes)


def comparisons(results: FootballResults) -> list[tuple[str, Interval]]:
    """(what, difference of F1 in points): SQuAD first against football alone by length; longer windows
    against the shortest."""
    shortest, *longer = sorted(results.lengths)
    pairs = [
        (f"SQuAD first - football alone, {n} tokens", (SQUAD_FOOTBALL, n), (FOOTBALL, n))
        for n in results.lengths
    ]
    pairs += [
        (f"{n} - {shortest} tokens, {title}", (start, n), (start, shortest))
        for start, title in STARTS.items()
        for n in longer
    ]
    found = [(what, results.difference(ours, theirs)) for what, ours, theirs in pairs]
    return [(what, difference) for what, difference in found if difference is not None]


def comparison_table(results: FootballResults) -> Table | None:
    """Every comparison with its interval and in words; None when there is nothing to compare."""
    cells = [
        (
            what,
            f"{one.mean:+.2f}",
            f"{one.low:+.2f} to {one.high:+.2f}",
            "within the noise of questions"
            if one.holds_zero
            else "exceeds the noise of questions; seeds not tried",
        )
        for what, one in comparisons(results)
    ]
    if not cells:
        return None
    articles = [e.title for e in results.examples]
    over = resampled_scores(np.zeros((len(articles), 1)), articles, 1)[1]
    notes = (
        f"F1 over all questions, the same on both sides; interval: {LEVEL:.0%}, of a bootstrap over {over}, "
        "paired, "
        f"{N_RESAMPLES:,} resamples",
        f"{len(results.examples):,} questions on {len(set(articles)):,} reports",
    )
    return text_table("Football: differences", ("difference", "F1", "interval", "in words"), cells, notes)
