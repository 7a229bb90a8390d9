"""Results out of the JSON that the Android app's benchmark shares (BenchmarkReport.java writes it); `Report`
is the format.

Times are nanoseconds, one for each run, so that all statistics are made here, of the same runs. null: the
phone does not tell.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from benchmarks.measure.models import ModelUnderTest
from benchmarks.results.rows import PHONE, Count, Failure, Machine, PhoneLatency, PhoneQuestions, Runtime
from qa.base.errors import PocketQAError

VERSION = 1
XNNPACK = {True: "+ XNNPACK", False: "+ built-in kernels"}
LARGEST = 2**63 - 1  # of a Java long
Nanoseconds = Annotated[int, Meta(ge=1, le=LARGEST)]
Bytes = Annotated[int, Meta(ge=0, le=LARGEST)]
Times = Annotated[tuple[Nanoseconds, ...], Meta(min_length=1)]


class PhoneReportError(PocketQAError):
    """A report of the app cannot be used; the message names the file and what to do."""


class Part(Struct, kw_only=True, forbid_unknown_fields=True):
    """What was run with one number of threads, and what the phone was like."""

    threads: Count
    times_ns: Times
    """Of windows the runtime's call, with filling its inputs before and reading its logits after; of a
    question all of it."""
    thermal_before: int | None
    thermal_after: int | None
    """Android's thermal status, 0 (none) to 6 (shutdown)."""
    memory_bytes_before_load: Bytes | None
    memory_bytes_after: Bytes | None
    """Resident memory of the app's process, in which another copy of the model stays loaded."""


class Windows(Part):
    """Windows of the file's probe through one signature, again and again."""

    signature: str
    length: Count
    load_ns: Nanoseconds
    """Opening the interpreter and checking the signatures."""
    warmup_ns: Times
    """Runs before those that are timed; the first is the first after loading."""


class Questions(Part):
    """The questions of the app's own passages, each from the text to the answer, once."""

    windows: Count
    tokenize_ns: Times
    inference_ns: Times
    decode_ns: Times


class Failed(Struct, forbid_unknown_fields=True):
    """A number of threads that could not be measured."""

    threads: Count
    error: str


class AppRuntime(Struct, forbid_unknown_fields=True):
    """What computed."""

    package: str
    version: str
    xnnpack: bool


class Phone(Struct, forbid_unknown_fields=True):
    """What it computed on."""

    name: str
    android: str
    processor: str
    abi: str
    cores: Count
    build: str
    """Android's fingerprint."""


class Model(Struct, forbid_unknown_fields=True):
    """The file that was measured."""

    name: str
    precision: str
    size_bytes: Count
    sha256: str


class Report(Struct, forbid_unknown_fields=True):
    """One benchmark of one model on one phone."""

    format: Literal["pocketqa benchmark"]
    version: int
    app: str
    began_unix_ms: int
    runtime: AppRuntime
    phone: Phone
    model: Model
    windows: list[Windows]
    questions: list[Questions]
    failures: list[Failed]


def is_report(path: Path) -> bool:
    """Whether a file is JSON and no log."""
    with open(path, "rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def read_report(path: Path) -> Report:
    """PhoneReportError when it is none, or of a version that is not read."""
    raw = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        version = msgspec.json.decode(raw, type=dict[str, Any]).get("version")
        if version == VERSION:
            return msgspec.json.decode(raw, type=Report)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        said = f"not a complete benchmark report of the app ({error})"
        raise PhoneReportError(f"{path}: {said}; share it from the app again") from None
    raise PhoneReportError(
        f"{path}: report format {version}, but {VERSION} is supported; use the app of this project"
    )


def report_machine(report: Report) -> Machine:
    """The phone as results name it."""
    phone = report.phone
    return Machine(f"{phone.name}, Android {phone.android}, {phone.processor}", phone.cores)


def report_results(
    path: Path, models: Sequence[ModelUnderTest], run: Mapping[str, Any]
) -> list[PhoneLatency | PhoneQuestions | Failure]:
    """A result for each signature and number of threads, and for the questions. PhoneReportError when no
    bundle has the file.

    `run` has command and date of all results, and the machine where the command names it.
    """
    report = read_report(path)
    owner = next(
        (m for m in models if m.bundle.manifest.files[m.bundle.weights.name] == report.model.sha256), None
    )
    if owner is None:
        names = ", ".join(model.name for model in models)
        raise PhoneReportError(
            f"{path}: {report.model.name} ({report.model.precision}, SHA-256 {report.model.sha256[:12]}) "
            "was measured, which is "
            f"not the model.tflite of {names}; name the bundle whose file is on the phone"
        )
    runtime = Runtime(report.runtime.package, report.runtime.version, XNNPACK[report.runtime.xnnpack])
    metadata = {
        **owner.metadata,
        "machine": report_machine(report),
        **run,
        "target": PHONE,
        "runtime": runtime,
    }
    return [
        *(PhoneLatency(**metadata, **_windows(part)) for part in report.windows),
        *(PhoneQuestions(**metadata, **_questions(part)) for part in report.questions),
        *(
            Failure(**metadata, threads=failed.threads, error=" ".join(failed.error.split()))
            for failed in report.failures
        ),
    ]


def _windows(part: Windows) -> dict[str, Any]:
    figures = _figures(part) | {"lengths": part.length, "timed_by": "app", "n_warmup": len(part.warmup_ns)}
    figures |= {
        "n_runs": len(part.times_ns),
        "latency_ms_first": ms(part.warmup_ns[0]),
        "load_ms": ms(part.load_ns),
    }
    before = part.memory_bytes_before_load
    after = part.memory_bytes_after
    return figures | ({"memory_growth_mb": round((after - before) / 1e6, 1)} if before and after else {})


def _questions(part: Questions) -> dict[str, Any]:
    means = {
        f"{name}_ms_mean": ms(mean(getattr(part, f"{name}_ns")))
        for name in ("tokenize", "inference", "decode")
    }
    return _figures(part) | means | {"n": len(part.times_ns), "n_windows": part.windows}


def _figures(part: Part) -> dict[str, Any]:
    times = {
        "p50": percentile(part.times_ns, 50),
        "p95": percentile(part.times_ns, 95),
        "mean": mean(part.times_ns),
    }
    told = [status for status in (part.thermal_before, part.thermal_after) if status is not None]
    figures: dict[str, Any] = {f"latency_ms_{name}": ms(time) for name, time in times.items()}
    return figures | {"threads": part.threads} | ({"thermal_status": max(told)} if told else {})


def mean(times: Sequence[int]) -> float:
    """The arithmetic mean."""
    return sum(times) / len(times)


def percentile(times: Sequence[int], percent: int) -> int:
    """The nearest rank, always a time that was measured; Times.java has the same rule."""
    return sorted(times)[max(math.ceil(percent * len(times) / 100), 1) - 1]


def ms(nanoseconds: float) -> float:
    """Milliseconds, to a tenth of a microsecond."""
    return round(nanoseconds / 1e6, 4)
