"""A table as text, and how figures are written in its cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.rows import Row
from qa.bootstrap import Interval

UNKNOWN = "–"
QUICK = "†"  # behind a figure that too little was timed for


@dataclass(frozen=True)
class Table:
    """Cells as text under their headings; `n_left` columns are names (aligned left), the rest figures."""

    title: str
    headings: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    n_left: int = 3


def number(value: Any, form: str = ".2f", scale: float = 1.0, unit: str = "") -> str:
    """A figure as text, or a dash when it is not known."""
    return UNKNOWN if value is None else f"{value * scale:{form}}{unit}"


def span(interval: Interval | None, form: str = ".2f", scale: float = 1.0) -> str:
    """The ends of an interval, or a dash."""
    return UNKNOWN if interval is None else f"{interval.low * scale:{form}}–{interval.high * scale:{form}}"


def with_span(shown: str, interval: Interval | None, form: str, scale: float = 1.0) -> str:
    """A figure with the ends of its interval, where there is one: 95.8% (95.1–96.4)."""
    return shown if interval is None or shown == UNKNOWN else f"{shown} ({span(interval, form, scale)})"


def marked(shown: str, *rows: Row) -> str:
    """A figure with a mark when it is of a row that too little was timed for."""
    return f"{shown}{QUICK}" if shown != UNKNOWN and any(row.get("quick") for row in rows) else shown


def listed(names: Sequence[str]) -> str:
    """a; a and b; a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
