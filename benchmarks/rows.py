"""Result rows: one JSON object a line, appended and never rewritten; and the facts of this machine that go into them."""

import json
import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.row_values import fault_of
from qa.errors import OptionError, PocketQAError
from qa.files import check_new_file

Row = dict[str, Any]

# The keys of a row in the order they are written. What is not known is absent. Milliseconds, bytes and MB (1e6 bytes) as named;
# exact, f1 and their HasAns_, NoAns_ parts are percent; f1_retained and same_answers are ratios. other_load: how many cores other
# processes kept busy on average while the latency was measured.
# Models are timed in rounds, each in a process of its own, in turns: round_ms is the mean time of one window in each round, of
# the same windows for all rows of one date, threads, lengths and batch, so that ratios are paired round by round. affinity lists
# the cores its process was pinned to. quick marks what was timed on fewer than 1,024 windows or for less than 60 s. With batch
# above 1 there is windows_per_s instead of latencies. load_ms, latency_ms_first and peak_memory_mb are of the process timed.
# f1_low and f1_high are the ends of a 95 % bootstrap interval over questions, as f1_retained_low and _high are, paired with the
# baseline's answers. null_threshold is the one of this very file, tuned on training articles held out for it.
# parent_sha256 is the bundle it was made from. Rows with a peer are of what another tool made of that bundle, in an environment
# with these versions; their bundle_sha256 is of the tool's name, versions and files.
# Rows with target "phone" come from a log of LiteRT's benchmark tool: windows of made-up token ids, so no data set and no
# accuracy; machine is what the user calls the phone, date that of reading the log. latency_ms_std is the deviation of the timed
# calls, latency_ms_first the first call of all, which is not among them; load_ms is the tool's "Init", memory_growth_mb how much
# the peak of resident memory grew since the tool's start. The tool knows no p90 and p99, an old one no percentiles at all.
# Rows of benchmarks/zoo.py name the head with its parameters, the seed, and under training what all its models share. Where no
# bundle came to be, bundle_sha256 is of what it was to be made from: the parent of an export, the encoder's weights of a model.
# Their status begins with "unsupported: " where a runtime cannot express a model, which is a finding and no failure.
# Rows of benchmarks/training.py have the stage "training", the case as model, and are of the teacher's bundle: windows_per_s is
# the median of round_windows_per_s, times_reference how many times those of the case `reference` in the same round, on average.
# Rows of benchmarks/football.py name under training what a model's training started from and its longest window (max_length, in
# tokens), and give exact, f1 and total by the questions' category.
# Rows with target "ssh:..." or "qemu:..." come from benchmarks/runner.py on that host or emulated CPU; n questions were
# computed there. parity_max_abs is the largest absolute difference of a logit, same_spans the share of windows (0 to 1) with the
# same best span, both against reference: the runtime that computed the same windows of the same bundle on the machine of the
# command, where reference_f1 is its F1. instructions_per_window is the mean over those windows of the instructions that the
# runtime call executes, at one thread and as short as the runtime allows; only under QEMU, where no time is measured.
# load_average is that of the last minute when the measurement began. On a GPU peak_memory_mb is what PyTorch's tensors took of
# its memory.
KEYS = (
    "model", "bundle_sha256", "parent_sha256", "stage", "precision", "peer", "runtime", "versions", "target", "machine",
    "threads", "affinity", "batch", "lengths", "quick",  # of the latency; lengths is "real" or the padded length
    "params", "params_without_embeddings", "size_bytes", "head", "head_params", "seed", "training",
    "data", "n", "n_windows", "exact", "f1",
    "HasAns_exact", "HasAns_f1", "HasAns_total", "NoAns_exact", "NoAns_f1", "NoAns_total", "best_f1", "best_f1_thresh",
    "null_threshold", "f1_low", "f1_high", "by_category",
    "baseline", "baseline_sha256", "f1_retained", "f1_retained_low", "f1_retained_high", "same_answers", "same_answers_as",
    "reference", "reference_f1", "parity_max_abs", "same_spans", "instructions_per_window",
    "latency_ms_p50", "latency_ms_p90", "latency_ms_p95", "latency_ms_p99", "latency_ms_mean",
    "latency_ms_std", "latency_ms_first", "n_warmup", "n_runs", "timed_s", "round_ms",
    "objective", "windows_per_s", "round_windows_per_s", "times_reference",
    "tokenize_ms_p50", "decode_ms_p50", "load_ms", "peak_memory_mb", "memory_before_load_mb", "memory_growth_mb", "other_load",
    "governor", "load_average",
    "command", "date", "status",
)  # fmt: skip
REQUIRED = ("model", "bundle_sha256", "stage", "precision", "target", "machine", "data", "command", "date", "status")
OK = "ok"
CUDA = "cuda"  # the target of rows measured on this machine's GPU
CPU = "cpu"  # the target of rows measured in the process of the command
HERE = (CPU, CUDA)
PHONE = "phone"  # the target of rows measured on a phone

# Instruction sets that decide how fast int8 and half precision are, as /proc/cpuinfo names them.
USEFUL_FLAGS = (
    "avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_int8", "amx_bf16", "asimddp", "asimdhp",
    "i8mm", "bf16", "sve",
)  # fmt: skip


class RowsError(PocketQAError):
    """A file of result rows cannot be read; the message names file and line."""


def make_row(values: Mapping[str, Any]) -> Row:
    """A row in the order of KEYS, without what is None. ValueError when a key is unknown or a required one is missing."""
    unknown = [key for key in values if key not in KEYS]
    missing = _missing(values)
    if unknown or missing:
        raise ValueError(f"result row with unknown keys {unknown}, without required keys {missing}")
    return {key: values[key] for key in KEYS if values.get(key) is not None}


def _missing(values: Mapping[str, Any]) -> list[str]:
    optional = ("data",) if values.get("target") == PHONE else ()
    return [key for key in REQUIRED if values.get(key) is None and key not in optional]


def append_row(path: Path, row: Row) -> None:
    """Append one whole line and flush it to disk; when the disk is full the file is left as it was."""
    line = json.dumps(make_row(row), ensure_ascii=False).encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+b") as stream:
        before = stream.seek(0, os.SEEK_END)
        if before:
            stream.seek(-1, os.SEEK_END)
            line = line if stream.read(1) == b"\n" else b"\n" + line  # a torn line must not take this one with it
    try:
        with open(path, "ab") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:  # cut off only now: closing still writes what the disk had no room for
        os.truncate(path, before)
        raise


def rows_so_far(path: Path) -> list[Row]:
    """The rows of a file that results are to be appended to, none while there is no such file.

    OptionError when there can be none, said before anything is measured; RowsError as from `read_rows`.
    """
    check_new_file(path, "--rows")
    if not path.is_file():
        return []
    if not os.access(path, os.W_OK):
        raise OptionError(f"--rows {path}: cannot be written to; give another file")
    return read_rows(path)


def read_rows(path: Path) -> list[Row]:
    """All rows of a file, oldest first; RowsError names the line that is not a row."""
    return [parse_row(line, where) for line, where in row_lines(path)]


def row_lines(path: Path) -> Iterator[tuple[bytes, str]]:
    """Every line of a file of rows, and where it stands. RowsError when there is no such file."""
    if not path.is_file():
        raise RowsError(f"{path}: no such file; python benchmarks/compare.py writes one")
    # Bytes, for text has separators more than bytes have, and JSON leaves those in a name as they are.
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        yield line, f"{path}: line {number}"


def parse_row(line: bytes, where: str) -> Row:
    """One line as a row; RowsError when it is none, or one without the keys and kinds of values of today."""
    try:
        row = json.loads(line.decode())
    except ValueError as error:
        raise RowsError(f"{where} is not a JSON object ({error}); remove that line") from None
    if not isinstance(row, dict) or _missing(row):
        lacking = ", ".join(_missing(row)) if isinstance(row, dict) else "keys"
        raise RowsError(f"{where} is not a result row, it lacks {lacking}; remove that line")
    fault = fault_of(row, succeeded=row["status"] == OK, on_phone=row["target"] == PHONE)
    if fault is not None:
        raise RowsError(f"{where}: {fault}; remove that line and measure again")
    return row


def cpu_facts(cpuinfo: str) -> dict[str, str]:
    """The facts of the first CPU in the text of /proc/cpuinfo."""
    facts: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    return facts


def useful_flags(cpuinfo: str) -> str:
    """The instruction sets in the text of /proc/cpuinfo that decide speed."""
    facts = cpu_facts(cpuinfo)
    flags = set((facts.get("flags") or facts.get("Features") or "").split())
    return " ".join(flag for flag in USEFUL_FLAGS if flag in flags)


def machine(cpuinfo: str | None = None, cores: int | None = None, architecture: str | None = None) -> str:
    """CPU, its cores, and useful instruction sets, in one line without any host name; of this machine, or of that described."""
    if cpuinfo is None:
        path = Path("/proc/cpuinfo")
        cpuinfo = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    facts = cpu_facts(cpuinfo)
    name = facts.get("model name") or architecture or platform.processor() or platform.machine() or "unknown CPU"
    if "cpu family" in facts and "model" in facts:  # virtual machines often hide all but these
        name += f" (family {facts['cpu family']}, model {facts['model']})"
    if "CPU part" in facts:  # ARM's kernels give numbers for names
        name += f" (implementer {facts.get('CPU implementer')}, part {facts['CPU part']})"
    cores = cores or os.cpu_count() or 1  # of the machine, not of this process: threads have a column of their own
    words = [name, f"{cores} core{'s' if cores > 1 else ''}", useful_flags(cpuinfo)]
    return ", ".join(word for word in words if word)
