"""The classes of results, one for each kind of measurement.

Units are in the names: milliseconds, bytes and MB (1e6 bytes). EM, F1 and their parts are percent; retained
F1 and agreements are ratios.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import Meta, Struct

from qa.evaluation.bootstrap import Interval

CPU = "cpu"
CUDA = "cuda"
PHONE = "phone"
BENCHMARK_MODEL = "LiteRT benchmark_model"  # runtime of times without the app
HERE = (CPU, CUDA)  # targets on this machine
SSH = "ssh:"  # begins the name of a remote target, like QEMU
QEMU = "qemu:"
TOOLCHAIN_STAGE = "peer"  # the stage of what a toolchain made, on disk
UNPADDED: Final = "unpadded"  # as short as the runtime allows
PADDED: Final = "padded"  # to the longest window of the model
# The smallest normal number: gt=0 compares with the smallest subnormal one, which is 0 on a thread that
# flushes those to zero.
Positive = Annotated[float, Meta(ge=sys.float_info.min)]
Count = Annotated[int, Meta(ge=1)]
Lengths = Literal["unpadded"] | Count  # UNPADDED, or the tokens that every window is padded to
BUSY = 0.1  # cores that other processes keep busy; from here on times are too long, and a table says so


class Machine(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A CPU, an emulated CPU, a GPU or a phone."""

    name: str
    cores: Count | None = None
    features: tuple[str, ...] = ()
    """Instruction sets that decide how fast int8 and half precision are, as /proc/cpuinfo names them."""

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.short, " ".join(self.features))))

    @property
    def short(self) -> str:
        """Return its name and cores."""
        counted = f"{self.cores} core{'s' if self.cores != 1 else ''}" if self.cores else ""
        return ", ".join(filter(None, (self.name, counted)))


class Runtime(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The package that computed, its version, and a variant such as "CUDA" or "compile"."""

    package: str
    version: str = ""
    variant: str = ""

    def __str__(self) -> str:
        return " ".join(text for text in (self.package, self.version, self.variant) if text)


class Data(Struct, frozen=True, forbid_unknown_fields=True):
    """A data file."""

    name: str
    sha256: str


class Result(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="kind"):
    """The fields of all results: model, runtime, machine, data, command."""

    model: str
    bundle_sha256: str
    """Hash of the bundle; of a toolchain's model or a GPU's variant: hash of its parts. Of a model that could
    not be made: hash of what it was to be made from."""
    parent_sha256: str | None = None
    """Hash of the bundle that this was made from."""
    stage: str
    """Stage that made the bundle; TOOLCHAIN_STAGE where a toolchain made the model."""
    precision: str
    embeddings: str | None = None
    """Precision of quantized embeddings, such as "int8" or "pq3"."""
    toolchain: str | None = None
    """Toolchain that made this of the bundle parent_sha256."""
    versions: dict[str, str] = {}
    """Versions of the toolchain's packages."""
    runtime: Runtime | None = None
    target: str
    """cpu and cuda (this machine), phone, ssh:USER@HOST or qemu:CPU."""
    machine: Machine
    data: Data | None = None
    params: Count | None = None
    params_without_embeddings: Count | None = None
    size_bytes: Count | None = None
    """Size of the weights file."""
    max_length: Count | None = None
    """Longest window in tokens; only in football.jsonl, which has one file with two lengths."""
    command: str
    date: str
    """Start of the run, UTC, the same for all its results."""

    @property
    def subject(self) -> tuple[object, ...]:
        """Return the key under which a newer result replaces an older one.

        One file, read with the same settings, of one toolchain, in one precision.
        """
        return self.bundle_sha256, self.max_length, self.toolchain, self.precision


def _shown(mean: float | None, low: float | None, high: float | None) -> Interval | float | None:
    return mean if mean is None or low is None or high is None else Interval(mean, low, high)


SHARED = "shares a character with a gold answer"


class Scores(Result, kw_only=True):
    """Scores of a model's answers, by the official script's keys."""

    data: Data
    runtime: Runtime
    n: Count
    """Number of questions."""
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
    """No-answer threshold that decided the answers."""
    calibration_error: float | None = None
    """Expected calibration error of the probabilities, in percent (`qa.evaluation.calibration`)."""
    right: str | None = None
    """Rule by which it counts answers as right: SHARED; None in older results."""
    uncalibrated_calibration_error: float | None = None
    """The same of the softmax scores."""
    reliability: list[tuple[float, float, int]] = []
    """Mean probability, share right (0 to 1) and number of results of each bin."""
    uncalibrated_reliability: list[tuple[float, float, int]] = []
    by_category: dict[str, dict[str, float]] = {}
    """exact, f1 and total by the questions' category."""


class Accuracy(Scores, tag="accuracy", kw_only=True):
    """Scores with intervals, and their relation to those of other models."""

    f1_low: float | None = None
    f1_high: float | None = None
    """Ends of the 95 % bootstrap interval; those of what is retained are paired with the baseline's answers.
    """
    exact_low: float | None = None
    exact_high: float | None = None
    resampled: Literal["articles", "questions"] | None = None
    """Unit of the bootstrap's draws; questions on one article are not independent."""
    baseline: str | None = None
    baseline_sha256: str | None = None
    f1_retained: float | None = None
    """F1 over the baseline's."""
    f1_retained_low: float | None = None
    f1_retained_high: float | None = None
    exact_retained: float | None = None
    """EM over the baseline's, of a remote target. Here the baseline's own result has its EM."""
    exact_retained_low: float | None = None
    """The interval of EM over the baseline's EM."""
    exact_retained_high: float | None = None
    same_answers: float | None = None
    """Share of answers (0 to 1) identical to those of same_answers_as: the parent, or else the baseline."""
    same_answers_as: str | None = None
    train_overlap: float | None = None
    """Share of questions (0 to 1) about passages that the model was trained on; None where unknown."""
    tuned_on_data: bool = False
    """True where the no-answer threshold was tuned on this file."""

    @property
    def f1_with_interval(self) -> Interval | float | None:
        """Return F1 in percent, with its interval if known."""
        return _shown(self.f1, self.f1_low, self.f1_high)

    @property
    def exact_with_interval(self) -> Interval | float | None:
        """Return EM in percent, with its interval if known."""
        return _shown(self.exact, self.exact_low, self.exact_high)

    @property
    def retained_with_interval(self) -> Interval | float | None:
        """Return F1 retained, with its interval if known."""
        return _shown(self.f1_retained, self.f1_retained_low, self.f1_retained_high)


class TargetAccuracy(Accuracy, tag="target accuracy", kw_only=True):
    """Scores on a remote target, beside those of the same file and windows on the machine of the command.

    `same_answers` is the agreement with the latter. The baseline is this machine's, on the same file of data.
    """

    reference: str
    """Runtime and machine of the command."""
    reference_f1: float
    parity_max_abs: Annotated[float, Meta(ge=0)]
    """Largest absolute difference of a logit from the reference's."""
    same_spans: Annotated[float, Meta(ge=0, le=1)]
    """Share of windows with the same best span."""
    same_answers_low: float | None = None
    """Ends of the interval of same_answers."""
    same_answers_high: float | None = None
    instructions_per_window: Count | None = None
    """Mean over the windows, in the runtime call, one thread, unpadded; only under QEMU, which counts them.
    """
    least_instructions_per_window: Count | None = None
    """Vector instructions that the matrix products of a window need at least (`benchmarks.measure.products`).
    """

    @property
    def same_answers_with_interval(self) -> Interval | float | None:
        """Return the share of answers equal to the reference's, with its interval if known.

        Where all are equal, or none, a bootstrap has no width, which would say too much.
        """
        if self.same_answers in (0.0, 1.0):
            return self.same_answers
        return _shown(self.same_answers, self.same_answers_low, self.same_answers_high)


class Latency(Result, tag="latency", kw_only=True):
    """Times of a model in its own process, pinned to its cores; the models of a run take turns on the same
    windows.
    """

    data: Data
    runtime: Runtime
    threads: Count
    affinity: tuple[int, ...] = ()
    """Cores its process was pinned to."""
    batch: Count
    lengths: Lengths
    other_load: float | None = None
    """Cores that other processes kept busy meanwhile, on average."""
    governor: str | None = None
    load_average: float | None = None
    """1-minute load average before the run."""
    quick: bool = False
    """Timed on fewer than 1,024 windows or for less than 60 s."""
    latency_ms_p50: Positive | None = None
    latency_ms_p90: Positive | None = None
    latency_ms_p99: Positive | None = None
    latency_ms_mean: Positive | None = None
    """Times of the runtime call for one window; batches have windows_per_s instead."""
    latency_ms_first: Positive | None = None
    """The first call of the process, not among those timed."""
    windows_per_s: Positive | None = None
    n_warmup: int
    n_runs: Count
    timed_s: float | None = None
    round_ms: tuple[Positive, ...] = ()
    """Mean time of a window in each round; ratios to other models of the run are paired by round."""
    tokenize_ms_p50: float | None = None
    """Median time for one question; decode_ms_p50 is for one window. Neither is part of the latency."""
    decode_ms_p50: float | None = None
    int8_peak_gops: Positive | None = None  # in results of version 0.2.0, which must still open
    load_ms: float | None = None
    peak_memory_mb: float | None = None
    """Peak of the process, on a GPU that of PyTorch's tensors in its memory."""
    peak_of_windows: bool = False
    """True for the peak while these windows were computed; older results have that of the whole process."""
    memory_before_load_mb: float | None = None  # only in older results, which must still open


class TrainingSpeed(Result, tag="training speed", kw_only=True):
    """Speed of training one way, in turns with others on the same windows (`recipes/training_speed.py`).

    The model is the one whose layers were trained.
    """

    data: Data
    runtime: Runtime
    case: str
    """Name of the way to train."""
    layers: Count
    batch: Count
    steps: Count
    """Timed steps of each round."""
    threads: Count
    windows_per_s: tuple[Positive, ...]
    """Speed in each round."""
    peak_memory_mb: float | None = None
    """Peak of the process; on a GPU that of PyTorch's tensors in its memory."""


class PhoneLatency(Result, tag="phone latency", kw_only=True):
    """Windows on a phone: of the file's probe in the app, or random ones in BENCHMARK_MODEL.

    There is no data, so no accuracy. `date` of the app's results is that of the import.
    """

    runtime: Runtime
    threads: Count
    lengths: Count
    n_warmup: int
    n_runs: Count
    latency_ms_p50: Positive | None = None
    latency_ms_p95: Positive | None = None
    latency_ms_mean: Positive
    latency_ms_first: Positive
    load_ms: float
    memory_growth_mb: float | None = None
    """Growth of resident memory since before loading; in BENCHMARK_MODEL of its peak."""
    thermal_status: int | None = None
    """Android's, 0 to 6, the higher of before and after the runs."""


class PhoneQuestions(Result, tag="phone questions", kw_only=True):
    """Whole questions in the app on a phone, about the app's own passages, so no accuracy."""

    runtime: Runtime
    threads: Count
    n: Count
    """Number of questions, each asked once."""
    n_windows: Count
    """Number of windows of all questions together."""
    latency_ms_p50: Positive
    latency_ms_p95: Positive
    latency_ms_mean: Positive
    """Mean time of a question."""
    tokenize_ms_mean: Positive
    inference_ms_mean: Positive
    decode_ms_mean: Positive
    thermal_status: int | None = None
    """Android's, 0 to 6, the higher of before and after the questions."""


class Failure(Result, tag="failure", kw_only=True):
    """A model that could not be measured, in one line of why."""

    error: str
    unsupported: bool = False
    """True where its runtime cannot express the model, which is a finding and no fault."""
    threads: Count | None = None


Kind = TypeVar("Kind", bound=Result)
AnyResult = Accuracy | TargetAccuracy | Latency | TrainingSpeed | PhoneLatency | PhoneQuestions | Failure


def newest(results: Sequence[AnyResult], kind: type[Kind], **fields: Any) -> Kind | None:
    """Return the newest result of exactly this class with these fields; a field given as None may be
    anything.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    for result in reversed(results):
        if type(result) is kind and all(getattr(result, name) == value for name, value in given.items()):
            return result
    return None
