"""The two tables of a page: a line for each model, and one for each setting. Where scripts run, one sorts and filters them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.report.html import text
from benchmarks.report.settings import current_rows
from benchmarks.rows import OK, Row
from benchmarks.views.cells import UNKNOWN, Table, marked, span
from benchmarks.views.groups import REAL, Entry, Group, is_batched
from benchmarks.views.summary import batched_setting
from qa.bootstrap import Interval

_LEFT = ' class="name"'
Intervals = Mapping[str, tuple[Interval, Interval | None]]  # of F1 and of F1 retained, by model


@dataclass(frozen=True)
class Line:
    """What a table shows in one line: figures of a model at one setting, or of a model as a whole."""

    group: Group
    row: Row
    entry: Entry
    intervals: tuple[Interval | None, Interval | None] = (None, None)


@dataclass(frozen=True)
class Column:
    """A heading, what stands under it, and for figures how they are written. intervals sort by their lower end."""

    heading: str
    value: Callable[[Line], object]
    form: str | None = None
    scale: float = 1.0
    unit: str = ""
    row: Callable[[Line], Row] | None = None
    """The row of a time or of what is made of it, which has a mark when too little was timed."""

    def cell(self, line: Line, number: int) -> str:
        """One <td>; a figure carries its whole value, as the row has it, for sorting."""
        value = self.value(line)
        if number == 0:
            return f'<th scope="row" class="name">{text(value)}</th>'
        if value is None:
            return f"<td{'' if self.form else _LEFT}>{UNKNOWN}</td>"
        if isinstance(value, Interval):
            return f'<td data-v="{value.low!r}">{self._marked(span(value, self.form or ".2f", self.scale), line)}</td>'
        if self.form is None:
            return f"<td{_LEFT}>{text(value)}</td>"
        shown = f"{value * self.scale:{self.form}}{self.unit}"  # type: ignore[operator]
        return f'<td data-v="{value!r}">{self._marked(shown, line)}</td>'

    def _marked(self, shown: str, line: Line) -> str:
        return marked(shown, self.row(line)) if self.row is not None else shown


def _fact(key: str) -> Callable[[Line], object]:
    return lambda line: line.row.get(key)


def _at(lengths: str, row: Callable[[Line], Row]) -> list[Column]:
    """Time, speed against the baseline and its interval of single windows at one thread, from this row of a line."""
    return [
        Column(f"ms {lengths}", lambda line: row(line).get("latency_ms_p50"), ".1f", row=row),
        Column(f"x {lengths}", lambda line: line.group.speedup(row(line)), ".2f", unit="x", row=row),
        Column(f"x {lengths}, 95 %", lambda line: line.group.speedup_interval(row(line)), ".2f", row=row),
    ]


def _batched(line: Line) -> Row:
    setting = batched_setting(line.group)
    return line.entry.batched.get(setting, {}) if setting is not None else {}


def _own_row(line: Line) -> Row:
    return line.row


def _windows_per_s(line: Line) -> object:
    return line.row.get("windows_per_s") if is_batched(line.row) else None


def _instructions(line: Line) -> object:
    found = [r for r in current_rows(line.group) if "instructions_per_window" in r and r["model"] == line.row["model"]]
    return found[0]["instructions_per_window"] if found else None


NAMES = [Column("model", _fact("model")), Column("target", _fact("target"))]
WHERE = [Column("data", lambda line: line.group.data), Column("machine", _fact("machine"))]
WHAT = [Column("runtime", _fact("runtime")), Column("precision", _fact("precision"))]
MODEL_COLUMNS = [
    Column("MB", _fact("size_bytes"), ".1f", 1e-6),
    Column("EM", _fact("exact"), ".2f"),
    Column("F1", _fact("f1"), ".2f"),
    Column("F1, 95 %", lambda line: line.intervals[0], ".2f"),
    Column("retained", lambda line: line.group.retained(line.entry), ".1f", 100, "%"),
    Column("retained, 95 %", lambda line: line.intervals[1], ".1f", 100),
    Column("same", lambda line: line.group.same_as_parent(line.entry), ".1f", 100, "%"),
    *_at("real", lambda line: line.entry.at(REAL)),
    *_at("padded", lambda line: line.entry.at(line.group.longest)),
    Column("windows/s, batches", lambda line: _batched(line).get("windows_per_s"), ",.0f", row=_batched),
    Column("M instr.", _instructions, ",.1f", 1e-6),
    Column("params", _fact("params"), ".1f", 1e-6, "M"),
    Column("no emb.", _fact("params_without_embeddings"), ".1f", 1e-6, "M"),
    Column("questions", _fact("n"), ",.0f"),
]
SETTING_COLUMNS = [
    Column("lengths", _fact("lengths")),
    Column("threads", _fact("threads"), ".0f"),
    Column("batch", _fact("batch"), ".0f"),
    *(Column(f"{name} ms", _fact(f"latency_ms_{name}"), ".1f", row=_own_row) for name in ("p50", "p90", "p95", "p99", "mean")),
    Column("windows/s", _windows_per_s, ",.1f", row=_own_row),
    Column("x mean", lambda line: line.group.speedup(line.row), ".2f", unit="x"),
    Column("x, 95 %", lambda line: line.group.speedup_interval(line.row), ".2f"),
    Column("x p50", lambda line: line.group.speedup(line.row, "latency_ms_p50"), ".2f", unit="x"),
    Column("first ms", _fact("latency_ms_first"), ".1f"),
    Column("M instr.", _fact("instructions_per_window"), ",.1f", 1e-6),
    Column("runs", _fact("n_runs"), ",.0f"),
    Column("timed s", _fact("timed_s"), ",.0f"),
    Column("quick", lambda line: "quick" if line.row.get("quick") else None),
    Column("tokenize", _fact("tokenize_ms_p50"), ".2f"),
    Column("decode", _fact("decode_ms_p50"), ".2f"),
    Column("load ms", _fact("load_ms"), ".0f"),
    Column("peak MB", _fact("peak_memory_mb"), ".0f"),
    Column("growth MB", _fact("memory_growth_mb"), ".0f"),
    Column("bundle", lambda line: line.row["bundle_sha256"][:16]),
]


def model_lines(groups: Sequence[Group], intervals: Sequence[Intervals]) -> list[Line]:
    """A line for each model and target that has a data set."""
    lines = []
    for group, known in zip(groups, intervals, strict=True):
        for entry in group.entries:
            lines.append(Line(group, entry.facts, entry, known.get(entry.facts["model"], (None, None))))
    return lines


def setting_lines(groups: Sequence[Group]) -> list[Line]:
    """A line for each setting that was timed or counted, on phones too."""
    return [Line(group, row, Entry(row)) for group in groups for row in current_rows(group)]


def sortable(lines: Sequence[Line], own: Sequence[Column], best: Entry | None, caption: str) -> str:
    """A table; columns without a figure in any line are left out. The line of `best` stands out, peers are in italics."""
    where = [c for c in WHERE if len({c.value(line) for line in lines} - {None}) > 1]
    columns = [*NAMES, *where, *WHAT, *(c for c in own if any(c.value(line) is not None for line in lines))]
    head = "".join(f'<th scope="col"{"" if c.form else _LEFT}>{text(c.heading)}</th>' for c in columns)
    body = []
    for line in lines:
        kinds = [
            *(["best"] if line.entry is best else []),
            *(["peer"] if line.entry.is_peer else []),
            *(["bad"] if line.row["status"] != OK else []),
        ]
        kind = f' class="{" ".join(kinds)}"' if kinds else ""
        cells = "".join(column.cell(line, number) for number, column in enumerate(columns))
        body.append(f'<tr{kind} data-target="{text(line.row["target"])}">{cells}</tr>')
    rows = "\n".join(body)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}"><table class="sortable">'
        f"<thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    )


def plain_table(table: Table) -> str:
    """A table as the terminal has it, without its title and notes."""
    kinds = [_LEFT if number < table.n_left else "" for number in range(len(table.headings))]
    head = "".join(f'<th scope="col"{kind}>{text(cell)}</th>' for kind, cell in zip(kinds, table.headings, strict=True))
    body = []
    for name, *cells in table.cells:
        others = "".join(f"<td{kind}>{text(cell)}</td>" for kind, cell in zip(kinds[1:], cells, strict=True))
        body.append(f'<tr><th scope="row" class="name">{text(name)}</th>{others}</tr>')
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(table.title)}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def target_filter(groups: Sequence[Group]) -> str:
    """The choice of a target, which the script shows and serves."""
    targets = dict.fromkeys(group.target for group in groups)
    options = "".join(f"<option>{text(target)}</option>" for target in targets)
    return (
        '<p class="filter" hidden><label>Target <select id="target"><option value="">all</option>'
        f'{options}</select></label> <output for="target"></output></p>'
    )
