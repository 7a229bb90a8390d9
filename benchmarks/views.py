"""Tables out of rows: which figures stand in which column. Nothing is measured here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.rows import CPU, OK, PHONE, Row

LatencyKey = tuple[str | int, int]  # (lengths, threads)
VIEWS = ("summary", "latency", "accuracy", "arm")
UNKNOWN = "–"
BUSY = 0.1  # cores kept busy by other processes from which on a table says so
RUNTIME_NAMES = {"torch": "PyTorch", "onnxruntime": "ORT", "ai-edge-litert": "LiteRT"}


@dataclass
class Entry:
    """One model: its newest facts, and its newest latency row for every (lengths, threads)."""

    facts: Row
    latency: dict[LatencyKey, Row] = field(default_factory=dict)

    def at(self, lengths: str, threads: int) -> Row:
        """The latency row of a setting ("real" or "padded"), empty when not measured."""
        found = [row for (n, t), row in self.latency.items() if t == threads and (n == "real") == (lengths == "real")]
        return found[-1] if found else {}


@dataclass
class Group:
    """Everything measured on one data set, target and machine, or on one phone; a phone has no data set and only rows."""

    data: str | None
    machine: str
    rows: list[Row] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)

    @property
    def on_phone(self) -> bool:
        """Whether these are rows from the logs of a phone."""
        return self.data is None

    @property
    def target(self) -> str:
        """Where it was measured: cpu, phone, qemu:neoverse-n1."""
        return str(self.newest["target"])

    @property
    def newest(self) -> Row:
        """The row appended last."""
        return self.rows[-1]

    @property
    def baseline(self) -> Row:
        """What the newest row that names a baseline says of it; empty where none does."""
        return next((row for row in reversed(self.rows) if "baseline_sha256" in row), {})

    def is_baseline(self, entry: Entry) -> bool:
        """Whether this is the model that F1 and speed are compared with."""
        return bool(entry.facts["bundle_sha256"] == self.baseline.get("baseline_sha256"))

    def retained(self, entry: Entry) -> float | None:
        """F1 divided by that of the group's baseline; None when the entry was compared with another, or with none."""
        return entry.facts.get("f1_retained") if self.same_baseline(entry.facts) else None

    def compared_with_others(self) -> list[Entry]:
        """The entries with figures that are relative to another baseline than the group's."""
        rows = ((e, row) for e in self.entries for row in (e.facts, *e.latency.values()))
        found = {id(e): e for e, row in rows if "baseline_sha256" in row and not self.same_baseline(row)}
        return list(found.values())

    def same_baseline(self, row: Row) -> bool:
        """Whether the relative figures of a row are against the group's baseline."""
        return bool(row.get("baseline_sha256") == self.baseline.get("baseline_sha256"))

    def speedup(self, row: Row, figure: str = "latency_ms_mean") -> float | None:
        """How many times faster than the baseline, padded, at one thread, in the same run; None when that was not measured."""
        if not self.same_baseline(row):
            return None
        base = [
            other for other in self.rows
            if other["bundle_sha256"] == row.get("baseline_sha256") and other["date"] == row["date"]
            and other.get("threads") == 1 and other.get("lengths") not in (None, "real") and figure in other
        ]  # fmt: skip
        return base[-1][figure] / row[figure] if base and figure in row else None


@dataclass(frozen=True)
class Table:
    """Cells as text under their headings; `n_left` columns are names (aligned left), the rest figures."""

    title: str
    headings: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    n_left: int = 3


def collect(rows: Sequence[Row], order: Sequence[str] = ()) -> list[Group]:
    """Sort rows into groups and entries: this machine, other targets, phones.

    A model's newer rows replace its older ones; a changed one starts afresh.
    Entries stand in the order of their bundle hashes in `order`, else as they first appear, with the baseline first.
    """
    groups: dict[tuple[str, str, str], Group] = {}
    for row in rows:
        on_phone = row["target"] == PHONE
        key = (row["target"], "" if on_phone else row["data"]["sha256"], row["machine"])
        group = groups.setdefault(key, Group(None if on_phone else row["data"]["name"], row["machine"]))
        group.rows.append(row)
        if not on_phone:
            _update(group.entries, row)
    for group in groups.values():
        rank = {sha256: number for number, sha256 in enumerate(order)}
        group.entries.sort(key=lambda e: (not group.is_baseline(e), rank.get(e.facts["bundle_sha256"], len(rank))))
    return sorted(groups.values(), key=lambda group: (group.on_phone, group.newest["target"] != CPU))


def newest_order(rows: Sequence[Row]) -> list[str]:
    """The bundle hashes as the newest comparison has them, for `collect`; logs of phones are no comparison."""
    return list(dict.fromkeys(row["bundle_sha256"] for row in reversed(rows) if row["target"] != PHONE))[::-1]


def _update(entries: list[Entry], row: Row) -> None:
    found = [number for number, entry in enumerate(entries) if entry.facts["model"] == row["model"]]
    if not found:
        entries.append(Entry({}))
    number = found[0] if found else len(entries) - 1
    old = entries[number].facts
    changed = any(old.get(key) != row.get(key) for key in ("bundle_sha256", "runtime"))
    if changed or row["status"] != OK or old.get("status") != OK:
        entries[number] = Entry(dict(row))
    else:
        # Figures of one setting stay with that setting; load time and memory belong to the model.
        entries[number].facts = old | row
    if "latency_ms_p50" in row and row.get("batch", 1) == 1:
        entries[number].latency[row["lengths"], row["threads"]] = row


def number(value: Any, form: str = ".2f", scale: float = 1.0, unit: str = "") -> str:
    """A figure as text, or a dash when it is not known."""
    return UNKNOWN if value is None else f"{value * scale:{form}}{unit}"


Column = tuple[str, Callable[[Entry], str]]


def runtime_package(entry: Entry) -> str:
    """The package of an entry's runtime, without its version."""
    return str(entry.facts.get("runtime", UNKNOWN).split()[0])


def figure(key: str, form: str = ".2f", scale: float = 1.0, unit: str = "") -> Callable[[Entry], str]:
    """A column that shows one key of the facts."""
    return lambda entry: number(entry.facts.get(key), form, scale, unit)


def _names() -> list[Column]:
    return [
        ("model", lambda e: e.facts["model"]),
        ("runtime", lambda e: RUNTIME_NAMES.get(runtime_package(e), runtime_package(e))),
        ("precision", lambda e: e.facts["precision"]),
    ]


def _summary_columns(group: Group) -> list[Column]:
    columns = [
        *_names(),
        ("params", figure("params", ".1f", 1e-6, "M")),
        ("no emb.", figure("params_without_embeddings", ".1f", 1e-6, "M")),
        ("MB", figure("size_bytes", ".1f", 1e-6)),
        ("EM", figure("exact")),
        ("F1", figure("f1")),
        ("retained", lambda e: number(group.retained(e), ".1f", 100, "%")),
        ("same", figure("same_answers", ".1f", 100, "%")),
    ]
    padded = next((lengths for e in group.entries for lengths, _ in e.latency if lengths != "real"), None)
    # mypy cannot type a lambda with a default; the default keeps each lambda's own setting.
    for setting, label in (("padded", str(padded)), ("real", "real")) if padded else ():
        columns.append((f"ms@{label}", lambda e, at=setting: number(e.at(at, 1).get("latency_ms_p50"), ".1f")))  # type: ignore[misc]
        columns.append((f"x@{label}", lambda e, at=setting: number(group.speedup(e.at(at, 1)), ".2f", unit="x")))  # type: ignore[misc]
    return columns


def _accuracy_columns(group: Group) -> list[Column]:
    columns = [*_names(), ("questions", figure("n", ",.0f")), ("windows", figure("n_windows", ",.0f"))]
    headings = {"exact": "EM", "f1": "F1", "HasAns_exact": "HasAns EM", "HasAns_f1": "HasAns F1", "NoAns_exact": "NoAns"}
    headings |= {"best_f1": "tuned F1", "best_f1_thresh": "threshold"}
    columns += [(heading, figure(key)) for key, heading in headings.items() if any(key in e.facts for e in group.entries)]
    columns += [
        ("retained", lambda e: number(group.retained(e), ".2f", 100, "%")),
        ("same", figure("same_answers", ".2f", 100, "%")),
    ]
    return [*columns, ("as", lambda e: e.facts.get("same_answers_as", UNKNOWN))]


def _latency_cells(group: Group) -> list[tuple[str, ...]]:
    cells = []
    for entry in group.entries:
        for (lengths, threads), row in sorted(entry.latency.items(), key=lambda item: (item[0][1], item[0][0] == "real")):
            times = [number(row[f"latency_ms_{name}"], ".1f") for name in ("p50", "p90", "p99", "mean")]
            faster = [number(group.speedup(row, f"latency_ms_{name}"), ".2f", unit="x") for name in ("mean", "p50")]
            around = [number(row.get(f"{name}_ms_p50"), ".2f") for name in ("tokenize", "decode")]
            process = [number(row.get(key), ".0f") for key in ("load_ms", "peak_memory_mb")]
            cells.append(
                (entry.facts["model"], str(lengths), str(threads), *times, *faster, str(row["n_runs"]), *around, *process)
            )
    return cells


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


def _phone_table(group: Group) -> Table:
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


PHONE_HEADINGS = (
    "model", "runtime", "MB", "lengths", "threads", "p50 ms", "p95 ms", "mean ms", "first ms", "runs", "load ms", "peak MB",
    "growth MB",
)  # fmt: skip
LATENCY_HEADINGS = (
    "model", "lengths", "threads", "p50 ms", "p90 ms", "p99 ms", "mean ms", "x mean", "x p50", "runs",
    "tokenize", "decode", "load ms", "peak MB",
)  # fmt: skip


def view_tables(groups: Sequence[Group], view: str) -> list[Table]:
    """One table a group: "summary" (a line for each model), "latency" (one for each setting) or "accuracy".

    Phones have a latency table only. "arm" is one table a data set, of what was computed on hosts by ssh and under QEMU.
    """
    if view == "arm":
        from benchmarks.arm_view import arm_tables

        return arm_tables(groups)
    tables = []
    for group in groups:
        if group.on_phone:
            tables += [_phone_table(group)] if view == "latency" else []
            continue
        notes = _explanations(group, view) + _conditions(group, view)
        notes += [f"{e.facts['model']} failed: {e.facts['status']}" for e in group.entries if e.facts["status"] != OK]
        n = next((f", {e.facts['n']:,} questions" for e in group.entries if "n" in e.facts), "")
        if view == "latency":
            table = Table(f"{group.data}{n}", LATENCY_HEADINGS, tuple(_latency_cells(group)), tuple(notes), n_left=1)
        else:
            columns = _summary_columns(group) if view == "summary" else _accuracy_columns(group)
            cells = tuple(tuple(cell(entry) for _, cell in columns) for entry in group.entries)
            table = Table(f"{group.data}{n}", tuple(heading for heading, _ in columns), cells, tuple(notes))
        if table.cells:
            tables.append(table)
    return tables


def _explanations(group: Group, view: str) -> list[str]:
    """What the columns mean, with what each is relative to."""
    base = group.baseline.get("baseline")
    others = f"; {UNKNOWN} where compared with another model" if group.compared_with_others() else ""
    timed = any(e.latency for e in group.entries)
    notes = []
    if base is None:
        notes.append("no baseline, so neither F1 retained nor speed: name one with --baseline BUNDLE")
    elif view != "latency":
        notes.append(f"retained: F1 divided by that of {base}{others}")
    if view != "latency" and any("same_answers" in e.facts for e in group.entries):
        notes[-1] += "; same: answers letter for letter those of the parent (of an export: the PyTorch model)"
    if timed and view == "summary":
        notes.append("ms: median of the runtime call for one window, 1 thread, padded or as short as the runtime allows (real)")
    if timed and view != "accuracy" and base is not None:
        means = "; by mean and by median times" if view == "latency" else " (mean times)"
        notes.append(f"x: times as fast as {base} padded at 1 thread in the same run{means}{others}")
    if view == "latency":
        notes.append(
            "tokenize (one question), decode (one window) and load in ms are not part of the latency; peak: the whole process"
        )
    return notes


def _conditions(group: Group, view: str) -> list[str]:
    """Machine, runtimes and dates, and whether the machine was busy with something else."""
    dates = sorted({row["date"][:10] for e in group.entries for row in (e.facts, *e.latency.values())})
    runtimes = dict.fromkeys(e.facts["runtime"] for e in group.entries if "runtime" in e.facts)
    notes = [f"{group.machine}", f"{', '.join(runtimes)}; {' to '.join(dict.fromkeys((dates[0], dates[-1])))}"]
    busy = busy_cores(group)
    if view != "accuracy" and busy >= BUSY:
        notes.append(f"other processes kept {busy:.1f} cores busy: idle, this machine is faster, above all with several threads")
    return notes


def busy_cores(group: Group) -> float:
    """How many cores others kept busy while the latencies shown were measured; the worst of them."""
    return max((row.get("other_load", 0.0) for e in group.entries for row in e.latency.values()), default=0.0)
