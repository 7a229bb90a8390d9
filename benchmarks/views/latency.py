"""The latency view: a line for each setting, and the table of a phone."""

from typing import Any

from benchmarks.rows import OK, Row
from benchmarks.views.cells import UNKNOWN, Table, marked, number, span
from benchmarks.views.groups import REAL, Group, padded_length

PHONE_HEADINGS = (
    "model", "runtime", "MB", "lengths", "threads", "p50 ms", "p95 ms", "mean ms", "first ms", "runs", "load ms", "peak MB",
    "growth MB",
)  # fmt: skip
LATENCY_HEADINGS = (
    "model", "lengths", "threads", "p50 ms", "p90 ms", "p99 ms", "mean ms", "x mean", "x p50", "runs",
    "tokenize", "decode", "load ms", "peak MB",
)  # fmt: skip
# Shown where any row has them, each behind the column it belongs to.
MORE_HEADINGS = {"batch": "threads", "windows/s": "mean ms", "x, 95 %": "x mean", "first ms": "x p50", "timed s": "runs"}


def latency_table(title: str, group: Group, notes: tuple[str, ...]) -> Table:
    """A line for each setting of each model; columns that no row has a figure for, and old rows never had, are left out."""
    lines = [_line(group, row) for entry in group.entries for row in sorted(entry.timed_rows(), key=_by_setting)]
    headings = list(LATENCY_HEADINGS)
    for heading, before in MORE_HEADINGS.items():
        plain = "1" if heading == "batch" else UNKNOWN
        if any(line[heading] != plain for line in lines):
            headings.insert(headings.index(before) + 1, heading)
    return Table(title, tuple(headings), tuple(tuple(line[heading] for heading in headings) for line in lines), notes, n_left=1)


def _by_setting(row: Row) -> tuple[int, int, bool, int]:
    return row.get("batch", 1), row["threads"], row["lengths"] == REAL, padded_length(row)


def _line(group: Group, row: Row) -> dict[str, str]:
    """The cells by their headings."""
    times = {f"{name} ms": number(row.get(f"latency_ms_{name}"), ".1f") for name in ("p50", "p90", "p99", "mean")}
    return {
        "model": row["model"], "lengths": str(row["lengths"]), "threads": str(row["threads"]), "batch": str(row.get("batch", 1)),
        **{heading: marked(shown, row) for heading, shown in times.items()},
        "windows/s": marked(number(row["windows_per_s"] if row.get("batch", 1) > 1 else None, ",.1f"), row),
        **{f"x {name}": number(group.speedup(row, f"latency_ms_{name}"), ".2f", unit="x") for name in ("mean", "p50")},
        "x, 95 %": span(group.speedup_interval(row)),
        "first ms": number(row.get("latency_ms_first"), ".1f"),
        "runs": str(row.get("n_runs", UNKNOWN)), "timed s": number(row.get("timed_s"), ".0f"),
        **{name: number(row.get(f"{name}_ms_p50"), ".2f") for name in ("tokenize", "decode")},
        "load ms": number(row.get("load_ms"), ".0f"), "peak MB": number(row.get("peak_memory_mb"), ".0f"),
    }  # fmt: skip


def newest_on_phone(group: Group) -> list[Row]:
    """The newest row of each model, runtime and setting on a phone; a failure only until a later run of that setting succeeds."""
    current = {row["model"]: row["bundle_sha256"] for row in group.rows}
    newest: dict[tuple[Any, ...], Row] = {}
    failed: dict[tuple[Any, ...], Row] = {}
    for row in (row for row in group.rows if row["bundle_sha256"] == current[row["model"]]):
        setting = (row["model"], row.get("lengths"), row.get("threads"))
        if row["status"] != OK:
            failed[setting] = row
            continue
        newest[*setting, row["runtime"]] = row
        # What a failed run does not tell may have been this setting.
        failed = {key: old for key, old in failed.items() if any(a not in (None, b) for a, b in zip(key, setting, strict=True))}
    models = list(current)
    rows = [*failed.values(), *newest.values()]
    return sorted(rows, key=lambda r: (models.index(r["model"]), r.get("threads", 0), r.get("lengths", 0), r["runtime"]))


def phone_table(group: Group) -> Table:
    """A line for each model, runtime and setting on a phone."""
    rows = newest_on_phone(group)
    times = ("latency_ms_p50", "latency_ms_p95", "latency_ms_mean", "latency_ms_first")
    cells = [
        (
            row["model"], row["runtime"].replace(" benchmark_model", ""), number(row["size_bytes"], ".1f", 1e-6),
            str(row.get("lengths", UNKNOWN)), str(row.get("threads", UNKNOWN)),
            *(number(row.get(key), ".1f") for key in times), str(row.get("n_runs", UNKNOWN)),
            *(number(row.get(key), ".0f") for key in ("load_ms", "peak_memory_mb", "memory_growth_mb")),
        )
        for row in rows
    ]  # fmt: skip
    dates = sorted({row["date"][:10] for row in rows})
    runtimes = ", ".join(dict.fromkeys(row["runtime"] for row in rows))
    notes = [
        "timed by LiteRT's benchmark tool on the phone: the runtime call for one window of made-up token ids, so no accuracy",
        "first: the first call after loading, not among the runs; peak: the whole process; growth: of the peak since the start",
        f"{runtimes}; logs read {' to '.join(dict.fromkeys((dates[0], dates[-1])))}",
    ]
    for row in rows:
        if row["status"] != OK:
            setting = ", ".join(f"{key} {row[key]}" for key in ("lengths", "threads") if key in row)
            notes.append(f"{row['model']}{f' ({setting})' if setting else ''} failed: {row['status']}")
    return Table(group.machine, PHONE_HEADINGS, tuple(cells), tuple(notes), n_left=2)


