"""The columns of the summary and of the accuracy view: a line for each model."""

from collections.abc import Callable, Mapping

from benchmarks.rows import Row
from benchmarks.views.cells import UNKNOWN, marked, number, with_span
from benchmarks.views.groups import REAL, Entry, Group
from benchmarks.views.names import short_runtime_name
from qa.bootstrap import Interval

Column = tuple[str, Callable[[Entry], str]]


def figure(key: str, form: str = ".2f", scale: float = 1.0, unit: str = "") -> Callable[[Entry], str]:
    """A column that shows one key of the facts."""
    return lambda entry: number(entry.facts.get(key), form, scale, unit)


def row_interval(row: Row, key: str) -> Interval | None:
    """The interval that a row gives for one of its figures; None where it does not."""
    wanted = (key, f"{key}_low", f"{key}_high")
    return Interval(*(row[name] for name in wanted)) if all(name in row for name in wanted) else None


def retained_interval(group: Group, entry: Entry) -> Interval | None:
    """The interval of F1 retained against the group's baseline; the baseline's own has no width and is left out."""
    known = group.retained(entry) is not None and not group.is_baseline(entry)
    return row_interval(entry.facts, "f1_retained") if known else None


def names() -> list[Column]:
    """The columns that say which file it is."""
    return [
        ("model", lambda e: e.facts["model"]),
        ("runtime", short_runtime_name),
        ("precision", lambda e: e.facts["precision"]),
    ]


def batched_setting(group: Group) -> tuple[str | int, int, int] | None:
    """Lengths, threads and batch of the windows a second that a summary shows: real lengths, few threads, large batches first."""
    found = {key for e in group.entries for key in e.batched}
    return min(found, key=lambda key: (key[0] != REAL, key[1], -key[2], str(key[0])), default=None)


def summary_columns(group: Group) -> list[Column]:
    """Size, accuracy and speed. Intervals and windows a second where rows have them."""
    columns = [
        *names(),
        ("params", figure("params", ".1f", 1e-6, "M")),
        ("no emb.", figure("params_without_embeddings", ".1f", 1e-6, "M")),
        ("MB", figure("size_bytes", ".1f", 1e-6)),
        ("EM", figure("exact")),
        ("F1", figure("f1")),
        ("retained", lambda e: _retained(group, e, ".1f")),
        ("same", lambda e: number(group.same_as_parent(e), ".1f", 100, "%")),
    ]
    for lengths in group.lengths_shown:
        columns += _times(group, lengths)
    setting = batched_setting(group)
    if setting is not None:
        columns.append((f"win/s, {setting[2]}", lambda e: _windows_per_s(e.batched.get(setting, {}))))
    return columns


def _times(group: Group, lengths: str | int) -> list[Column]:
    return [(f"ms@{lengths}", lambda e: _ms(e.at(lengths))), (f"x@{lengths}", lambda e: _faster(group, e.at(lengths)))]


def _retained(group: Group, entry: Entry, form: str) -> str:
    return with_span(number(group.retained(entry), form, 100, "%"), retained_interval(group, entry), form, 100)


def _ms(row: Row) -> str:
    return marked(number(row.get("latency_ms_p50"), ".1f"), row)


def _faster(group: Group, row: Row) -> str:
    return marked(with_span(number(group.speedup(row), ".2f", unit="x"), group.speedup_interval(row), ".2f"), row)


def _windows_per_s(row: Row) -> str:
    return marked(number(row.get("windows_per_s"), ",.0f"), row)


def accuracy_columns(group: Group) -> list[Column]:
    """EM, F1 and their parts; F1 with its interval and the no-answer threshold where rows have them."""
    columns = [*names(), ("questions", figure("n", ",.0f")), ("windows", figure("n_windows", ",.0f"))]
    headings: Mapping[str, str] = {
        "exact": "EM", "f1": "F1", "HasAns_exact": "HasAns EM", "HasAns_f1": "HasAns F1", "NoAns_exact": "NoAns",
        "best_f1": "tuned F1", "best_f1_thresh": "threshold", "null_threshold": "own threshold",
    }  # fmt: skip
    for key, heading in headings.items():
        if any(key in e.facts for e in group.entries):
            columns.append((heading, _f1 if key == "f1" else figure(key)))
    columns += [
        ("retained", lambda e: _retained(group, e, ".2f")),
        ("same", figure("same_answers", ".2f", 100, "%")),
    ]
    return [*columns, ("as", lambda e: e.facts.get("same_answers_as", UNKNOWN))]


def _f1(entry: Entry) -> str:
    return with_span(number(entry.facts.get("f1")), row_interval(entry.facts, "f1"), ".2f")
