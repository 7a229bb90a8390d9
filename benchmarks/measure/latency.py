"""Latency and throughput of a run's models, in turns, each in its own process; one result for each setting.

A stopped run leaves a journal beside the results, and the same comparison continues from it.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any

from benchmarks.measure.command_line import note
from benchmarks.measure.conditions import Host
from benchmarks.measure.peak import int8_peak
from benchmarks.measure.plan import (
    Plan,
    Setting,
    decode_ms_p50,
    latency_figures,
    sample_windows,
    spread_windows,
    tokenize_ms_p50,
)
from benchmarks.measure.process import TokenWindow
from benchmarks.measure.rounds import Times, run_interleaved_rounds
from benchmarks.measure.run import ModelUnderTest, Run
from benchmarks.results.rows import CPU, UNPADDED, Latency, Lengths
from qa.base.journal import Journal
from qa.text.settings import QASettings

N_SAMPLED = 64  # windows on which tokenizing and decoding are timed


def measure_latency(run: Run, plan: Plan, host: Host) -> None:
    """Time all models that have not failed, with each number of threads, and append results."""
    if not run.models:
        return
    if why := host.not_idle():
        which = "this machine" if host.here else "that machine"
        note(f"{which} is not idle ({why}): absolute times will be too long, ratios are affected less")
    with closing(open_journal(run, plan)) as journal:
        if journal.entries:
            note(f"resuming the run of {journal.date}: {len(journal.entries)} rounds are done")
            run.date = journal.date
        for threads in plan.threads:
            _measure_with(run, plan, host, threads, journal)
        journal.remove()


def open_journal(run: Run, plan: Plan) -> Journal:
    """Open the journal of exactly this run; one that a stopped run left has the date of its results."""
    identity: dict[str, Any] = {
        "measured": [(model.sha256, str(model.runtime)) for model in run.models],
        "target": run.target,
        "data": run.data.sha256,
        "plan": asdict(plan),
        "machine": str(run.machine),
    }
    return Journal(run.file.path, identity, run.date)


def _measure_with(run: Run, plan: Plan, host: Host, threads: int, journal: Journal) -> None:
    models = [model for model in run.models if model.error is None]
    of_this_run = [r for r in run.file.old if isinstance(r, Latency) and r.date == run.date]
    finished = {(r.bundle_sha256, r.target, r.threads, r.lengths, r.batch) for r in of_this_run}
    missing: dict[str, list[Setting]] = {}
    for model in models:
        for setting in plan.settings:
            lengths = setting.for_model(model.bundle.settings)
            if (model.sha256, run.target, threads, lengths, setting.batch) not in finished:
                missing.setdefault(model.sha256, []).append(setting)
    if not missing:
        return  # a run that was stopped with another number of threads has these results
    times = {model.sha256: _times(run, model, plan, host) for model in models}
    note(f"latency of {len(models)} models in turns, threads {threads}, {plan.n_rounds} rounds")
    cores = host.cores_for(threads)
    peak = int8_peak(threads, cores) if run.target == CPU else None
    other_load = run_interleaved_rounds(models, times, plan, threads, cores, journal, progress=True)
    for model in models:
        if model.error is not None:
            run.fail(model, model.error, threads=threads)
            continue
        measured = times[model.sha256]
        conditions = {
            "threads": threads,
            "affinity": tuple(cores),
            "quick": plan.quick,
            "int8_peak_gops": peak,
            "governor": host.governor,
            "load_average": host.load_average,
            **measured.process_metrics,
        }
        if host.here:
            conditions |= {"other_load": other_load, **_around(run, model, measured)}
        for setting in missing.get(model.sha256, ()):
            lengths = setting.for_model(model.bundle.settings)
            figures = latency_figures(measured.turns[setting], setting, plan)
            common = run.common(model)
            run.file.append(Latency(**common, **conditions, lengths=lengths, batch=setting.batch, **figures))


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


def _times(run: Run, model: ModelUnderTest, plan: Plan, host: Host) -> Times:
    """Cut the windows of all settings."""
    bundle = model.bundle
    windows: dict[Setting, tuple[Sequence[TokenWindow], int]] = {}
    for setting in plan.settings:
        lengths = setting.for_model(bundle.settings)
        available = run.windows(bundle, window_settings(bundle.settings, lengths))
        spread = spread_windows(available, plan.n_rounds * plan.windows_in_round(setting))
        tokens = [(window.input_ids.tolist(), window.context_begin) for window in spread]
        windows[setting] = (tokens, 1 if lengths == UNPADDED else int(lengths))
    if not host.here:
        return Times(windows)
    return Times(windows, sample_windows(run.windows(bundle, bundle.settings), N_SAMPLED))


def _around(run: Run, model: ModelUnderTest, times: Times) -> dict[str, Any]:
    """Time what surrounds the runtime call: tokenizing a question, decoding a window."""
    settings = model.bundle.settings
    tokenizer = model.bundle.tokenizer
    return {
        "tokenize_ms_p50": tokenize_ms_p50(times.sampled, run.examples, tokenizer, settings),
        "decode_ms_p50": decode_ms_p50(times.sampled, times.logits, settings),
    }
