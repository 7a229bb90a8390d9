"""Tables of what was measured on phones."""

from benchmarks.results.rows import Failure, PhoneLatency, PhoneQuestions
from benchmarks.show.groups import Group
from benchmarks.show.tables import Column, Table, attribute, make_table

PHONE_COLUMNS = [
    *(Column(name, attribute(name)) for name in ("model", "runtime")),
    Column("MB", attribute("size_bytes"), ".1f", 1e-6),
    *(Column(name, attribute(name), ".0f") for name in ("lengths", "threads")),
    *(
        Column(f"{name} ms", attribute(f"latency_ms_{name}"), ".1f")
        for name in ("p50", "p95", "mean", "first")
    ),
    Column("runs", attribute("n_runs"), ".0f"),
    *(
        Column(heading, attribute(key), ".0f")
        for heading, key in (
            ("load ms", "load_ms"),
            ("peak MB", "peak_memory_mb"),
            ("growth MB", "memory_growth_mb"),
        )
    ),
    Column("thermal", attribute("thermal_status"), ".0f", optional=True),
]
QUESTION_COLUMNS = [
    *(Column(name, attribute(name)) for name in ("model", "runtime")),
    *(
        Column(heading, attribute(key), ".0f")
        for heading, key in (("threads", "threads"), ("questions", "n"), ("windows", "n_windows"))
    ),
    *(Column(f"{name} ms", attribute(f"latency_ms_{name}"), ".1f") for name in ("p50", "p95", "mean")),
    *(
        Column(f"{name} ms", attribute(f"{name}_ms_mean"), ".1f")
        for name in ("tokenize", "inference", "decode")
    ),
    Column("thermal", attribute("thermal_status"), ".0f", optional=True),
]


def newest_on_phone(group: Group) -> list[PhoneLatency | Failure]:
    """The newest of each model, runtime and setting on a phone; a failure only until a later run of that
    setting succeeds."""
    results = [r for r in group.results if isinstance(r, PhoneLatency | Failure)]
    current = {r.model: r.bundle_sha256 for r in results}
    newest: dict[object, PhoneLatency] = {}
    failures: dict[tuple[object, ...], Failure] = {}
    for one in (r for r in results if r.bundle_sha256 == current[r.model]):
        setting = (one.model, one.lengths, one.threads)
        if isinstance(one, Failure):
            failures[setting] = one
            continue
        newest[*setting, one.runtime] = one
        # What a failed run does not tell may have been this setting.
        told = {key: all(a in (None, b) for a, b in zip(key, setting, strict=True)) for key in failures}
        failures = {key: old for key, old in failures.items() if not told[key]}
    models = list(current)

    def place(one: PhoneLatency | Failure) -> tuple[int, int, int, str]:
        lengths = one.lengths if isinstance(one.lengths, int) else 0
        return models.index(one.model), one.threads or 0, lengths, str(one.runtime)

    return sorted([*failures.values(), *newest.values()], key=place)


TIMED_BY = {
    "benchmark_model": "LiteRT's benchmark tool on the phone: "
    "the runtime call for one window of made-up token ids",
    "app": "the app on the phone, beside another copy of the model: "
    "the runtime call for windows of the file's probe; p50, p95: "
    "nearest rank",
}


def phone_tables(group: Group) -> list[Table]:
    """A line for each model, runtime and setting on a phone, and where the app measured, for each number of
    threads."""
    lines = newest_on_phone(group)
    dates = sorted({one.date[:10] for one in group.results})
    read = f"logs read {' to '.join(dict.fromkeys((dates[0], dates[-1])))}"
    tools = dict.fromkeys(one.timed_by for one in lines if isinstance(one, PhoneLatency))
    notes = [f"timed by {TIMED_BY[tool]}, so no accuracy" for tool in tools or TIMED_BY]
    notes.append(
        "first: the first call after loading, not among the runs; peak: the whole process; growth: since "
        "the start"
    )
    if any(attribute("thermal_status")(one) is not None for one in lines):
        notes.append("thermal: Android's status, 0 (none) to 6, the higher of before and after")
    notes.append(read)
    for one in (one for one in lines if isinstance(one, Failure)):
        setting = ", ".join(
            f"{key} {getattr(one, key)}" for key in ("lengths", "threads") if getattr(one, key) is not None
        )
        notes.append(f"{one.model}{f' ({setting})' if setting else ''} failed: {one.error}")
    tables = [make_table(group.machine, PHONE_COLUMNS, lines, notes)] if lines else []
    newest = {(r.model, r.threads, r.runtime): r for r in group.results if isinstance(r, PhoneQuestions)}
    asked = sorted(newest.values(), key=lambda one: (one.model, one.threads, str(one.runtime)))
    notes = [
        "each question once, from the text to the answer, about the passages that come with the app; means "
        "but for p50, p95"
    ]
    return tables + (
        [make_table(f"Whole questions, {group.machine}", QUESTION_COLUMNS, asked, [*notes, read])]
        if asked
        else []
    )
