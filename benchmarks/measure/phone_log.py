"""Results out of the logs of LiteRT's benchmark tool (benchmark_model), run on a phone.

The tool's output is that of tflite/tools/benchmark/benchmark_model.cc in github.com/google-ai-edge/LiteRT,
and of the same file in TensorFlow before: lines with or without a level in front ("INFO: "), or with a logcat
stamp ("I tflite  : "). Times are microseconds; the file size is in 1e6 bytes, memory in 2^20, each printed
with six digits.
"""

import math
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

from benchmarks.measure.models import ModelUnderTest
from benchmarks.results.rows import PHONE, Failure, PhoneLatency, Runtime
from qa.base.errors import PocketQAError
from qa.formats.registry import FORMATS

MIB = 2**20 / 1e6
MAX_ERROR_LENGTH = 300  # of a failed run; the tool may print its whole usage

# The first lines of a run, in their order; the app that wraps the tool leaves out the first, old tools the
# second.
BEGINNINGS = ("STARTING!", "Log parameter values verbosely:", "Graph: [")
COUNT = re.compile(
    r"(?<!\(microseconds\): )(?<!\(bytes\): )\bcount=\d+.*"
)  # not those of an operator profile
TIMINGS = re.compile(
    r"Inference timings in us: Init: (\S+), First inference: (\S+), "
    r"Warmup \(avg\): (\S+), Inference \(avg\): (\S+)"
)
ERROR = re.compile(r"(?:\b(?:ERROR|FATAL): |\b[EF][ /]tflite *(?:\( *\d+\))? *: )(.*)")
FAILED = re.compile(r"Benchmarking failed|failed to invoke")
APPLIED = re.compile(
    r"\b[Aa]pplied (\S+) delegate, and the model graph will be (?:completely|partially) executed"
)
XNNPACK = "Created TensorFlow Lite XNNPACK delegate for CPU"  # by default, unless --use_xnnpack is given
COMPILED_MODEL = re.compile(r"BENCHMARK RESULTS|Model initialization: ")


class PhoneLogError(PocketQAError):
    """A log of the benchmark tool cannot be used; the message names file, line, what is missing and what to
    do."""


@dataclass(frozen=True)
class PhoneRun:
    """One run of the tool, as its log tells; what the log does not tell is None or absent."""

    where: str
    """Log file and line where the run begins."""
    graph: str
    """Path of the file on the phone."""
    size_mb: float | None
    signature: str | None
    input_shapes: str | None
    threads: int | None
    runtime: Runtime
    figures: dict[str, Any]
    """Latency, load time and memory by the names of a PhoneLatency; empty when the run failed."""
    error: str | None


def read_runs(path: Path) -> list[PhoneRun]:
    """All runs in a log, in order. PhoneLogError when there is none, or one does not name its file."""
    runs = [_parse(path, number, lines) for number, lines in _split(_read_lines(path))]
    if not runs:
        raise PhoneLogError(
            f"{path}: holds no run of LiteRT's benchmark tool (no line 'Graph: [...]'); give the complete "
            "output of "
            "android_aarch64_benchmark_model, or of adb logcat -d -s tflite"
        )
    return runs


def phone_results(
    path: Path, models: Sequence[ModelUnderTest], run: Mapping[str, Any]
) -> list[PhoneLatency | Failure]:
    """A result for each run in a log, with the metadata of the TFLite bundle it measured. PhoneLogError when
    that is not clear.

    `run` has machine, command and date of all results.
    """
    found: list[PhoneLatency | Failure] = []
    for one in read_runs(path):
        metadata = {**owner(one, models).metadata, **run, "target": PHONE, "runtime": one.runtime}
        metadata |= {"threads": one.threads, "lengths": _length(one)}
        found.append(
            PhoneLatency(**metadata, **one.figures)
            if one.error is None
            else Failure(**metadata, error=one.error)
        )
    return found


def owner(run: PhoneRun, models: Sequence[ModelUnderTest]) -> ModelUnderTest:
    """The bundle whose file the run measured: of the size the tool saw and, where several have it, of the
    name on the phone.

    A run that failed before it told the size goes by the name alone. PhoneLogError when it is none of them or
    unclear.
    """
    path = PurePosixPath(run.graph)
    named = [s for s in models if s.bundle.path.resolve().name in (path.stem, path.parent.name)]
    if run.size_mb is None:
        if run.error is None:
            raise PhoneLogError(
                f"{run.where}: no line 'The input model file size (MB)', so nothing shows what was measured"
            )
        if len(models) == 1 and path.name == FORMATS["tflite"].weights:
            named = list(models)
        if len(named) != 1:
            raise PhoneLogError(
                f"{run.where}: the run of {run.graph} failed before it told the file's size ({run.error}); "
                "run it again, or name only the bundle whose file it was"
            )
        return named[0]
    # Six digits are the size to 100 bytes or better. A file of another model that happens to agree is one of
    # the same shape and precision, which takes the same time.
    fitting = [s for s in models if float(f"{s.metadata['size_bytes'] / 1e6:.6g}") == run.size_mb]
    if not fitting or (named and not any(s in named for s in fitting)):
        sizes = ", ".join(f"{s.metadata['model']} ({s.metadata['size_bytes'] / 1e6:.6g} MB)" for s in models)
        raise PhoneLogError(
            f"{run.where}: {run.graph} of {run.size_mb:g} MB was measured, which is not the model.tflite of "
            f"{sizes}; "
            "name the bundle whose file is on the phone"
        )
    if len(fitting) > 1:
        fitting = [s for s in fitting if s in named] or fitting
    if len(fitting) > 1:
        names = ", ".join(s.metadata["model"] for s in fitting)
        raise PhoneLogError(
            f"{run.where}: {run.graph} of {run.size_mb:g} MB may be {names}; name one of them only, "
            "or push each file under the name of its bundle"
        )
    return fitting[0]


def _length(run: PhoneRun) -> int | None:
    """The window length that was measured, None when the log does not tell. PhoneLogError when the inputs had
    another."""
    named = re.fullmatch(r"qa(\d+)", run.signature or "")
    if named is None:
        return None
    shape = f"1,{named.group(1)}"
    # The tool resizes the inputs to the shapes it is given, whatever the signature's name says.
    if run.error is None and run.input_shapes and set(run.input_shapes.split(":")) != {shape}:
        raise PhoneLogError(
            f"{run.where}: input shapes {run.input_shapes} are not those of {run.signature}; "
            f"run it again with --input_layer_shape={':'.join([shape] * 3)}"
        )
    return int(named.group(1))


def _read_lines(path: Path) -> list[str]:
    """The whole lines of a text file, UTF-8 or UTF-16 (as Windows PowerShell writes it); PhoneLogError when
    it is no text."""
    raw = path.read_bytes()
    encoding = "utf-16" if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"
    text = raw.decode(encoding, errors="replace")
    if "\0" in text:
        raise PhoneLogError(f"{path}: not a text file; give the output of LiteRT's benchmark tool")
    return text.replace("\r", "").split("\n")[:-1]  # a last line without its end may be cut within a number


def _split(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The lines of each run with the number of its first; lines before and between that tell nothing are left
    out."""
    parts: list[tuple[int, list[str]]] = [(1, [])]
    reached = -1
    for number, line in enumerate(lines, start=1):
        rank = next((rank for rank, beginning in enumerate(BEGINNINGS) if beginning in line), None)
        if rank is not None:
            if rank <= reached or (reached < 0 and rank < 2):
                parts.append((number, []))
            reached = rank
        parts[-1][1].append(line)
    telling = (*BEGINNINGS[2:], "Inference timings", "Benchmarking failed")
    for number, part in parts:
        if any(text in line for line in part for text in telling):
            yield number, part


def _parse(path: Path, number: int, lines: Sequence[str]) -> PhoneRun:
    where = f"{path}: line {number}"
    if any(COMPILED_MODEL.search(line) for line in lines):
        raise PhoneLogError(
            f"{where}: a log of the CompiledModel benchmark; the app uses the Interpreter, "
            "so run android_aarch64_benchmark_model of the Interpreter API"
        )

    # Parameters come before the model is loaded; later ones would be those of a next run that lacks its first
    # lines.
    parameters = list(takewhile(lambda line: "Loaded model" not in line, lines))

    def parameter(name: str) -> str | None:
        pattern = re.compile(re.escape(name) + r": \[(.*)\]")
        found = [match.group(1) for line in parameters if (match := pattern.search(line))]
        return found[0] if found and found[0] else None

    def after(text: str) -> str | None:
        return next((line.partition(text)[2].strip() for line in lines if text in line), None)

    figures, error = _figures(lines)
    graph = parameter("Graph")
    if graph is None:
        raise PhoneLogError(
            f"{where}: no line 'Graph: [...]', so nothing shows which file was measured{_because(error)}"
        )
    threads = parameter("Num threads") or parameter("#threads used for CPU inference") or ""
    return PhoneRun(
        where=where,
        graph=graph,
        size_mb=_positive(after("The input model file size (MB): ")),
        signature=after("Using signature: ") or parameter("Signature to run"),
        input_shapes=parameter("Input shapes"),
        threads=int(threads)
        if threads.isdecimal() and int(threads) > 0
        else None,  # -1 leaves it to the runtime
        runtime=Runtime("LiteRT", variant=" ".join(f"+ {name}" for name in _delegates(lines))),
        figures=figures,
        error=error,
    )


def _because(error: str | None) -> str:
    return f" ({error})" if error else "; give the complete output"


def _delegates(lines: Sequence[str]) -> list[str]:
    """What the log proves to have computed the model, in the order it was applied."""
    found = [match.group(1) for line in lines if (match := APPLIED.search(line))]
    if any(XNNPACK in line for line in lines):
        found.append("XNNPACK")
    if any("Use xnnpack: [0]" in line for line in lines) and not found:
        found.append("built-in kernels")
    if any("xnnpack_force_fp16: [1]" in line or "Allow fp16: [1]" in line for line in lines):
        found.append("fp16 forced")
    return list(dict.fromkeys(found))


def _figures(lines: Sequence[str]) -> tuple[dict[str, Any], str | None]:
    """The figures of a run by the names of a PhoneLatency, and its error if it failed."""
    timings = [match.groups() for line in lines if (match := TIMINGS.search(line))]
    counts = [
        dict(re.findall(r"(\w+)=([-+.\w]+)", match.group()))
        for line in lines
        if (match := COUNT.search(line))
    ]
    errors = [match.group(1).strip() for line in lines if (match := ERROR.search(line))]
    said = "; ".join(text for text in dict.fromkeys(errors) if "Benchmarking failed" not in text)[
        :MAX_ERROR_LENGTH
    ]
    if any(FAILED.search(line) for line in lines):
        return {}, f"benchmark_model failed: {said or 'it does not say why'}"
    if not timings:
        why = f"the tool said {said}" if said else "the log is cut off or the tool crashed; run it again"
        return {}, f"no line 'Inference timings': {why}"
    if not counts:
        return {}, "no line 'count=...', so nothing shows how often it ran; give the complete output"
    init, first, _, mean = (_positive(text) for text in timings[-1])
    measured = counts[-1]
    warmup = counts[0] if len(counts) > 1 else {}
    n_runs, n_warmup = (_count(printed.get("count", "")) for printed in (measured, warmup))
    if not n_runs:
        return (
            {},
            f"no run was timed (count={measured['count']}); run it again without --dry_run and with "
            "--num_runs",
        )
    if mean is None:
        return {}, f"the mean time is {timings[-1][-1]}; run it again"
    times = {"p50": _positive(measured.get("median")), "p95": _positive(measured.get("p95"))}
    times |= {"mean": mean, "std": _positive(measured.get("std")), "first": first}
    figures = {f"latency_ms_{name}": round(us / 1e3, 4) for name, us in times.items() if us is not None}
    figures |= {"n_runs": n_runs} | ({} if n_warmup is None else {"n_warmup": n_warmup})
    memory = _last(lines, r"Memory footprint delta from the start of the tool \(MB\): init=\S+ overall=(\S+)")
    memory = memory or _last(lines, r"\bPeak memory footprint \(MB\): init=\S+ overall=(\S+)")  # of old tools
    peak = _last(lines, r"Overall peak memory footprint \(MB\) via periodic monitoring: (\S+)")
    others = {
        "load_ms": init and init / 1e3,
        "peak_memory_mb": peak and peak * MIB,
        "memory_growth_mb": memory and memory * MIB,
    }
    return figures | {key: round(value, 1) for key, value in others.items() if value is not None}, None


def _last(lines: Sequence[str], pattern: str) -> float | None:
    found = [match.group(1) for line in lines if (match := re.search(pattern, line))]
    return _positive(found[-1]) if found else None


def _count(text: str) -> int | None:
    """A whole number that a run can have counted to, None for anything else."""
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None


def _positive(text: str | None) -> float | None:
    """A number above 0 as the tool prints it, None for anything else (nan for one)."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None
