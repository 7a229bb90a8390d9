"""What was timed or counted at which setting: the newest row of every model, runtime, lengths, threads and batch."""

from dataclasses import dataclass

from benchmarks.rows import OK, Row
from benchmarks.views.groups import Entry, Group, is_batched
from benchmarks.views.latency import newest_on_phone


@dataclass(frozen=True)
class Setting:
    """Lengths ("real" or the padded length), threads and batch; None where rows do not say."""

    lengths: str | int | None
    threads: int | None
    batch: int | None
    rows: tuple[Row, ...]

    def row_of(self, entry: Entry, key: str) -> Row | None:
        """The newest row of this entry's bundle and runtime at this setting that has `key`."""
        same = [row for row in self.rows if key in row and _is_of(row, entry)]
        return same[-1] if same else None


def _is_of(row: Row, entry: Entry) -> bool:
    return all(row.get(key) == entry.facts.get(key) for key in ("model", "bundle_sha256", "runtime"))


def current_rows(group: Group) -> list[Row]:
    """The newest row of each model at each setting that was timed or counted; of a bundle that changed, only the last's."""
    if group.on_phone:
        return newest_on_phone(group)
    found: dict[tuple[object, ...], Row] = {}
    for number, entry in enumerate(group.entries):
        for row in group.rows:
            timed = "latency_ms_p50" in row or "instructions_per_window" in row or is_batched(row)
            if timed and _is_of(row, entry) and row["status"] == OK:
                found[number, row.get("threads"), row.get("batch"), str(row.get("lengths"))] = row
    return list(found.values())


def shown_setting(group: Group, key: str) -> Setting | None:
    """The setting that a plot of `key` shows: a single window, real lengths, as few threads as there are; None without rows."""
    rows = [row for row in current_rows(group) if key in row]
    if not rows:
        return None

    def rank(row: Row) -> tuple[int, bool, int]:
        return row.get("batch", 1), row.get("lengths") != "real", row.get("threads", 0)

    first = min(rows, key=rank)
    setting = (first.get("lengths"), first.get("threads"), first.get("batch"))
    same = [row for row in rows if (row.get("lengths"), row.get("threads"), row.get("batch")) == setting]
    return Setting(*setting, tuple(same))
