"""The table of our best export against its peers, one for real lengths and one for each length padded to."""

from collections.abc import Sequence

from benchmarks.rows import Row
from benchmarks.views.cells import UNKNOWN, Table, marked, number, span, with_span
from benchmarks.views.groups import Entry, Group, peers_of
from benchmarks.views.names import peer_notes, short_runtime_name
from benchmarks.views.notes import busy_notes, failure_notes, quick_notes
from benchmarks.views.standing import EQUAL_F1, Standing, standings
from benchmarks.views.summary import row_interval

HEADINGS = ("model", "tool", "precision", "MB", "F1", "F1 - ours", "ms", "x ours", "95 %")


def peers_tables(groups: Sequence[Group]) -> list[Table]:
    """A table for each PyTorch bundle and setting, the verdict as its title."""
    return [peers_table(group, standing) for group in groups if not group.on_phone for standing in standings(group)]


def peers_table(group: Group, standing: Standing) -> Table:
    """Ours, and the peers with the fastest first."""
    cells = [_cells(standing.ours, standing.row, "", "1.00x", UNKNOWN)]
    for line in standing.lines:
        faster = marked(number(line.faster, ".2f", unit="x"), standing.row, line.row)
        cells.append(_cells(line.peer, line.row, f"{line.f1_difference:+.2f}", faster, span(line.interval)))
    peers = peers_of(group.entries, str(standing.lines[0].peer.made_from_sha256))
    shown = [standing.row, *(line.row for line in standing.lines)]
    notes = [
        *(standing.sentence(line) for line in standing.lines if line.beyond_noise >= 0),
        f"ms: mean of the runtime call for one window {standing.where}, 1 thread; x ours: times as fast as "
        f"{standing.ours.facts['model']}, our fastest export here; equal F1: at most {EQUAL_F1:g} points below ours",
        f"all made of {standing.made_from}; {group.data}; {group.machine}",
        *peer_notes(peers), *quick_notes(shown), *busy_notes(shown, group.machine),
        *failure_notes([peer.facts for peer in peers]),
    ]  # fmt: skip
    return Table(standing.verdict(), HEADINGS, tuple(cells), tuple(notes))


def _cells(entry: Entry, row: Row, difference: str, faster: str, interval: str) -> tuple[str, ...]:
    facts = entry.facts
    return (
        facts["model"], short_runtime_name(entry), facts["precision"], number(facts.get("size_bytes"), ".1f", 1e-6),
        with_span(number(facts["f1"]), row_interval(facts, "f1"), ".1f"), difference,
        marked(number(row.get("latency_ms_mean"), ".1f"), row), faster, interval,
    )  # fmt: skip
