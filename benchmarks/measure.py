"""The measurements of one comparison: accuracy of each model, then latency of all in turns, each figure appended as a row.

A model that fails is a row with its error; the others go on.
"""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.accuracy import (
    ACCURACY_KEYS,
    RELATION_KEYS,
    Answers,
    Conditions,
    answers_path,
    known_accuracy,
    load_answers,
    measure_accuracy,
    save_answers,
    share_of_same_answers,
)
from benchmarks.command_line import note
from benchmarks.rows import HERE, OK, PHONE, Row, append_row, make_row
from benchmarks.subjects import Subject
from benchmarks.timing.conditions import cores_for
from benchmarks.timing.workers import ServedRuntime, Worker
from qa.bootstrap import intervals
from qa.bundle import Bundle
from qa.cli import one_line
from qa.metrics import question_scores
from qa.runtimes import Runtime, available_cores, load_runtime
from qa.squad import Example
from qa.threshold import tune_for_bundle


@dataclass
class Comparison:
    """What all measurements of one run share, and the rows it has appended so far."""

    rows_path: Path
    examples: Sequence[Example]
    data_sha256: str
    subjects: list[Subject]
    baseline: Subject | None
    old_rows: list[Row]
    new_rows: list[Row] = field(default_factory=list)
    f1: dict[str, np.ndarray] = field(default_factory=dict)
    """F1 of every question (Q,), in percent, by hash of what was measured."""

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
        """Old and new rows of the models compared: on this data and machine, on phones, and on other targets with this data."""
        machines = {subject.facts["machine"] for subject in self.subjects}
        measured = {subject.sha256 for subject in self.subjects}
        rows = [row for row in self.old_rows + self.new_rows if row["bundle_sha256"] in measured]
        rows = [row for row in rows if row["target"] == PHONE or row["data"]["sha256"] == self.data_sha256]
        return [row for row in rows if row["target"] not in HERE or row["machine"] in machines]

    def answers_of(self, sha256: str) -> Answers | None:
        """The answers kept of what has this hash, or None."""
        return load_answers(answers_path(self.rows_path, sha256, self.data_sha256, self.subjects[0].facts["target"]))

    def f1_of(self, sha256: str) -> np.ndarray | None:
        """F1 of every question (Q,), in percent, of what has this hash; None when its answers are not kept."""
        if sha256 not in self.f1 and (answers := self.answers_of(sha256)) is not None:
            self.f1[sha256] = np.array([100 * question_scores(e, answers.get(e.id, ""))[1] for e in self.examples])
        return self.f1.get(sha256)


def measure_subject_accuracy(run: Comparison, subject: Subject) -> None:
    """Accuracy of one model, reused where the rows have it; a row is appended when there is anything new."""
    facts = subject.facts
    # Some peers take minutes to load; the hash of one stands for its versions, so its runtime need not be asked.
    known = known_row(run, subject, None) if "peer" in facts else None
    try:
        if known is None:
            with open_runtime(subject) as runtime:
                facts["runtime"] = runtime.name
                known = known_row(run, subject, runtime.name)
                if known is None:
                    note(f"{facts['model']}: {runtime.name}, {len(run.examples)} questions")
                    bundle = subject.bundle if subject.server is None else with_own_threshold(subject.bundle, runtime)
                    facts["null_threshold"] = bundle.settings.null_threshold
                    accuracy, answers = measure_accuracy(runtime, bundle, run.examples, progress=sys.stderr.isatty())
    except Exception as error:  # runtimes raise their own types; the comparison goes on without this one
        run.fail(subject, error)
        return
    if known is None:
        save_answers(answers_path(run.rows_path, subject.sha256, run.data_sha256, facts["target"]), answers)
        facts.update(accuracy)
    else:
        kept = ("runtime", *ACCURACY_KEYS, "same_answers", "same_answers_as")
        facts.update({key: known[key] for key in kept if key in known})
    note(f"{facts['model']}: F1 {facts['f1']:.2f}, EM {facts['exact']:.2f}{' (reused from the rows)' if known else ''}")
    facts.update(relations(run, subject))
    if known is None or any(facts.get(key) != known.get(key) for key in RELATION_KEYS):
        run.append(subject)


def known_row(run: Comparison, subject: Subject, runtime: str | None) -> Row | None:
    """The newest row with this subject's accuracy on this data, target and machine; of any runtime for None."""
    conditions = Conditions(subject.sha256, run.data_sha256, runtime, subject.facts["target"], subject.facts["machine"])
    return known_accuracy(run.old_rows, conditions)


@contextlib.contextmanager
def open_runtime(subject: Subject) -> Iterator[Runtime]:
    """A subject's model on all cores: a bundle in this process, a peer in its own."""
    if subject.server is None:
        yield load_runtime(subject.bundle)
        return
    worker = Worker(subject.server, available_cores(), cores_for(available_cores()))
    try:
        yield ServedRuntime(worker)
    finally:
        worker.close()


def with_own_threshold(bundle: Bundle, runtime: Runtime) -> Bundle:
    """The bundle with the no-answer threshold that is the best for what a peer made of it."""
    return replace(bundle, settings=tune_for_bundle(runtime, bundle.tokenizer(), bundle.settings, bundle.path))


def relations(run: Comparison, subject: Subject) -> Row:
    """F1 with its interval, F1 retained against the baseline with its own, and same answers as the parent or the baseline.

    Intervals need the answers kept, of the baseline too; the interval of F1 retained is paired question by question.
    """
    found, base = _interval_columns(run, subject), run.baseline
    if base is not None:
        found |= {"baseline": base.facts["model"], "baseline_sha256": base.sha256}
        if base.facts.get("f1"):
            found["f1_retained"] = subject.facts["f1"] / base.facts["f1"]
    is_bundle = subject.sha256 == subject.bundle.sha256  # else it was made of one, by a peer or in another precision
    parent = subject.bundle.manifest.get("parent") if is_bundle else subject.bundle.reference()
    others = [(parent["sha256"], parent["name"])] if parent else []
    others += [(base.sha256, base.facts["model"])] if base is not None and base is not subject else []
    answers, *kept = (run.answers_of(sha256) for sha256 in (subject.sha256, *dict(others)))
    for (_, name), other in zip(dict(others).items(), kept, strict=True):
        if answers is not None and other is not None:
            return found | {"same_answers": share_of_same_answers(answers, other), "same_answers_as": name}
    return found


def _interval_columns(run: Comparison, subject: Subject) -> Row:
    own, base = run.f1_of(subject.sha256), run.baseline
    if own is None:
        return {}
    theirs = run.f1_of(base.sha256) if base is not None and base is not subject else None
    both = np.stack([own] if theirs is None else [own, theirs], axis=1)
    (f1, *_), (retained, *_) = intervals(both, None if theirs is None else 1)
    found = {"f1_low": round(f1.low, 4), "f1_high": round(f1.high, 4)}
    if retained is not None:
        found |= {"f1_retained_low": round(retained.low, 6), "f1_retained_high": round(retained.high, 6)}
    return found
