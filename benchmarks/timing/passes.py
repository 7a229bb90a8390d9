"""Latency and throughput of a comparison's models, in turns, each in a process of its own; a row for each setting.

A run that is stopped leaves a journal beside the rows, and the same comparison goes on from it.
"""

import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.command_line import note
from benchmarks.measure import Comparison
from benchmarks.rows import Row
from benchmarks.subjects import Subject
from benchmarks.timing.conditions import Host
from benchmarks.timing.journal import Journal
from benchmarks.timing.latency import (
    PADDED,
    REAL,
    Lengths,
    Plan,
    Setting,
    decode_ms_p50,
    latency_columns,
    sample_windows,
    spread_windows,
    tokenize_ms_p50,
)
from benchmarks.timing.rounds import Contender, Timed, take_turns
from benchmarks.windows_file import write_windows
from qa.features import Window, make_windows
from qa.settings import QASettings

AROUND_WINDOWS = 64  # that tokenizing and decoding are timed on


@dataclass
class Timing:
    """What is timed of a comparison's subjects, and the journal of it."""

    run: Comparison
    settings: Sequence[Setting]
    plan: Plan
    threads: Sequence[int]
    host: Host
    """The machine of all subjects."""
    windows: dict[str, list[Window]] = field(default_factory=dict)

    def journal(self) -> Journal:
        """The journal of just this run; one that a stopped run left has the date that its rows have."""
        what: dict[str, Any] = {
            "measured": [(subject.sha256, subject.facts.get("runtime")) for subject in self.run.subjects],
            "target": sorted({subject.facts["target"] for subject in self.run.subjects}),
            "data": self.run.data_sha256,
            "settings": [setting.name for setting in self.settings],
            "plan": asdict(self.plan),
            "threads": list(self.threads),
            "machine": sorted({subject.facts["machine"] for subject in self.run.subjects}),
        }
        return Journal(self.run.rows_path, what, self.run.subjects[0].facts["date"])


def measure_latency(timing: Timing) -> None:
    """Time all subjects that have not failed, with each number of threads in turn, and append their rows."""
    if not timing.run.subjects:
        return
    if not timing.host.is_idle:
        which, load = "this machine" if timing.host.here else "that machine", timing.host.load_average
        note(f"{which} is not idle (load {load}): times will be longer than they need be, ratios less so")
    with closing(timing.journal()) as journal:
        if journal.entries:
            note(f"going on with the run of {journal.date}: {len(journal.entries)} rounds of it are there")
            for subject in timing.run.subjects:
                subject.facts["date"] = journal.date
        for threads in timing.threads:
            _measure_pass(timing, threads, journal)
        journal.remove()


def _measure_pass(timing: Timing, threads: int, journal: Journal) -> None:
    run, plan, host = timing.run, timing.plan, timing.host
    subjects = [subject for subject in run.subjects if subject.error is None]
    there = {row_key(row) for row in run.old_rows}
    if all(key in there for subject in subjects for key in _keys(timing, subject, threads).values()):
        return  # a run that was stopped in a later pass has these rows
    with tempfile.TemporaryDirectory() as folder:
        contenders = []
        for subject in subjects:
            timed = {setting: _timed(timing, subject, setting, Path(folder)) for setting in timing.settings}
            sampled = sample_windows(_windows(timing, subject, Setting(REAL)), AROUND_WINDOWS) if host.here else []
            contenders.append(Contender(subject.sha256, subject.facts["runtime"], subject.served, timed, sampled))
        note(f"latency of {len(contenders)} models in turns, threads {threads}, {plan.n_rounds} rounds")
        cores = host.cores_for(threads)
        other_load = take_turns(contenders, timing.settings, plan, threads, cores, journal, progress=sys.stderr.isatty())
    for subject, one in zip(subjects, contenders, strict=True):
        if one.error is not None:
            run.fail(subject, one.error, {"threads": threads})
            continue
        common = {
            "threads": threads, "affinity": cores, "quick": plan.quick or None, "governor": host.governor,
            "load_average": host.load_average, **one.facts,
        }  # fmt: skip
        if host.here:
            common |= {"other_load": other_load, **_around(timing, subject, one)}
        for setting, key in _keys(timing, subject, threads).items():
            if key not in there:
                row = common | {"lengths": length_of(setting, subject.bundle.settings), "batch": setting.batch}
                run.append(subject, row | latency_columns(one.turns[setting], setting, plan))


RowKey = tuple[Any, ...]


def row_key(row: Row) -> RowKey:
    """What tells a timed row from the others of all runs."""
    return tuple(row.get(name) for name in ("bundle_sha256", "target", "date", "threads", "lengths", "batch"))


def _keys(timing: Timing, subject: Subject, threads: int) -> dict[Setting, RowKey]:
    """The keys of the rows that one pass makes of a subject."""
    settings = subject.bundle.settings
    return {
        s: row_key(subject.facts | {"threads": threads, "lengths": length_of(s, settings), "batch": s.batch})
        for s in timing.settings
    }


def length_of(setting: Setting, settings: QASettings) -> Lengths:
    """What a setting means for a model: REAL, or the number of tokens."""
    return settings.max_length if setting.lengths == PADDED else setting.lengths


def window_settings(settings: QASettings, lengths: Lengths) -> QASettings:
    """The settings that cut windows for `lengths`: those of the model, or with shorter windows.

    Short windows keep the proportions of BERT's: a third as step, a sixth for the question.
    """
    if lengths in (REAL, settings.max_length):
        return settings
    shorter = int(lengths)
    question, step = min(settings.max_question_length, shorter // 6), min(settings.doc_stride, shorter // 3)
    return replace(settings, max_length=shorter, doc_stride=step, max_question_length=question)


def _windows(timing: Timing, subject: Subject, setting: Setting) -> list[Window]:
    """The windows that all rounds of a setting compute; models of the same tokenizer and settings have the same."""
    settings = window_settings(subject.bundle.settings, length_of(setting, subject.bundle.settings))
    key = f"{subject.bundle.manifest['files'].get('tokenizer.json')} {replace(settings, null_threshold=None)}"
    if key not in timing.windows:
        timing.windows[key] = make_windows(timing.run.examples, subject.bundle.tokenizer(), settings)
    return spread_windows(timing.windows[key], timing.plan.n_rounds * timing.plan.windows_in_round(setting))


def _timed(timing: Timing, subject: Subject, setting: Setting, folder: Path) -> Timed:
    windows, lengths = _windows(timing, subject, setting), length_of(setting, subject.bundle.settings)
    content = [(window.input_ids, window.context_begin) for window in windows]
    path = write_windows(folder / f"{subject.sha256[:16]}-{setting.name}.npz", content, "")
    return Timed(path, 1 if lengths == REAL else int(lengths))


def _around(timing: Timing, subject: Subject, one: Contender) -> Row:
    """Times of what stands around the runtime call: tokenizing a question, decoding a window."""
    settings, windows = subject.bundle.settings, one.sampled
    return {
        "tokenize_ms_p50": tokenize_ms_p50(windows, timing.run.examples, subject.bundle.tokenizer(), settings),
        "decode_ms_p50": decode_ms_p50(windows, one.logits, settings),
    }
