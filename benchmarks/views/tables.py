"""Tables out of rows, by the name of a view. Nothing is measured here."""

from collections.abc import Sequence

from benchmarks.views.arm import arm_tables
from benchmarks.views.cells import Table
from benchmarks.views.groups import Group
from benchmarks.views.latency import latency_table, phone_table
from benchmarks.views.notes import table_notes
from benchmarks.views.peers import peers_tables
from benchmarks.views.summary import accuracy_columns, summary_columns
from benchmarks.views.training import training_tables

VIEWS = ("summary", "latency", "accuracy", "peers", "arm", "training")


def view_tables(groups: Sequence[Group], view: str) -> list[Table]:
    """One table a group: "summary" (a line for each model), "latency" (one for each setting) or "accuracy".

    Phones have a latency table only. "peers" is a table a PyTorch bundle and setting, our best export against other tools.
    "arm" is one table a data set, of what was computed on hosts by ssh and under QEMU; "training" one a data set and machine, of
    how fast training is.
    """
    if view == "arm":
        return arm_tables(groups)
    if view == "peers":
        return peers_tables(groups)
    if view == "training":
        return training_tables(groups)
    tables = []
    for group in groups:
        if group.on_phone:
            tables += [phone_table(group)] if view == "latency" else []
            continue
        n = next((f", {e.facts['n']:,} questions" for e in group.entries if "n" in e.facts), "")
        title, notes = f"{group.data}{n}", tuple(table_notes(group, view))
        if view == "latency":
            table = latency_table(title, group, notes)
        else:
            columns = summary_columns(group) if view == "summary" else accuracy_columns(group)
            cells = tuple(tuple(cell(entry) for _, cell in columns) for entry in group.entries)
            table = Table(title, tuple(heading for heading, _ in columns), cells, notes)
        if table.cells:
            tables.append(table)
    return tables
