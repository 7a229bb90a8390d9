"""Scores by the category of a question, a line for each model, from results that have them."""

from collections.abc import Sequence

from benchmarks.results.rows import Accuracy
from benchmarks.show.groups import Group
from benchmarks.show.tables import Table, number, text_table

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
    scored = [entry.accuracy for entry in group.entries if entry.accuracy and entry.accuracy.by_category]
    if not scored:
        return []
    counts = {name: int(scores["total"]) for name, scores in scored[0].by_category.items()}
    names = sorted(counts, key=lambda name: -counts[name])
    headings = ("model", *SCORES, *(f"{name} ({counts[name]:,})" for name in names))
    lines = [_line(accuracy, names) for accuracy in scored]
    title = f"{group.data}, {scored[0].n:,} questions"
    return [text_table(title, headings, lines, (*NOTES, group.machine))]


def _line(accuracy: Accuracy, names: Sequence[str]) -> list[str]:
    scores = [number(getattr(accuracy, key)) for key in SCORES.values()]
    return [
        accuracy.model,
        *scores,
        *(number(accuracy.by_category.get(name, {}).get("f1")) for name in names),
    ]
