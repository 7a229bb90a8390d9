"""The measurements of one comparison: accuracy of each bundle, then latency of all in turns, each figure appended as a row.

A bundle that fails is a row with its error; the others go on.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.accuracy import (
    ACCURACY_KEYS,
    RELATION_KEYS,
    Conditions,
    answers_path,
    known_accuracy,
    load_answers,
    measure_accuracy,
    save_answers,
    share_of_same_answers,
)
from benchmarks.latency import (
    Contender,
    contender,
    decode_ms_p50,
    latency_figures,
    measure_in_turns,
    sample_windows,
    tokenize_ms_p50,
)
from benchmarks.process import measure_in_fresh_process
from benchmarks.rows import CPU, OK, PHONE, Row, append_row, make_row
from qa.bundle import Bundle
from qa.cli import one_line
from qa.features import Window, make_windows
from qa.runtimes import load_runtime
from qa.squad import Example


@dataclass
class Subject:
    """One bundle of a comparison with all that is known of it so far, by the names of the row's columns."""

    bundle: Bundle
    facts: Row
    error: str | None = None


def bundle_columns(bundle: Bundle) -> Row:
    """The columns that are a bundle's own, but for its name in a table."""
    parameters = bundle.manifest.get("parameters") or {}
    return {
        "bundle_sha256": bundle.sha256, "stage": bundle.stage, "precision": bundle.precision,
        "params": parameters.get("total"), "params_without_embeddings": parameters.get("without_embeddings"),
        "size_bytes": bundle.weights.stat().st_size,
    }  # fmt: skip


@dataclass
class Comparison:
    """What all measurements of one run share, and the rows it has appended so far."""

    rows_path: Path
    examples: Sequence[Example]
    data_sha256: str
    subjects: list[Subject]
    baseline: Subject | None
    old_rows: list[Row]
    n_latency_windows: int
    new_rows: list[Row] = field(default_factory=list)
    windows: dict[str, list[Window]] = field(default_factory=dict)

    def append(self, subject: Subject, more: Row | None = None) -> None:
        """Append one row of a subject, with `more` columns."""
        row = make_row(subject.facts | (more or {}) | {"status": subject.error or OK})
        append_row(self.rows_path, row)
        self.new_rows.append(row)

    def fail(self, subject: Subject, error: Exception | str, more: Row | None = None) -> None:
        """Append the row of a failure; the subject is measured no further."""
        subject.error = error if isinstance(error, str) else one_line(error)
        note(f"{subject.facts['model']}: failed, {subject.error}")
        self.append(subject, more)

    def shown_rows(self) -> list[Row]:
        """Old and new rows of the bundles compared: on this data and machine, on phones, and on other targets with this data."""
        machines = {subject.facts["machine"] for subject in self.subjects}
        bundles = {subject.bundle.sha256 for subject in self.subjects}
        rows = [row for row in self.old_rows + self.new_rows if row["bundle_sha256"] in bundles]
        rows = [row for row in rows if row["target"] == PHONE or row["data"]["sha256"] == self.data_sha256]
        return [row for row in rows if row["target"] != CPU or row["machine"] in machines]


def note(text: str) -> None:
    """One line of progress."""
    print(text, file=sys.stderr, flush=True)


def measure_subject_accuracy(run: Comparison, subject: Subject) -> None:
    """Accuracy of one bundle, reused where the rows have it; a row is appended when there is anything new."""
    facts, bundle = subject.facts, subject.bundle
    kept_answers = answers_path(run.rows_path, bundle.sha256, run.data_sha256)
    try:
        runtime = load_runtime(bundle)
        facts["runtime"] = runtime.name
        known = known_accuracy(run.old_rows, Conditions(bundle.sha256, run.data_sha256, runtime.name, facts["machine"]))
        if known is None:
            note(f"{facts['model']}: {runtime.name}, {len(run.examples)} questions")
            accuracy, answers = measure_accuracy(runtime, bundle, run.examples, progress=sys.stderr.isatty())
    except Exception as error:  # runtimes raise their own types; the comparison goes on without this bundle
        run.fail(subject, error)
        return
    if known is None:
        save_answers(kept_answers, answers)
        facts.update(accuracy)
    else:
        facts.update({key: known[key] for key in (*ACCURACY_KEYS, "same_answers", "same_answers_as") if key in known})
    note(f"{facts['model']}: F1 {facts['f1']:.2f}, EM {facts['exact']:.2f}{' (reused from the rows)' if known else ''}")
    facts.update(relations(run, subject))
    if known is None or any(facts.get(key) != known.get(key) for key in RELATION_KEYS):
        run.append(subject)


def relations(run: Comparison, subject: Subject) -> Row:
    """F1 retained against the baseline, and same answers as the parent or, where its answers are not kept, as the baseline."""
    found: Row = {}
    base = run.baseline
    if base is not None:
        found = {"baseline": base.facts["model"], "baseline_sha256": base.bundle.sha256}
        if base.facts.get("f1"):
            found["f1_retained"] = subject.facts["f1"] / base.facts["f1"]
    parent = subject.bundle.manifest.get("parent")
    others = [(parent["sha256"], parent["name"])] if parent else []
    others += [(base.bundle.sha256, base.facts["model"])] if base is not None and base is not subject else []
    answers, *kept = (
        load_answers(answers_path(run.rows_path, sha256, run.data_sha256)) for sha256 in (subject.bundle.sha256, *dict(others))
    )
    for (_, name), other in zip(dict(others).items(), kept, strict=True):
        if answers is not None and other is not None:
            return found | {"same_answers": share_of_same_answers(answers, other), "same_answers_as": name}
    return found


def measure_latency(run: Comparison, threads: int) -> None:
    """Time all bundles in turns with `threads` threads and append their rows."""
    contenders: list[tuple[Subject, Contender, Row]] = []
    for subject in [s for s in run.subjects if s.error is None]:
        try:
            process = measure_in_fresh_process(subject.bundle.path, threads) if threads == 1 else {}
            runtime = load_runtime(subject.bundle, threads, probe=False)
            one = contender(runtime, latency_windows(run, subject.bundle), subject.bundle.settings.max_length)
        except Exception as error:  # as above
            run.fail(subject, error, {"threads": threads})
        else:
            contenders.append((subject, one, process))
    note(f"latency of {len(contenders)} models in turns, threads {threads}, {run.n_latency_windows} windows each")
    other_load = measure_in_turns([one for _, one, _ in contenders], progress=sys.stderr.isatty())
    for subject, one, process in contenders:
        if one.error is not None:
            run.fail(subject, one.error, {"threads": threads})
            continue
        bundle = subject.bundle
        more = process | {"threads": threads, "batch": 1, "other_load": other_load}
        more["tokenize_ms_p50"] = tokenize_ms_p50(one.windows, run.examples, bundle.tokenizer(), bundle.settings)
        more["decode_ms_p50"] = decode_ms_p50(one, bundle.settings)
        for lengths in one.inputs:
            run.append(subject, more | {"lengths": lengths} | latency_figures(one, lengths))


def latency_windows(run: Comparison, bundle: Bundle) -> list[Window]:
    """The windows to time a bundle on; bundles of the same tokenizer and settings share them."""
    key = f"{bundle.manifest['files'].get('tokenizer.json')} {bundle.settings}"
    if key not in run.windows:
        run.windows[key] = sample_windows(make_windows(run.examples, bundle.tokenizer(), bundle.settings), run.n_latency_windows)
    return run.windows[key]
