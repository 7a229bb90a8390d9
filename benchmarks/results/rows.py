"""Results, one class for each kind of measurement; kept as JSON lines that are appended and never rewritten.

Milliseconds, bytes and MB (1e6 bytes) as names say. EM, F1 and their parts are percent, retained F1 and
agreements are ratios. A result that breaks its class's types or bounds is refused with its line's number.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct

from qa.base.errors import OptionError, PocketQAError
from qa.base.files import check_new_file
from qa.evaluation.bootstrap import Interval

CPU = "cpu"
CUDA = "cuda"
PHONE = "phone"
HERE = (CPU, CUDA)  # targets that this machine is
# what the names of others begin with
SSH = "ssh:"
QEMU = "qemu:"
UNPADDED: Final = "real"  # as short as the runtime allows
PADDED: Final = "padded"  # to the longest window of the model
# The smallest normal number: gt=0 compares with the smallest subnormal one, which is 0 on a thread that
# flushes those to zero.
Positive = Annotated[float, Meta(ge=sys.float_info.min)]
Count = Annotated[int, Meta(ge=1)]
Lengths = Literal["real"] | Count  # UNPADDED, or the tokens that every window is padded to
BUSY = 0.1  # cores that other processes keep busy; from here on a table says so, for times are then too long
EXIT_SOME_FAILED = 1


class ResultsError(PocketQAError):
    """A file of results cannot be read; the message names file and line."""


class Machine(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What computed: a CPU, an emulated one, a GPU or a phone."""

    name: str
    cores: Count | None = None
    features: tuple[str, ...] = ()
    """Instruction sets that decide how fast int8 and half precision are, as /proc/cpuinfo names them."""

    def __str__(self) -> str:
        counted = f"{self.cores} core{'s' if self.cores != 1 else ''}" if self.cores else ""
        return ", ".join(text for text in (self.name, counted, " ".join(self.features)) if text)


class Runtime(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The package that computed, its version, and what else tells how it was used, such as "CUDA" or
    "compile"."""

    package: str
    version: str = ""
    variant: str = ""

    def __str__(self) -> str:
        return " ".join(text for text in (self.package, self.version, self.variant) if text)


class Data(Struct, frozen=True, forbid_unknown_fields=True):
    """A data file."""

    name: str
    sha256: str


class Subject(NamedTuple):
    """Identity of what a result measures: one file, read with the same settings, of one toolchain."""

    bundle_sha256: str
    settings: str | None
    peer: str | None
    precision: str


class Result(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="kind"):
    """What all results say: which model, computed by what, where, on which data, by which command."""

    model: str
    bundle_sha256: str
    """Of the bundle; of a peer's or a GPU's variant a hash of what it was made of. Where no bundle came to
    be, of what it was to be made from."""
    settings_sha256: str | None = None
    """SHA-256 of the settings it was run with, where they are not those that the bundle was sealed with."""
    parent_sha256: str | None = None
    """Of the bundle that this was made from."""
    stage: str
    """The stage that made the bundle; "peer" where another tool made something of it."""
    precision: str
    embeddings: str | None = None
    """How the embedding tables are stored, such as "int8" or "pq3", where the bundle says so."""
    peer: str | None = None
    """Name of the peer that made this of the bundle parent_sha256."""
    versions: dict[str, str] = {}
    """Of the packages that a peer was made by."""
    runtime: Runtime | None = None
    target: str
    """cpu and cuda (this machine), phone, ssh:USER@HOST or qemu:CPU."""
    machine: Machine
    data: Data | None = None
    params: Count | None = None
    params_without_embeddings: Count | None = None
    size_bytes: Count | None = None
    """Of the weights file."""
    head: str | None = None
    head_params: int | None = None
    seed: int | None = None
    training: dict[str, Any] = {}
    """How the models of an experiment were trained."""
    command: str
    date: str
    """When the run began, UTC, the same for all its results."""

    @property
    def subject(self) -> Subject:
        """Key under which a newer result takes the place of an older one."""
        # Rows older than `settings_sha256` say the one setting that experiments varied.
        settings = self.settings_sha256 or self.training.get("max_length")
        return Subject(self.bundle_sha256, settings and str(settings), self.peer, self.precision)

    @property
    def made_from(self) -> str | None:
        """The bundle this was made from; where a peer's results name none, their own hash is that
        bundle's.
        """
        return self.parent_sha256 or (self.bundle_sha256 if self.peer else None)


class Accuracy(Result, tag="accuracy", kw_only=True):
    """Scores of a model's answers; the official script's keys."""

    data: Data
    runtime: Runtime
    n: Count
    """Questions."""
    n_windows: Count | None = None
    exact: float
    f1: float
    HasAns_exact: float | None = None
    HasAns_f1: float | None = None
    HasAns_total: int | None = None
    NoAns_exact: float | None = None
    NoAns_f1: float | None = None
    NoAns_total: int | None = None
    best_f1: float | None = None
    best_f1_thresh: float | None = None
    null_threshold: float | None = None
    """Of no answer; tuned for this very file on training articles held out for it."""
    f1_low: float | None = None
    f1_high: float | None = None
    """Ends of the 95 % bootstrap interval, as f1_retained_low and _high, which are paired with the baseline's
    answers."""
    resampled: Literal["articles", "questions"] | None = None
    """What the bootstrap draws; questions on one article are not independent."""
    baseline: str | None = None
    baseline_sha256: str | None = None
    f1_retained: float | None = None
    """F1 over the baseline's."""
    f1_retained_low: float | None = None
    f1_retained_high: float | None = None
    same_answers: float | None = None
    """Share of answers (0 to 1) identical to those of same_answers_as: the parent, or without one the
    baseline."""
    same_answers_as: str | None = None
    by_category: dict[str, dict[str, float]] = {}
    """exact, f1 and total by the questions' category."""

    @property
    def f1_interval(self) -> Interval | None:
        """F1 with the ends of its interval, where it has one."""
        return interval_of(self.f1, self.f1_low, self.f1_high)

    @property
    def retained_interval(self) -> Interval | None:
        """F1 retained with the ends of its interval, where it has one."""
        return interval_of(self.f1_retained, self.f1_retained_low, self.f1_retained_high)


class TargetAccuracy(Accuracy, tag="target accuracy", kw_only=True):
    """Scores of what another target computed, beside those of the same windows and file on the machine of the
    command."""

    reference: str
    """Runtime and machine of the command."""
    reference_f1: float
    parity_max_abs: Annotated[float, Meta(ge=0)]
    """Largest absolute difference of a logit from the reference's."""
    same_spans: Annotated[float, Meta(ge=0, le=1)]
    """Share of windows with the same best span."""
    instructions_per_window: Count | None = None
    """Mean over the windows of what the runtime call executes, one thread, unpadded; only where they are
    counted, under QEMU."""


class Timed(Result, kw_only=True):
    """What was timed on this machine or another in processes that were given their cores."""

    data: Data
    runtime: Runtime
    threads: Count
    affinity: tuple[int, ...] = ()
    """Cores its process was pinned to."""
    batch: Count
    lengths: Lengths
    """UNPADDED in training where windows are padded to the longest of their batch."""
    other_load: float | None = None
    """Cores that other processes kept busy meanwhile, on average."""
    governor: str | None = None
    load_average: float | None = None
    """Of the minute before the run."""


class Latency(Timed, tag="latency", kw_only=True):
    """Times of a model in its own process, in rounds in which the models of a run take turns on the same
    windows."""

    quick: bool = False
    """Timed on fewer than 1,024 windows or for less than 60 s."""
    latency_ms_p50: Positive | None = None
    latency_ms_p90: Positive | None = None
    latency_ms_p99: Positive | None = None
    latency_ms_mean: Positive | None = None
    """Of the runtime call for one window; with several windows at once there is windows_per_s instead."""
    latency_ms_first: Positive | None = None
    """The first call of the process, not among those timed."""
    windows_per_s: Positive | None = None
    n_warmup: int
    n_runs: Count
    timed_s: float | None = None
    round_ms: tuple[Positive, ...] = ()
    """Mean time of a window in each round; ratios to other models of the run are paired by round."""
    tokenize_ms_p50: float | None = None
    """Of one question, as decode_ms_p50 of one window; neither is part of the latency."""
    decode_ms_p50: float | None = None
    load_ms: float | None = None
    peak_memory_mb: float | None = None
    """Of the process; on a GPU what PyTorch's tensors took of its memory."""
    memory_before_load_mb: float | None = None


class PhoneLatency(Result, tag="phone latency", kw_only=True):
    """A run of LiteRT's benchmark tool on a phone, from its log, or of the app's own benchmark: no data, so
    no accuracy.

    `date` is that of reading the log.
    """

    runtime: Runtime
    timed_by: Literal["benchmark_model", "app"] = "benchmark_model"
    """The tool runs windows of made-up token ids, the app those of the file's probe."""
    threads: Count | None = None
    lengths: Count | None = None
    n_warmup: int | None = None
    n_runs: Count
    latency_ms_p50: Positive | None = None
    latency_ms_p95: Positive | None = None
    latency_ms_mean: Positive
    latency_ms_std: float | None = None
    latency_ms_first: Positive | None = None
    load_ms: float | None = None
    peak_memory_mb: float | None = None
    memory_growth_mb: float | None = None
    """How much the peak of resident memory grew since the tool's start; in the app, resident memory since
    before loading."""
    thermal_status: int | None = None
    """Android's, 0 to 6, the higher of before and after the runs."""


class PhoneQuestions(Result, tag="phone questions", kw_only=True):
    """Whole questions in the app on a phone, each from the text to the answer: the app's own passages, so no
    accuracy."""

    runtime: Runtime
    threads: Count
    n: Count
    """Questions, each asked once."""
    n_windows: Count
    """Of all questions together."""
    latency_ms_p50: Positive
    latency_ms_p95: Positive
    latency_ms_mean: Positive
    """Of a question."""
    tokenize_ms_mean: Positive
    inference_ms_mean: Positive
    decode_ms_mean: Positive
    thermal_status: int | None = None
    """Android's, 0 to 6, the higher of before and after the questions."""


class TrainingSpeed(Timed, tag="training speed", kw_only=True):
    """Windows a second of one case of training, which `model` names; the bundle is the teacher's."""

    objective: str
    hidden_dropout: float | None = None
    attention_dropout: float | None = None
    reference: str | None = None
    """The case that differs in one thing only."""
    windows_per_s: Positive
    """Median of the rounds."""
    round_windows_per_s: tuple[Positive, ...]
    n_runs: Count
    """Timed steps."""
    peak_memory_mb: float | None = None


class Failure(Result, tag="failure", kw_only=True):
    """A model that could not be measured, in one line of why."""

    error: str
    unsupported: bool = False
    """Its runtime cannot express the model, which is a finding and no fault."""
    threads: Count | None = None
    lengths: Lengths | None = None


Kind = TypeVar("Kind", bound=Result)
AnyResult = Accuracy | TargetAccuracy | Latency | PhoneLatency | PhoneQuestions | TrainingSpeed | Failure


class ResultFile:
    """A file of results and those of the run that appends to it."""

    encoder: ClassVar[msgspec.json.Encoder] = msgspec.json.Encoder()

    def __init__(self, path: Path) -> None:
        """OptionError when there can be no such file, said before anything is measured; ResultsError as from
        `read_results`."""
        check_new_file(path, "--rows")
        if path.is_file() and not os.access(path, os.W_OK):
            raise OptionError(f"--rows {path}: cannot be written to; give another file")
        self.path = path
        self.old: list[AnyResult] = read_results(path) if path.is_file() else []
        self.new: list[AnyResult] = []

    @property
    def all(self) -> list[AnyResult]:
        """Oldest first."""
        return self.old + self.new

    def append(self, result: AnyResult) -> None:
        """Append one whole line and flush it to disk; when the disk is full the file is left as it was."""
        append_result(self.path, result)
        self.new.append(result)


def append_result(path: Path, result: AnyResult) -> None:
    """Append one whole line and flush it to disk; when the disk is full the file is left as it was."""
    line = ResultFile.encoder.encode(result) + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+b") as stream:
        before = stream.seek(0, os.SEEK_END)
        if before:
            stream.seek(-1, os.SEEK_END)
            line = (
                line if stream.read(1) == b"\n" else b"\n" + line
            )  # a torn line must not take this one with it
    try:
        with open(path, "ab") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:  # cut off only now: closing still writes what the disk had no room for
        os.truncate(path, before)
        raise


_decoder = msgspec.json.Decoder(AnyResult)


def read_results(path: Path) -> list[AnyResult]:
    """All results of a file, oldest first; ResultsError names the line that is none."""
    found = []
    for result in _lines(path):
        if isinstance(result, ResultsError):
            raise result
        found.append(result)
    return found


def sound_results(path: Path) -> tuple[list[AnyResult], list[ResultsError]]:
    """The results of a file, and why each other line is left out. ResultsError when there is no such file or
    no result in it."""
    found = list(_lines(path))
    results = [one for one in found if not isinstance(one, ResultsError)]
    faults = [one for one in found if isinstance(one, ResultsError)]
    if not results:
        raise ResultsError(
            f"{path}: has no result ({faults[0] if faults else 'it is empty'}); measure something first"
        )
    return results, faults


def _lines(path: Path) -> Iterator[AnyResult | ResultsError]:
    if not path.is_file():
        raise ResultsError(f"{path}: no such file; python benchmarks/compare.py writes one")
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            yield _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            yield ResultsError(
                f"{path}: line {number} is not a result ({error}); remove that line and measure again"
            )


def newest(results: Sequence[AnyResult], kind: type[Kind], **wanted: Any) -> Kind | None:
    """The newest result of just this class with these fields; a field wanted as None may be anything."""
    for one in reversed(results):
        if type(one) is kind and all(
            value is None or getattr(one, name) == value for name, value in wanted.items()
        ):
            return one
    return None


def interval_of(mean: float | None, low: float | None, high: float | None) -> Interval | None:
    """The three as one; None where one is missing."""
    return None if mean is None or low is None or high is None else Interval(mean, low, high)


def exit_if_failed(results: Sequence[AnyResult]) -> None:
    """End the process with exit code 1 when a fault is among them; what a runtime cannot express is none."""
    if any(isinstance(one, Failure) and not one.unsupported for one in results):
        sys.exit(EXIT_SOME_FAILED)
