"""Scores by the category of a question, a line for each model, from results that have them."""

from benchmarks.results.rows import Accuracy
from benchmarks.show.columns import caution_marks
from benchmarks.show.footnotes import caution_footnotes
from benchmarks.show.groups import Group
from benchmarks.show.tables import Column, Table, make_table

SCORES = {
    "F1": "f1",
    "EM": "exact",
    "HasAns F1": "HasAns_f1",
    "HasAns EM": "HasAns_exact",
    "NoAns": "NoAns_f1",
}
NOTES = (
    "HasAns: questions with an answer; NoAns: questions without, where F1 and EM are the same",
    "by category: F1, with the number of questions",
)


def category_tables(group: Group) -> list[Table]:
    """Return the table of all models scored by category; none where no data file has categories."""
    scored = [scores for scores in group.scores if scores.by_category]
    if not scored:
        return []
    counts = {name: int(scores["total"]) for name, scores in scored[0].by_category.items()}
    columns = [
        Column("model", "model", mark=caution_marks),
        *(Column(heading, key, ".2f") for heading, key in SCORES.items()),
        *(_column(name, counts[name]) for name in sorted(counts, key=lambda name: -counts[name])),
    ]
    footnotes = (*NOTES, *caution_footnotes(scored), group.machine)
    return [make_table(f"{group.data}, {scored[0].n:,} questions", columns, scored, footnotes)]


def _column(name: str, n: int) -> Column:
    def f1(scores: Accuracy) -> float | None:
        return scores.by_category.get(name, {}).get("f1")

    return Column(f"{name} ({n:,})", f1, ".2f")
