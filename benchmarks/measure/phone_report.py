"""Results from the JSON that the Android app's benchmark shares; BenchmarkReport.java writes it.

Times are nanoseconds, one for each run, so that all statistics are computed here. null: the phone does not
tell.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct

from benchmarks.measure.run import ModelUnderTest
from benchmarks.results.rows import PHONE, Count, Failure, Machine, PhoneLatency, PhoneQuestions, Runtime
from qa.base.errors import PocketQAError

VERSION = 1
XNNPACK = {True: "+ XNNPACK", False: "+ built-in kernels"}
MAX_LONG = 2**63 - 1  # of Java
Nanoseconds = Annotated[int, Meta(ge=1, le=MAX_LONG)]
Bytes = Annotated[int, Meta(ge=0, le=MAX_LONG)]
Times = Annotated[tuple[Nanoseconds, ...], Meta(min_length=1)]


class PhoneReportError(PocketQAError):
    """A report of the app cannot be used; the message names the file and what to do."""


class Part(Struct, kw_only=True, forbid_unknown_fields=True):
    """Runs with one number of threads, and the phone's state."""

    threads: Count
    times_ns: Times
    """Times of windows: the runtime's call with filling its inputs and reading its logits. Of questions:
    everything.
    """
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
    """Time to open the interpreter and check the signatures."""
    warmup_ns: Times
    """Runs before the timed ones; the first is the first after loading."""


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
    """The runtime in the app."""

    package: str
    version: str
    xnnpack: bool


class Phone(Struct, forbid_unknown_fields=True):
    """The phone."""

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


def read_report(path: Path) -> Report:
    """Read a report. PhoneReportError when the file is none, or of another version."""
    raw = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        version = msgspec.json.decode(raw, type=dict[str, Any]).get("version")
        if version == VERSION:
            report = msgspec.json.decode(raw, type=Report)
            if not (report.windows or report.questions or report.failures):
                raise PhoneReportError(f"{path}: has no measurements; run the benchmark in the app again")
            return report
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PhoneReportError(
            f"{path}: not a complete benchmark report of the app ({error}); share it from the app again"
        ) from None
    raise PhoneReportError(
        f"{path}: report format {version}, but {VERSION} is supported; use the app of this project"
    )


def report_machine(report: Report) -> Machine:
    """Describe the phone."""
    phone = report.phone
    return Machine(f"{phone.name}, Android {phone.android}, {phone.processor}", phone.cores)


def report_results(
    path: Path, models: Sequence[ModelUnderTest], run: Mapping[str, Any]
) -> list[PhoneLatency | PhoneQuestions | Failure]:
    """Return a result for each signature and number of threads, and for the questions.

    `run` has the command and date of all results. PhoneReportError when no model has the file.
    """
    report = read_report(path)
    model = report.model
    owners = [m for m in models if m.bundle.manifest.files[m.bundle.weights.name] == model.sha256]
    if not owners:
        names = ", ".join(m.name for m in models)
        raise PhoneReportError(
            f"{path}: {model.name} ({model.precision}, SHA-256 {model.sha256[:12]}) is not the "
            f"model.tflite of {names}; name the bundle whose file is on the phone"
        )
    common = {
        **owners[0].metadata,
        **run,
        "machine": report_machine(report),
        "target": PHONE,
        "runtime": Runtime(report.runtime.package, report.runtime.version, XNNPACK[report.runtime.xnnpack]),
    }
    results: list[PhoneLatency | PhoneQuestions | Failure] = []
    results += [PhoneLatency(**common, **_windows(part)) for part in report.windows]
    results += [PhoneQuestions(**common, **_questions(part)) for part in report.questions]
    for failed in report.failures:
        error = " ".join(failed.error.split())
        results.append(Failure(**common, threads=failed.threads, error=error))
    return results


def _windows(part: Windows) -> dict[str, Any]:
    before = part.memory_bytes_before_load
    after = part.memory_bytes_after
    return _figures(part) | {
        "lengths": part.length,
        "n_warmup": len(part.warmup_ns),
        "n_runs": len(part.times_ns),
        "latency_ms_first": ms(part.warmup_ns[0]),
        "load_ms": ms(part.load_ns),
        "memory_growth_mb": round((after - before) / 1e6, 1) if before and after else None,
    }


def _questions(part: Questions) -> dict[str, Any]:
    return _figures(part) | {
        "n": len(part.times_ns),
        "n_windows": part.windows,
        "tokenize_ms_mean": ms(mean(part.tokenize_ns)),
        "inference_ms_mean": ms(mean(part.inference_ns)),
        "decode_ms_mean": ms(mean(part.decode_ns)),
    }


def _figures(part: Part) -> dict[str, Any]:
    # Measured times, by the rule of Times.java.
    p50, p95 = map(float, np.percentile(part.times_ns, [50, 95], method="inverted_cdf"))
    thermal = [status for status in (part.thermal_before, part.thermal_after) if status is not None]
    return {
        "threads": part.threads,
        "latency_ms_p50": ms(p50),
        "latency_ms_p95": ms(p95),
        "latency_ms_mean": ms(mean(part.times_ns)),
        "thermal_status": max(thermal, default=None),
    }


def ms(nanoseconds: float) -> float:
    """Convert to milliseconds, to a tenth of a microsecond."""
    return round(nanoseconds / 1e6, 4)
