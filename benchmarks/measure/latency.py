"""Latency and throughput of a run's models, in turns, each in its own process; one result for each setting.

A stopped run leaves a journal beside the results, and the same comparison continues from it.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from benchmarks.measure.command_line import note
from benchmarks.measure.conditions import Host
from benchmarks.measure.plan import Plan, Setting, latency_figures, sample_windows, spread_windows
from benchmarks.measure.rounds import Timing, run_interleaved_rounds
from benchmarks.measure.run import ModelUnderTest, Run
from benchmarks.measure.worker_process import TokenWindow
from benchmarks.results.rows import UNPADDED, Latency, Lengths
from qa.base.journal import Journal
from qa.text.answers import decode
from qa.text.features import make_windows
from qa.text.preselection import MOST_WINDOWS
from qa.text.settings import QASettings

N_SAMPLED = 64  # windows on which tokenizing and decoding are timed


def measure_latency(run: Run, plan: Plan, host: Host) -> None:
    """Time all models that have not failed, with each number of threads, and append results."""
    if why := host.not_idle():
        which = "this machine" if host.here else "that machine"
        note(f"{which} is not idle ({why}): absolute times will be too long, ratios are affected less")
    # Of exactly this run; one that a stopped run left has the date of its results.
    identity = {
        "measured": [(model.sha256, str(model.runtime)) for model in run.models if model.error is None],
        "target": run.target,
        "data": run.data.sha256,
        "questions": len(run.examples),
        "plan": asdict(plan),
        "machine": str(run.machine),
        "most_windows": MOST_WINDOWS,  # earlier versions timed all windows, and wrote failures otherwise
        "peak": "of the windows timed",  # earlier versions gave that since the start of the process
        "warm_up": "every shape",  # earlier versions timed the first window of a length, too
    }
    with closing(Journal(run.file.path, identity, run.date)) as journal:
        if journal.entries:
            note(f"resuming the run of {journal.date}: {len(journal.entries)} rounds are done")
            run.date = journal.date
        for threads in plan.threads:
            _measure_with(run, plan, host, threads, journal)
        journal.remove()


def _measure_with(run: Run, plan: Plan, host: Host, threads: int, journal: Journal) -> None:
    models = [model for model in run.models if model.error is None]
    finished = {
        (r.bundle_sha256, r.lengths, r.batch)
        for r in run.file.old
        if isinstance(r, Latency) and (r.date, r.target, r.threads) == (run.date, run.target, threads)
    }
    missing = [
        (model.sha256, setting)
        for model in models
        for setting in plan.settings
        if (model.sha256, setting.for_model(model.bundle.settings), setting.batch) not in finished
    ]
    if not missing:
        return  # a run that was stopped with another number of threads has these results
    timings = [_timing(run, model, plan, host) for model in models]
    note(f"latency of {len(models)} models in turns, threads {threads}, {plan.n_rounds} rounds")
    cores = host.cores_for(threads)
    other_load = run_interleaved_rounds(timings, plan, threads, cores, journal, host.here)
    conditions = host.conditions(threads) | {"quick": plan.quick}
    for timing in timings:
        model = timing.model
        if model.error is not None:
            run.fail(model, model.error, threads=threads)
            continue
        metrics = timing.process_metrics
        if host.here:
            metrics = {**metrics, "other_load": other_load, **_around(run, timing)}
        for setting in plan.settings:
            if (model.sha256, setting) in missing and setting not in timing.failed:
                figures = latency_figures(timing.turns[setting], setting, plan)
                lengths = setting.for_model(model.bundle.settings)
                shared = {**run.common(model), **conditions, **metrics}
                run.file.append(Latency(**shared, lengths=lengths, batch=setting.batch, **figures))
        if timing.failed:
            failed = (f"lengths {s.lengths}, batch {s.batch}: {why}" for s, why in timing.failed.items())
            run.fail(model, "; ".join(failed), threads=threads)
            model.error = None  # other numbers of threads may suit it


def window_settings(settings: QASettings, lengths: Lengths) -> QASettings:
    """Return the settings that cut windows for `lengths`: those of the model, or with shorter windows.

    Shorter windows keep the proportions of BERT's: a third as stride, a sixth for the question.
    """
    if lengths in (UNPADDED, settings.max_length):
        return settings
    shorter = int(lengths)
    question = min(settings.max_question_length, shorter // 6)
    stride = min(settings.doc_stride, shorter // 3)
    return replace(settings, max_length=shorter, doc_stride=stride, max_question_length=question)


def _timing(run: Run, model: ModelUnderTest, plan: Plan, host: Host) -> Timing:
    """Cut the windows of all settings."""
    bundle = model.bundle
    windows: dict[Setting, tuple[Sequence[TokenWindow], int]] = {}
    for setting in plan.settings:
        lengths = setting.for_model(bundle.settings)
        available = run.windows(bundle, window_settings(bundle.settings, lengths))
        spread = spread_windows(available, plan.n_rounds * plan.windows_in_round(setting))
        tokens = [(window.input_ids.tolist(), window.context_begin) for window in spread]
        windows[setting] = (tokens, 1 if lengths == UNPADDED else int(lengths))
    sampled = sample_windows(run.windows(bundle, bundle.settings), N_SAMPLED) if host.here else ()
    return Timing(model, windows, sampled)


def _around(run: Run, timing: Timing) -> dict[str, Any]:
    """Time what surrounds the runtime call: making the windows of a question, decoding a window's logits."""
    settings = timing.model.bundle.settings
    tokenizer = timing.model.bundle.tokenizer
    examples = [run.examples[window.example] for window in timing.sampled]
    computed = list(zip(timing.sampled, timing.logits, strict=True))
    return {
        "tokenize_ms_p50": _median_ms(lambda example: make_windows([example], tokenizer, settings), examples),
        "decode_ms_p50": _median_ms(lambda pair: decode([pair[0]], [pair[1]], settings), computed),
    }


def _median_ms(call: Callable[[Any], object], items: Sequence[Any]) -> float:
    times = []
    for item in items:
        began = time.perf_counter_ns()
        call(item)
        times.append((time.perf_counter_ns() - began) / 1e6)
    return round(float(np.median(times)), 4)
