"""Columns of the tables of models and settings, and the lines they are read from."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.results.rows import UNPADDED, Accuracy, Latency
from benchmarks.results.stats import mean_of
from benchmarks.show.groups import Entry
from benchmarks.show.tables import UNKNOWN, Column, at_path
from qa.evaluation.bootstrap import Interval
from qa.formats.registry import FORMATS

QUICK = "†"  # follows a figure that was timed too briefly
ANOTHER_RUN = "‡"  # follows a time from another run than the baseline's time in the table
EVERYDAY_F1 = "F1 on everyday text"
OVERLAP = "§"  # follows a model that is scored on passages it was trained on
TUNED = "¶"  # follows a model that is scored on questions its threshold was tuned on

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

    entry: Entry
    row: Latency | None = None


def quick_mark(path: str) -> Callable[[Any], str]:
    """Return a function for the mark of a ratio, whose times, at `path` of a line, are from one run."""
    return lambda line: QUICK if at_path(line, f"{path}.quick") else ""


def caution_marks(scores: Accuracy | None) -> str:
    """Return the marks of a model that was trained or tuned on what it is scored on."""
    if scores is None:
        return ""
    return OVERLAP * bool(scores.train_overlap) + TUNED * scores.tuned_on_data


def marks(path: str) -> Callable[[Any], str]:
    """Return a function for the marks of the times at `path` of a line."""

    def text(line: Line) -> str:
        row: Latency | None = at_path(line, path)
        another_run = row is not None and line.entry.group.in_another_run(row)
        return quick_mark(path)(line) + (ANOTHER_RUN if another_run else "")

    return text


def ms_column(name: str) -> Column:
    """Return the column of mean times under the entry's attribute `name`."""
    path = f"entry.{name}"
    return Column(f"ms {name}", f"{path}.latency_ms_mean", ".1f", mark=marks(path), optional=True)


def x_column(heading: str, path: str) -> Column:
    """Return the column of speed-ups of the times at `path` of a line."""

    def value(line: Line) -> Interval | float | None:
        return line.entry.group.speedup(at_path(line, path))

    return Column(heading, value, ".2f", unit="x", mark=quick_mark(path), optional=True)


def _mean_speedup(line: Line) -> float | None:
    """Return the speed-up over the baseline without its interval."""
    return mean_of(line.entry.group.speedup(line.entry.shortest)) or None


# The model
MODEL = Column("model", "entry.model", mark=lambda line: caution_marks(line.entry.accuracy))
TARGET = Column("target", "entry.newest.target")
DATA = Column("data", "entry.group.data", varied=True)
MACHINE = Column("machine", "entry.newest.machine", varied=True)
RUNTIME = Column("runtime", lambda line: runtime_of(line.entry), rank=2)
PRECISION = Column("precision", "entry.newest.precision", rank=1)
EMBEDDINGS = Column("embeddings", "entry.newest.embeddings", optional=True, rank=5)
PARAMS = Column("params", "entry.newest.params", ".1f", 1e-6, "M", rank=8)
NON_EMBEDDING = Column("non-emb.", "entry.newest.params_without_embeddings", ".1f", 1e-6, "M", rank=9)
SIZE = Column("MB", "entry.newest.size_bytes", ".1f", 1e-6)
BUNDLE = Column("bundle", lambda line: line.entry.newest.bundle_sha256[:16], rank=9)
# Its scores
EXACT = Column("EM", "entry.accuracy.exact", ".2f", optional=True, rank=4)
F1 = Column("F1", "entry.accuracy.f1", ".2f", optional=True)
F1_INTERVAL = Column("F1", "entry.accuracy.f1_with_interval", ".2f")
EXACT_RETAINED = Column("EM retained", "entry.exact_retained", ".1f", 100, "%", optional=True, rank=7)
RETAINED = Column("F1 retained", "entry.retained", ".1f", 100, "%", optional=True)
BOTH_RETAINED = [EXACT_RETAINED, RETAINED]
AGREEMENT = Column("agreement", "entry.agreement", ".1f", 100, "%", optional=True, rank=6)
QUESTIONS = Column("questions", "entry.accuracy.n", ",.0f", rank=8)
WINDOWS = Column("windows", "entry.accuracy.n_windows", ",.0f", rank=9)
INSTRUCTIONS = Column("M instr.", "entry.accuracy.instructions_per_window", ",.1f", 1e-6, optional=True)
HAS_ANS = Column("HasAns F1", "entry.accuracy.HasAns_f1", ".2f", optional=True)
NO_ANS = Column("NoAns", "entry.accuracy.NoAns_exact", ".2f", optional=True)
ACCURACY_DETAILS = [
    Column("HasAns EM", "entry.accuracy.HasAns_exact", ".2f", optional=True, rank=6),
    HAS_ANS,
    NO_ANS,
    Column("oracle F1", "entry.accuracy.best_f1", ".2f", optional=True, rank=6),
    Column("oracle threshold", "entry.accuracy.best_f1_thresh", ".2f", optional=True, rank=8),
    Column("no-answer threshold", "entry.accuracy.null_threshold", ".2f", optional=True, rank=6),
    Column("ECE", "entry.accuracy.calibration_error", ".2f", optional=True, rank=4),
    Column("ECE before", "entry.accuracy.uncalibrated_calibration_error", ".2f", optional=True, rank=6),
]
# Its times, as long as the longest window and as short as its own
TIMES = [
    replace(ms_column("padded"), rank=3),
    replace(x_column("x padded", "entry.padded"), rank=5),
    ms_column("unpadded"),
    x_column("x unpadded", "entry.unpadded"),
]

FORM = [RUNTIME, PRECISION, EMBEDDINGS]
NAMES = [MODEL, *FORM]
SIZES = [PARAMS, NON_EMBEDDING, SIZE]
SUMMARY = [*NAMES, *SIZES, EXACT, F1, *BOTH_RETAINED, AGREEMENT, *TIMES]
BRIEF = [
    MODEL,
    RUNTIME,
    PRECISION,
    SIZE,
    F1,
    Column(EVERYDAY_F1, "entry.on_everyday_text.f1", ".2f", optional=True),
    RETAINED,
    Column("ms", "entry.shortest.latency_ms_mean", ".1f", mark=marks("entry.shortest"), optional=True),
    Column("x", _mean_speedup, ".1f", unit="x", mark=quick_mark("entry.shortest"), optional=True),
]  # at most 100 characters wide
ACCURACY = [
    *NAMES,
    SIZE,
    QUESTIONS,
    WINDOWS,
    EXACT,
    F1_INTERVAL,
    *ACCURACY_DETAILS,
    *(replace(column, form=".2f") for column in BOTH_RETAINED),
    Column("agreement", "entry.same_answers", ".2f", 100, "%", rank=6),
    Column("with", "entry.accuracy.same_answers_as", rank=7),
]
SETTING = [
    Column("padded to", lambda line: UNKNOWN if line.row.lengths == UNPADDED else str(line.row.lengths)),
    Column("threads", "row.threads", ".0f"),
    Column("batch", "row.batch", ".0f"),
    *(
        Column(f"{name} ms", f"row.latency_ms_{name}", ".1f", mark=marks("row"), rank=rank)
        for name, rank in (("p50", 1), ("p90", 2), ("p99", 6), ("mean", 0))
    ),
    Column("windows/s", "row.windows_per_s", ",.1f", mark=marks("row"), optional=True, rank=5),
    replace(x_column("x", "row"), optional=False),
    Column("first ms", "row.latency_ms_first", ".1f", optional=True, rank=4),
    Column("runs", "row.n_runs", ",.0f", rank=7),
    Column("timed s", "row.timed_s", ".0f", optional=True, rank=9),
    Column("tokenize", "row.tokenize_ms_p50", ".2f", rank=8),
    Column("decode", "row.decode_ms_p50", ".2f", rank=8),
    Column("load ms", "row.load_ms", ".0f", rank=3),
    Column("peak MB", "row.peak_memory_mb", ".0f", rank=1),
]
LATENCY = [MODEL, *SETTING]


# On the page, with the places of several groups
PLACES = [replace(TARGET, varied=True), DATA, replace(MACHINE, rank=6)]
F1_PARTS = [F1_INTERVAL, replace(HAS_ANS, rank=6), replace(NO_ANS, rank=6)]
PAGE_MODELS = [
    *(MODEL, *PLACES, RUNTIME, PRECISION, SIZE, EXACT, *F1_PARTS, *BOTH_RETAINED, *TIMES),
    *(INSTRUCTIONS, EMBEDDINGS, PARAMS, NON_EMBEDDING, AGREEMENT, QUESTIONS),
]
PAGE_SETTINGS = [MODEL, *PLACES, RUNTIME, PRECISION, *SETTING, BUNDLE]
