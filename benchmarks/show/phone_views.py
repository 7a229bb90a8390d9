"""Tables of measurements on phones."""

from collections.abc import Iterator

from benchmarks.results.rows import BENCHMARK_MODEL, AnyResult, Failure, PhoneLatency, PhoneQuestions
from benchmarks.show.footnotes import failure_footnotes
from benchmarks.show.groups import Group
from benchmarks.show.tables import Column, Table, first_to_last, make_table

MODEL_COLUMNS = [Column("model", "model"), Column("runtime", "runtime")]
THREADS = Column("threads", "threads", ".0f")
PERCENTILES = [Column(f"{name} ms", f"latency_ms_{name}", ".1f") for name in ("p50", "p95", "mean")]
THERMAL = Column("thermal", "thermal_status", ".0f", optional=True)
LATENCY_COLUMNS = [
    *MODEL_COLUMNS,
    Column("MB", "size_bytes", ".1f", 1e-6, rank=3),
    Column("lengths", "lengths", ".0f"),
    THREADS,
    *PERCENTILES,
    Column("first ms", "latency_ms_first", ".1f", rank=2),
    Column("runs", "n_runs", ".0f", rank=4),
    Column("load ms", "load_ms", ".0f"),
    Column("growth MB", "memory_growth_mb", ".0f"),
    THERMAL,
]
QUESTION_COLUMNS = [
    *MODEL_COLUMNS,
    THREADS,
    Column("questions", "n", ".0f"),
    Column("windows", "n_windows", ".0f", rank=4),
    *PERCENTILES,
    *(Column(f"{name} ms", f"{name}_ms_mean", ".1f", rank=3) for name in ("tokenize", "inference", "decode")),
    THERMAL,
]
TIMED_BY = (
    "timed by the app on the phone, which also keeps another copy of the model loaded: the runtime call for "
    "windows of the file's probe, so no accuracy; p50, p95: nearest rank"
)
TIMED_WITHOUT_APP = (
    f"{BENCHMARK_MODEL}: timed without the app, on random tokens, so no accuracy; of an even number of runs "
    "p50 is the later middle one; growth: of peak memory; version: SHA-256 of the binary"
)


def _of_newest_files(group: Group) -> list[AnyResult]:
    """Return the results of each model's newest file."""
    newest = {r.model: r.bundle_sha256 for r in group.results}
    return [r for r in group.results if r.bundle_sha256 == newest[r.model]]


def newest_on_phone(group: Group) -> list[PhoneLatency | Failure]:
    """Return the newest result of each model, runtime and setting of a phone.

    A failure counts until a later run of its setting succeeds.
    """
    results = [r for r in _of_newest_files(group) if isinstance(r, PhoneLatency | Failure)]
    newest: dict[tuple[object, ...], PhoneLatency | Failure] = {}
    for result in results:
        if isinstance(result, Failure):
            newest[result.model, result.threads, result.runtime] = result
            continue
        for threads in (None, result.threads):  # a failure need not tell them, nor the runtime
            for runtime in (None, result.runtime):
                newest.pop((result.model, threads, runtime), None)
        newest[result.model, result.lengths, result.threads, result.runtime] = result
    models = [r.model for r in group.results]
    return sorted(
        newest.values(),
        key=lambda r: (models.index(r.model), r.threads or 0, getattr(r, "lengths", 0), str(r.runtime)),
    )


def phone_tables(group: Group) -> list[Table]:
    """Return the tables of a phone: one of latency, and one of whole questions where the app asked any."""
    dates = sorted(r.date[:10] for r in group.results)
    read = f"reports read or models timed {first_to_last(dates)}"
    tables = []
    lines = newest_on_phone(group)
    if lines:
        tables.append(make_table(group.machine, LATENCY_COLUMNS, lines, [*_latency_footnotes(lines, read)]))
    questions = [r for r in _of_newest_files(group) if isinstance(r, PhoneQuestions)]
    newest = {(r.model, r.threads, r.runtime): r for r in questions}
    if newest:
        asked = sorted(newest.values(), key=lambda r: (r.model, r.threads, str(r.runtime)))
        footnotes = [
            "each question once, from the text to the answer, about the passages in the app; all columns "
            "except p50 and p95 are means",
            read,
        ]
        tables.append(make_table(f"Whole questions, {group.machine}", QUESTION_COLUMNS, asked, footnotes))
    return tables


def _latency_footnotes(lines: list[PhoneLatency | Failure], read: str) -> Iterator[str]:
    without_app = [line for line in lines if line.runtime and line.runtime.package == BENCHMARK_MODEL]
    if len(without_app) < len(lines):
        yield TIMED_BY
    if without_app:
        yield TIMED_WITHOUT_APP
    yield "first: the first call after loading, not among the runs; growth: of memory since before loading"
    if THERMAL.is_shown(lines):
        yield "thermal: Android's status, 0 (none) to 6, the higher of before and after"
    yield read
    yield from failure_footnotes(lines)
