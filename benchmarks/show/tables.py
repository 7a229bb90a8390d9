"""Tables for the terminal, Markdown and HTML: a column is declared once, with how its figures are written."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from benchmarks.results.rows import UNPADDED, Accuracy, Latency
from benchmarks.show.groups import Entry, Group
from qa.base.errors import OptionError
from qa.base.files import write_whole
from qa.evaluation.bootstrap import Interval
from qa.formats.registry import KINDS

UNKNOWN = "–"
QUICK = "†"  # behind a figure that too little was timed for
ANOTHER_RUN = "‡"  # behind a time of another run than the baseline's time that is shown


@dataclass(frozen=True)
class Column:
    """A heading, and what stands under it for each line: a text, a figure, or a figure with its interval."""

    heading: str
    value: Callable[[Any], Any]
    form: str | None = None
    """How a figure is written; None for names, which are aligned left."""
    scale: float = 1.0
    unit: str = ""
    mark: Callable[[Any], str] = lambda line: ""
    optional: bool = False
    """Left out of a table where no line has a value."""

    def text(self, line: Any) -> str:
        """What stands in the cell."""
        value = self.value(line)
        return UNKNOWN if value is None else self._written(value) + self.mark(line)

    def _written(self, value: Any) -> str:
        if self.form is None or isinstance(value, str):
            return str(value)
        if isinstance(value, Interval):
            return (
                f"{number(value.mean, self.form, self.scale, self.unit)} "
                f"({span(value, self.form, self.scale)})"
            )
        return number(value, self.form, self.scale, self.unit)

    def key(self, line: Any) -> float | None:
        """What a figure is sorted by, unrounded."""
        value = self.value(line)
        if self.form is None or isinstance(value, str):
            return None
        return value.mean if isinstance(value, Interval) else value


@dataclass(frozen=True)
class Table:
    """Lines, whatever they are, under columns; `notes` say what the columns mean and under which conditions
    it was measured."""

    title: str
    columns: tuple[Column, ...]
    lines: tuple[Any, ...]
    notes: tuple[str, ...] = ()

    @property
    def headings(self) -> list[str]:
        """In their order."""
        return [column.heading for column in self.columns]

    @property
    def cells(self) -> list[list[str]]:
        """The texts of all lines."""
        return [[column.text(line) for column in self.columns] for line in self.lines]


def make_table(
    title: str, columns: Sequence[Column], lines: Sequence[Any], notes: Sequence[str] = ()
) -> Table:
    """A table without the optional columns that no line has a value for."""
    shown = [c for c in columns if not c.optional or any(c.value(line) is not None for line in lines)]
    return Table(title, tuple(shown), tuple(lines), tuple(notes))


def text_table(
    title: str,
    headings: Sequence[str],
    lines: Sequence[Sequence[str]],
    notes: Sequence[str] = (),
    n_left: int = 1,
) -> Table:
    """A table of texts, of which the first `n_left` of each line are names."""
    columns = [Column(text, itemgetter(at), None if at < n_left else "") for at, text in enumerate(headings)]
    return make_table(title, columns, lines, notes)


def number(value: float | None, form: str = ".2f", scale: float = 1.0, unit: str = "") -> str:
    """A figure as text, or a dash when it is not known."""
    return UNKNOWN if value is None else f"{value * scale:{form}}{unit}"


def span(interval: Interval | None, form: str = ".2f", scale: float = 1.0) -> str:
    """The ends of an interval, or a dash."""
    return UNKNOWN if interval is None else f"{interval.low * scale:{form}}–{interval.high * scale:{form}}"


def listed(names: Sequence[str]) -> str:
    """a; a and b; a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def plural(n: int, what: str) -> str:
    """1 thread, 2 threads, 10,570 questions."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def words_of(lengths: object) -> str:
    """Unpadded, or the length padded to."""
    return "unpadded" if lengths == UNPADDED else f"padded to {lengths}"


def attribute(*path: str) -> Callable[[Any], Any]:
    """The attribute of an attribute of a line; None as soon as one is."""

    def value(line: Any) -> Any:
        for name in path:
            line = getattr(line, name, None)
        return line

    return value


# By package. The order is that of their colours in plots.
RUNTIME_NAMES = {kind.package: kind.runtime for kind in KINDS.values()} | {
    "openvino": "OpenVINO",
    "torchao": "torchao",
    "optimum-onnx": "Optimum ONNX",
    "executorch": "ExecuTorch",
}
SHORT_NAMES = RUNTIME_NAMES | {"onnxruntime": "ORT"}
TOOL_NAMES = RUNTIME_NAMES | {"torch-compile": "torch.compile", "ort-documented": "ORT docs"}


def package_of(entry: Entry) -> str:
    """The package of an entry's runtime."""
    return entry.newest.runtime.package if entry.newest.runtime else UNKNOWN


def tool_of(entry: Entry) -> str:
    """The tool that a peer's adapter is of: its name without the precision."""
    tool = str(entry.newest.peer).removesuffix(f"-{entry.newest.precision}")
    return TOOL_NAMES.get(tool, tool)


def runtime_of(entry: Entry) -> str:
    """The runtime in a word, or the tool with "peer"."""
    return (
        f"{tool_of(entry)} (peer)" if entry.is_peer else SHORT_NAMES.get(package_of(entry), package_of(entry))
    )


@dataclass(frozen=True)
class Line:
    """What a line shows: a model, and its times at one setting where the table has a line for each."""

    group: Group
    entry: Entry
    row: Latency | None = None

    @property
    def accuracy(self) -> Accuracy | None:
        """The model's scores."""
        return self.entry.accuracy

    @property
    def padded(self) -> Latency | None:
        """Times of single windows padded to the group's greatest length, one thread."""
        return self.entry.at(self.group.longest)

    @property
    def unpadded(self) -> Latency | None:
        """Times of single windows unpadded, one thread."""
        return self.entry.at(UNPADDED)

    @property
    def batched(self) -> Latency | None:
        """Times of the group's batches."""
        return self.entry.at(*self.group.batched) if self.group.batched else None


def times(name: str) -> Callable[[Any], str]:
    """The marks of the times that a line has under this name."""

    def marks(line: Line) -> str:
        row: Latency | None = getattr(line, name)
        if row is None:
            return ""
        return (QUICK if row.quick else "") + (ANOTHER_RUN if line.group.in_another_run(row) else "")

    return marks


def quick(name: str) -> Callable[[Any], str]:
    """The mark of a ratio, which is of one run."""
    return lambda line: times(name)(line).removesuffix(ANOTHER_RUN)


def _timed(name: str, more: str = "") -> list[Column]:
    return [
        Column(
            f"ms {name}{more}", attribute(name, "latency_ms_mean"), ".1f", mark=times(name), optional=True
        ),
        Column(
            f"x {name}{more}",
            lambda line: line.group.speedup(getattr(line, name)),
            ".2f",
            unit="x",
            mark=quick(name),
            optional=True,
        ),
    ]


_NEWEST = {
    "model": Column("model", attribute("entry", "model")),
    "target": Column("target", attribute("entry", "newest", "target")),
    "machine": Column("machine", attribute("entry", "newest", "machine")),
    "data": Column("data", attribute("group", "data")),
    "runtime": Column("runtime", lambda line: runtime_of(line.entry)),
    "precision": Column("precision", attribute("entry", "newest", "precision")),
    "embeddings": Column("embeddings", attribute("entry", "newest", "embeddings"), optional=True),
    "params": Column("params", attribute("entry", "newest", "params"), ".1f", 1e-6, "M"),
    "inside": Column("non-emb.", attribute("entry", "newest", "params_without_embeddings"), ".1f", 1e-6, "M"),
    "size": Column("MB", attribute("entry", "newest", "size_bytes"), ".1f", 1e-6),
    "bundle": Column("bundle", lambda line: line.entry.newest.bundle_sha256[:16]),
}
_ACCURACY = {
    "exact": Column("EM", attribute("accuracy", "exact"), ".2f"),
    "f1": Column("F1", attribute("accuracy", "f1"), ".2f"),
    "f1 interval": Column(
        "F1", lambda line: line.accuracy and (line.accuracy.f1_interval or line.accuracy.f1), ".2f"
    ),
    "retained": Column("retained", lambda line: line.group.retained(line.entry), ".1f", 100, "%"),
    "agreement": Column("agreement", lambda line: line.group.agreement(line.entry), ".1f", 100, "%"),
    "same": Column("agreement", attribute("accuracy", "same_answers"), ".2f", 100, "%"),
    "same as": Column("with", attribute("accuracy", "same_answers_as")),
    "questions": Column("questions", attribute("accuracy", "n"), ",.0f"),
    "windows": Column("windows", attribute("accuracy", "n_windows"), ",.0f"),
    "instructions": Column(
        "M instr.", attribute("accuracy", "instructions_per_window"), ",.1f", 1e-6, optional=True
    ),
}
_PARTS = {
    "HasAns_exact": "HasAns EM",
    "HasAns_f1": "HasAns F1",
    "NoAns_exact": "NoAns",
    "best_f1": "tuned F1",
    "best_f1_thresh": "threshold",
    "null_threshold": "own threshold",
}
_LATENCY = {
    "lengths": Column(
        "padded to",
        lambda line: line.row and ("–" if line.row.lengths == UNPADDED else str(line.row.lengths)),
    ),
    "threads": Column("threads", attribute("row", "threads"), ".0f"),
    "batch": Column("batch", attribute("row", "batch"), ".0f", optional=True),
    **{
        name: Column(f"{name} ms", attribute("row", f"latency_ms_{name}"), ".1f", mark=times("row"))
        for name in ("p50", "p90", "p99", "mean")
    },
    "windows/s": Column(
        "windows/s", attribute("row", "windows_per_s"), ",.1f", mark=times("row"), optional=True
    ),
    "x": Column("x", lambda line: line.group.speedup(line.row), ".2f", unit="x", mark=quick("row")),
    "first": Column("first ms", attribute("row", "latency_ms_first"), ".1f", optional=True),
    "runs": Column("runs", attribute("row", "n_runs"), ",.0f"),
    "timed": Column("timed s", attribute("row", "timed_s"), ".0f", optional=True),
    "tokenize": Column("tokenize", attribute("row", "tokenize_ms_p50"), ".2f"),
    "decode": Column("decode", attribute("row", "decode_ms_p50"), ".2f"),
    "load": Column("load ms", attribute("row", "load_ms"), ".0f"),
    "peak": Column("peak MB", attribute("row", "peak_memory_mb"), ".0f"),
}
COLUMNS: dict[str, Column] = _NEWEST | _ACCURACY | _LATENCY
NAMES = ("model", "runtime", "precision", "embeddings")
WINDOWS_PER_S = Column(
    "windows/s", attribute("batched", "windows_per_s"), ",.0f", mark=quick("batched"), optional=True
)


def columns(*names: str) -> list[Column]:
    """Columns of the registry by name."""
    return [COLUMNS[name] for name in names]


SUMMARY = [
    *columns(*NAMES, "params", "inside", "size", "exact", "f1", "retained", "agreement"),
    *_timed("padded"),
    *_timed("unpadded"),
    WINDOWS_PER_S,
]
SHORT = [*columns(*NAMES, "size", "exact", "f1", "retained"), *_timed("unpadded")]
ACCURACY = [
    *columns(*NAMES, "size", "questions", "windows", "exact", "f1 interval"),
    *(Column(heading, attribute("accuracy", key), ".2f", optional=True) for key, heading in _PARTS.items()),
    replace(COLUMNS["retained"], form=".2f"),
    *columns("same", "same as"),
]
LATENCY = columns(
    "model",
    "lengths",
    "threads",
    "batch",
    "p50",
    "p90",
    "p99",
    "mean",
    "windows/s",
    "x",
    "first",
    "runs",
    "timed",
    "tokenize",
    "decode",
    "load",
    "peak",
)
PADDING = [
    *columns(*NAMES),
    *(c for name in ("padded", "unpadded") for c in _timed(name)[:1]),
    Column("gain", lambda line: line.group.padding_gain(line.entry), ".2f", unit="x", mark=quick("padded")),
]


def as_text(table: Table) -> str:
    """Aligned columns for a terminal."""
    lines = [table.headings, *table.cells]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.columns))]

    def line_of(cells: list[str]) -> str:
        pairs = zip(cells, widths, table.columns, strict=True)
        return "  ".join(
            cell.ljust(w) if column.form is None else cell.rjust(w) for cell, w, column in pairs
        ).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return (
        "\n".join([table.title, line_of(table.headings), rule, *map(line_of, table.cells), *table.notes])
        + "\n"
    )


def as_markdown(table: Table) -> str:
    """A GitHub table with its title and notes."""
    rule = [":--" if column.form is None else "--:" for column in table.columns]
    escaped = [
        [_plain(cell).replace("|", "\\|") for cell in line] for line in (table.headings, rule, *table.cells)
    ]
    lines = [f"| {' | '.join(line)} |" for line in escaped]
    notes = [f"<sub>{_plain(note)}</sub><br>" for note in table.notes]
    return "\n".join([f"**{_plain(table.title)}**", "", *lines, "", *notes]) + "\n"


def show(tables: Sequence[Table], path: Path | None, name: str) -> str:
    """Print tables, or put them between the markers of `name` in a Markdown file. Returns them as text."""
    if path is None:
        text = "\n".join(map(as_text, tables))
        print(text, end="")
    else:
        text = "\n".join(map(as_markdown, tables))
        write_marked(path, name, text)
    return text


def _plain(text: str) -> str:
    """Without meaning as HTML, which Markdown passes on: names are a user's own."""
    return html.escape(text, quote=False)


def check_markers(path: Path, name: str) -> str:
    """The text of a Markdown file; OptionError unless it has just once, in order, the two markers that tables
    go between."""
    if not path.is_file():
        raise OptionError(
            f"--write {path}: no such file; give a Markdown file with the markers of the name {name}"
        )
    text, (begin, end) = path.read_text(encoding="utf-8"), _markers(name)
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise OptionError(
            f"--write {path}: needs one line {begin} and after it one line {end}; the table goes between them"
        )
    return text


def write_marked(path: Path, name: str, content: str) -> None:
    """Replace what stands between the markers of `name` in a Markdown file."""
    text, (begin, end) = check_markers(path, name), _markers(name)
    head, rest = text.split(begin)
    write_whole(path, f"{head}{begin}\n{content.strip()}\n{end}{rest.split(end)[1]}")


def _markers(name: str) -> tuple[str, str]:
    return f"<!-- results:begin {name} -->", f"<!-- results:end {name} -->"
