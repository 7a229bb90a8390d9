"""Columns of the tables of models and settings, and the lines they are read from."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.results.rows import UNPADDED, Accuracy, Latency
from benchmarks.show.groups import Entry, Group
from benchmarks.show.tables import UNKNOWN, Column
from qa.formats.registry import FORMATS

QUICK = "†"  # follows a figure that was timed too briefly
ANOTHER_RUN = "‡"  # follows a time from another run than the baseline's time in the table

# Names by package. Their order is that of their colours in plots.
RUNTIME_NAMES = {kind.package: kind.runtime for kind in FORMATS.values()} | {
    "openvino": "OpenVINO",
    "torchao": "torchao",
    "optimum-onnx": "Optimum ONNX",
    "executorch": "ExecuTorch",
}
SHORT_NAMES = RUNTIME_NAMES | {"onnxruntime": "ORT"}
TOOL_NAMES = RUNTIME_NAMES | {"torch-compile": "torch.compile", "ort-documented": "ORT docs"}


def words_of(lengths: object) -> str:
    """Return "unpadded" or "padded to 384"."""
    return "unpadded" if lengths == UNPADDED else f"padded to {lengths}"


def package_of(entry: Entry) -> str:
    """Return the package of an entry's runtime."""
    return entry.newest.runtime.package if entry.newest.runtime else UNKNOWN


def tool_of(entry: Entry) -> str:
    """Return the name of the toolchain that made an entry, without the precision."""
    tool = str(entry.newest.toolchain).removesuffix(f"-{entry.newest.precision}")
    return TOOL_NAMES.get(tool, tool)


def runtime_of(entry: Entry) -> str:
    """Return the runtime in a word, or the name of the toolchain, marked as one."""
    if entry.is_toolchain:
        return f"{tool_of(entry)} (toolchain)"
    return SHORT_NAMES.get(package_of(entry), package_of(entry))


@dataclass(frozen=True)
class Line:
    """A model, and its times at one setting where the table has a line for each setting."""

    group: Group
    entry: Entry
    row: Latency | None = None

    @property
    def accuracy(self) -> Accuracy | None:
        """The model's scores."""
        return self.entry.accuracy

    @property
    def padded(self) -> Latency | None:
        """Times padded to the group's greatest length, one thread, batch 1."""
        return self.entry.at(self.group.longest)

    @property
    def unpadded(self) -> Latency | None:
        """Times unpadded, one thread, batch 1."""
        return self.entry.at(UNPADDED)

    @property
    def batched(self) -> Latency | None:
        """Times at the group's batched setting."""
        return self.entry.at(*self.group.batched) if self.group.batched else None


def marks(name: str) -> Callable[[Any], str]:
    """Return a function for the marks of a time: those of the line's attribute `name`."""

    def text(line: Line) -> str:
        row: Latency | None = getattr(line, name)
        another_run = row is not None and line.group.in_another_run(row)
        return quick_mark(name)(line) + (ANOTHER_RUN if another_run else "")

    return text


def quick_mark(name: str) -> Callable[[Any], str]:
    """Return a function for the mark of a ratio, whose times are always from one run."""
    return lambda line: QUICK if (row := getattr(line, name)) is not None and row.quick else ""


def ms_column(name: str) -> Column:
    """Return the column of mean times under the line's attribute `name`."""
    return Column(f"ms {name}", f"{name}.latency_ms_mean", ".1f", mark=marks(name), optional=True)


def x_column(name: str) -> Column:
    """Return the column of speed-ups under the line's attribute `name`."""
    return Column(
        f"x {name}",
        lambda line: line.group.speedup(getattr(line, name)),
        ".2f",
        unit="x",
        mark=quick_mark(name),
        optional=True,
    )


def _f1(line: Line) -> Any:
    return line.accuracy and (line.accuracy.f1_interval or line.accuracy.f1)


def _lengths(line: Line) -> str | None:
    if line.row is None:
        return None
    return UNKNOWN if line.row.lengths == UNPADDED else str(line.row.lengths)


# The model
MODEL = Column("model", "entry.model")
TARGET = Column("target", "entry.newest.target")
MACHINE = Column("machine", "entry.newest.machine")
DATA = Column("data", "group.data")
RUNTIME = Column("runtime", lambda line: runtime_of(line.entry))
PRECISION = Column("precision", "entry.newest.precision")
EMBEDDINGS = Column("embeddings", "entry.newest.embeddings", optional=True)
PARAMS = Column("params", "entry.newest.params", ".1f", 1e-6, "M")
NON_EMBEDDING = Column("non-emb.", "entry.newest.params_without_embeddings", ".1f", 1e-6, "M")
SIZE = Column("MB", "entry.newest.size_bytes", ".1f", 1e-6)
BUNDLE = Column("bundle", lambda line: line.entry.newest.bundle_sha256[:16])
# Its scores
EXACT = Column("EM", "accuracy.exact", ".2f")
F1 = Column("F1", "accuracy.f1", ".2f")
F1_INTERVAL = Column("F1", _f1, ".2f")
RETAINED = Column("retained", lambda line: line.group.retained(line.entry), ".1f", 100, "%")
AGREEMENT = Column("agreement", lambda line: line.group.agreement(line.entry), ".1f", 100, "%")
QUESTIONS = Column("questions", "accuracy.n", ",.0f")
WINDOWS = Column("windows", "accuracy.n_windows", ",.0f")
INSTRUCTIONS = Column("M instr.", "accuracy.instructions_per_window", ",.1f", 1e-6, optional=True)
HAS_ANS = Column("HasAns F1", "accuracy.HasAns_f1", ".2f", optional=True)
NO_ANS = Column("NoAns", "accuracy.NoAns_exact", ".2f", optional=True)
ACCURACY_DETAILS = [
    Column("HasAns EM", "accuracy.HasAns_exact", ".2f", optional=True),
    HAS_ANS,
    NO_ANS,
    *(
        Column(heading, f"accuracy.{key}", ".2f", optional=True)
        for heading, key in (
            ("oracle F1", "best_f1"),
            ("oracle threshold", "best_f1_thresh"),
            ("no-answer threshold", "null_threshold"),
            ("ECE", "calibration_error"),
            ("ECE before", "uncalibrated_calibration_error"),
        )
    ),
]

NAMES = [MODEL, RUNTIME, PRECISION, EMBEDDINGS]
SUMMARY = [
    *NAMES,
    PARAMS,
    NON_EMBEDDING,
    SIZE,
    EXACT,
    F1,
    RETAINED,
    AGREEMENT,
    *(column(name) for name in ("padded", "unpadded") for column in (ms_column, x_column)),
    Column("windows/s", "batched.windows_per_s", ",.0f", mark=quick_mark("batched"), optional=True),
]
SHORT = [*NAMES, SIZE, EXACT, F1, RETAINED, ms_column("unpadded"), x_column("unpadded")]
ACCURACY = [
    *NAMES,
    SIZE,
    QUESTIONS,
    WINDOWS,
    EXACT,
    F1_INTERVAL,
    *ACCURACY_DETAILS,
    replace(RETAINED, form=".2f"),
    Column("agreement", "accuracy.same_answers", ".2f", 100, "%"),
    Column("with", "accuracy.same_answers_as"),
]
PADDING = [
    *NAMES,
    ms_column("padded"),
    ms_column("unpadded"),
    Column(
        "gain", lambda line: line.group.padding_gain(line.entry), ".2f", unit="x", mark=quick_mark("padded")
    ),
]
PEAK = [
    MODEL,
    RUNTIME,
    Column("tokens", "row.lengths", ".0f"),
    Column("threads", "row.threads", ".0f"),
    Column("ms", "row.latency_ms_p50", ".1f", mark=quick_mark("row")),
    Column("Gop/s", "row.int8_gops", ",.0f", mark=quick_mark("row")),
    Column("peak Gop/s", "row.int8_peak_gops", ",.0f"),
    Column("share", "row.share_of_int8_peak", ".0f", 100, "%", mark=quick_mark("row")),
]
LATENCY = [
    MODEL,
    Column("padded to", _lengths),
    Column("threads", "row.threads", ".0f"),
    Column("batch", lambda line: line.row.batch, ".0f"),
    *(
        Column(f"{name} ms", f"row.latency_ms_{name}", ".1f", mark=marks("row"))
        for name in ("p50", "p90", "p99", "mean")
    ),
    Column("windows/s", "row.windows_per_s", ",.1f", mark=marks("row"), optional=True),
    replace(x_column("row"), heading="x", optional=False),
    Column("first ms", "row.latency_ms_first", ".1f", optional=True),
    Column("runs", "row.n_runs", ",.0f"),
    Column("timed s", "row.timed_s", ".0f", optional=True),
    Column("tokenize", "row.tokenize_ms_p50", ".2f"),
    Column("decode", "row.decode_ms_p50", ".2f"),
    Column("load ms", "row.load_ms", ".0f"),
    Column("peak MB", "row.peak_memory_mb", ".0f"),
]
