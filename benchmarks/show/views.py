"""Tables of results by the name of a view. Nothing is measured here."""

from collections.abc import Callable, Sequence

from benchmarks.show.card import card_tables
from benchmarks.show.categories import category_tables
from benchmarks.show.columns import ACCURACY, BRIEF, LATENCY, SUMMARY, Line
from benchmarks.show.footnotes import table_footnotes
from benchmarks.show.groups import Group
from benchmarks.show.phone_views import phone_tables
from benchmarks.show.ranking import ranking_tables
from benchmarks.show.tables import Table, make_table
from benchmarks.show.target_views import arm_tables

PER_MODEL = {"brief": BRIEF, "summary": SUMMARY, "accuracy": ACCURACY}


def view_tables(groups: Sequence[Group], view: str) -> list[Table]:
    """Return the tables of a view; benchmarks.table lists the views."""
    if view in ACROSS_GROUPS:
        return ACROSS_GROUPS[view](groups)
    if view in OTHER_VIEWS:
        return [table for group in groups for table in OTHER_VIEWS[view](group)]
    return [
        make_table(_title(g), PER_MODEL[view], [Line(e) for e in g.entries], table_footnotes(g, view))
        for g in groups
        if g.entries
    ]


def latency_tables(group: Group) -> list[Table]:
    """Return a table with a line for each setting of each model."""
    if group.on_phone:
        return phone_tables(group)
    lines = [Line(e, row) for e in group.entries for row in e.times()]
    if not lines:
        return []
    batched = any(line.row.batch > 1 for line in lines if line.row)
    columns = [column for column in LATENCY if batched or column.heading != "batch"]
    return [make_table(_title(group), columns, lines, table_footnotes(group, "latency"))]


def _title(group: Group) -> str:
    return f"{group.data}, {group.scores[0].n:,} questions" if group.scores else str(group.data)


OTHER_VIEWS: dict[str, Callable[[Group], list[Table]]] = {
    "latency": latency_tables,
    "toolchains": ranking_tables,
    "categories": category_tables,
}
ACROSS_GROUPS: dict[str, Callable[[Sequence[Group]], list[Table]]] = {"arm": arm_tables, "card": card_tables}
VIEWS = (*PER_MODEL, *OTHER_VIEWS, *ACROSS_GROUPS)
