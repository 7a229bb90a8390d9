"""Latency and throughput of a comparison's models, in turns, each in a process of its own; a result for each
setting.

A run that is stopped leaves a journal beside the results, and the same comparison goes on from it.
"""

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from benchmarks.measure.command_line import note
from benchmarks.measure.conditions import Host
from benchmarks.measure.models import ModelUnderTest, Run
from benchmarks.measure.plan import (
    Plan,
    Setting,
    decode_ms_p50,
    latency_figures,
    sample_windows,
    spread_windows,
    tokenize_ms_p50,
)
from benchmarks.measure.rounds import TimedModel, TimedWindows, run_interleaved_rounds
from benchmarks.results.rows import UNPADDED, AnyResult, Latency, Lengths
from qa.base.journal import Journal
from qa.text.features import Window, make_windows
from qa.text.settings import QASettings

AROUND_WINDOWS = 64  # that tokenizing and decoding are timed on


@dataclass
class Timing:
    """What is timed of a run's models, and the journal of it."""

    run: Run
    settings: Sequence[Setting]
    plan: Plan
    threads: Sequence[int]
    host: Host
    """The machine of all models."""
    windows: dict[str, list[Window]] = field(default_factory=dict)

    def journal(self) -> Journal:
        """The journal of just this run; one that a stopped run left has the date that its results have."""
        what: dict[str, Any] = {
            "measured": [(model.sha256, str(model.runtime)) for model in self.run.models],
            "target": self.run.target,
            "data": self.run.data.sha256,
            "settings": [setting.name for setting in self.settings],
            "plan": asdict(self.plan),
            "threads": list(self.threads),
            "machine": str(self.run.machine),
        }
        return Journal(self.run.file.path, what, self.run.date)


def measure_latency(timing: Timing) -> None:
    """Time all models that have not failed, with each number of threads in turn, and append their results."""
    run = timing.run
    host = timing.host
    if not run.models:
        return
    if why := host.not_idle():
        which = "this machine" if host.here else "that machine"
        note(f"{which} is not idle ({why}): absolute times will be too long, ratios are affected less")
    with closing(timing.journal()) as journal:
        if journal.entries:
            note(f"resuming the run of {journal.date}: {len(journal.entries)} rounds are done")
            run.date = journal.date
        for threads in timing.threads:
            _measure_pass(timing, threads, journal)
        journal.remove()


def _measure_pass(timing: Timing, threads: int, journal: Journal) -> None:
    run = timing.run
    plan = timing.plan
    host = timing.host
    models = [model for model in run.models if model.error is None]
    there = {result_key(result) for result in run.file.old}
    missing = {
        (m.sha256, s): key
        for m in models
        for s in timing.settings
        if (key := _key(timing, m, s, threads)) not in there
    }
    if not missing:
        return  # a run that was stopped in a later pass has these results
    timed = []
    for model in models:
        windows = {setting: _timed(timing, model, setting) for setting in timing.settings}
        sampled = (
            sample_windows(_windows(timing, model, Setting(UNPADDED)), AROUND_WINDOWS) if host.here else []
        )
        timed.append(TimedModel(model.sha256, model.runtime, model.deployment, windows, sampled))
    note(f"latency of {len(timed)} models in turns, threads {threads}, {plan.n_rounds} rounds")
    cores = host.cores_for(threads)
    progress = sys.stderr.isatty()
    other_load = run_interleaved_rounds(
        timed, timing.settings, plan, threads, cores, journal, progress=progress
    )
    for model, one in zip(models, timed, strict=True):
        if one.error is not None:
            run.fail(model, one.error, threads=threads)
            continue
        common = {
            "threads": threads,
            "affinity": tuple(cores),
            "quick": plan.quick,
            "governor": host.governor,
            "load_average": host.load_average,
            **one.process_metrics,
        }
        if host.here:
            common |= {"other_load": other_load, **_around(timing, model, one)}
        for setting in (s for s in timing.settings if (model.sha256, s) in missing):
            lengths = setting.for_model(model.bundle.settings)
            figures = latency_figures(one.turns[setting], setting, plan)
            run.file.append(
                Latency(**run.common(model), **common, lengths=lengths, batch=setting.batch, **figures)
            )


def result_key(result: AnyResult) -> tuple[Any, ...] | None:
    """What tells timed results from the others of all runs; None for others."""
    if not isinstance(result, Latency):
        return None
    return result.bundle_sha256, result.target, result.date, result.threads, result.lengths, result.batch


def _key(timing: Timing, model: ModelUnderTest, setting: Setting, threads: int) -> tuple[Any, ...]:
    lengths = setting.for_model(model.bundle.settings)
    return model.sha256, timing.run.target, timing.run.date, threads, lengths, setting.batch


def window_settings(settings: QASettings, lengths: Lengths) -> QASettings:
    """The settings that cut windows for `lengths`: those of the model, or with shorter windows.

    Short windows keep the proportions of BERT's: a third as step, a sixth for the question.
    """
    if lengths in (UNPADDED, settings.max_length):
        return settings
    shorter = int(lengths)
    question = min(settings.max_question_length, shorter // 6)
    step = min(settings.doc_stride, shorter // 3)
    return replace(settings, max_length=shorter, doc_stride=step, max_question_length=question)


def _windows(timing: Timing, model: ModelUnderTest, setting: Setting) -> list[Window]:
    """The windows that all rounds of a setting compute; models of the same tokenizer and settings have the
    same."""
    settings = window_settings(model.bundle.settings, setting.for_model(model.bundle.settings))
    key = f"{model.bundle.manifest.files.get('tokenizer.json')} {replace(settings, null_threshold=None)}"
    if key not in timing.windows:
        timing.windows[key] = make_windows(timing.run.examples, model.bundle.tokenizer, settings)
    return spread_windows(timing.windows[key], timing.plan.n_rounds * timing.plan.windows_in_round(setting))


def _timed(timing: Timing, model: ModelUnderTest, setting: Setting) -> TimedWindows:
    lengths = setting.for_model(model.bundle.settings)
    windows = [
        (window.input_ids.tolist(), window.context_begin) for window in _windows(timing, model, setting)
    ]
    return TimedWindows(windows, 1 if lengths == UNPADDED else int(lengths))


def _around(timing: Timing, model: ModelUnderTest, one: TimedModel) -> dict[str, Any]:
    """Times of what stands around the runtime call: tokenizing a question, decoding a window."""
    settings = model.bundle.settings
    windows = one.sampled
    return {
        "tokenize_ms_p50": tokenize_ms_p50(windows, timing.run.examples, model.bundle.tokenizer, settings),
        "decode_ms_p50": decode_ms_p50(windows, one.logits, settings),
    }
