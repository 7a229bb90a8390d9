"""Rounds in which models take turns, each in its own process; a journal lets a stopped run continue."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from benchmarks.measure.conditions import OtherLoad
from benchmarks.measure.plan import Plan, Setting, rounds
from benchmarks.measure.process import TokenWindow, Worker
from benchmarks.measure.run import ModelUnderTest
from qa.base.cli import one_line
from qa.base.errors import PocketQAError
from qa.base.journal import Journal
from qa.base.progress import Progress
from qa.formats.tensors import Logits
from qa.runtime.remote import LostError
from qa.runtime.runtimes import run_windows
from qa.text.features import Window

Turn = dict[str, Any]  # times_ms and n_warmup of one round, as a worker replies


@dataclass
class Times:
    """Timing of one model with one number of threads, and its measurements so far."""

    windows: Mapping[Setting, tuple[Sequence[TokenWindow], int]]
    """The windows of all rounds, and to how many tokens they are padded at least."""
    sampled: Sequence[Window] = ()
    """Windows whose logits are computed once."""
    logits: list[Logits] = field(default_factory=list)
    turns: dict[Setting, list[Turn]] = field(default_factory=dict)
    process_metrics: dict[str, Any] = field(default_factory=dict)
    """load_ms, memory_before_load_mb, latency_ms_first and peak_memory_mb of its process."""


def run_interleaved_rounds(
    models: Sequence[ModelUnderTest],
    times: Mapping[str, Times],
    plan: Plan,
    threads: int,
    cores: Sequence[int],
    journal: Journal,
    *,
    progress: bool,
) -> float | None:
    """Measure all rounds that the journal does not have yet, and add them to the models' `times` (by
    SHA-256).

    A model that fails gets an `error` and drops out. LostError when the connection to another machine is
    lost; the journal then has the rounds before. Every process is pinned to `cores`. Returns how many cores
    other processes of this machine kept busy meanwhile; None where the system does not tell or nothing was
    left to do.
    """
    finished = [entry for entry in journal.entries if entry["threads"] == threads]
    for earlier in finished:
        _add(models, times, plan, earlier)
    workers: dict[str, Worker] = {}

    def own_seconds() -> float:
        of_this_process = sum(os.times()[:4])  # its children's times are those of workers that have ended
        return of_this_process + sum(worker.cpu_seconds() for worker in workers.values())

    with ExitStack() as processes:
        for model in models:
            if model.error is None:
                _start(model, times[model.sha256], threads, cores, workers, processes)
        load = OtherLoad(own_seconds)
        chosen = {s: rounds(plan.n_rounds, plan.windows_in_round(s), s.batch) for s in plan.settings}
        left = range(len(finished), plan.n_rounds)
        for number in Progress(left, desc=f"latency, threads {threads}", unit="round", disable=not progress):
            first = number % max(1, len(models))  # no model always follows the same neighbour
            entry: dict[str, Any] = {"threads": threads, "turns": {}, "failed": {}}
            for model in (*models[first:], *models[:first]):
                if model.error is not None:
                    continue
                key = model.sha256
                try:
                    entry["turns"][key] = {
                        s.name: _turn(workers[key], times[key], s, plan, chosen[s][number])
                        for s in plan.settings
                    }
                except LostError:
                    raise  # the journal keeps all rounds before this one
                except PocketQAError as error:
                    entry["failed"][key] = one_line(error)
            journal.add(entry)
            _add(models, times, plan, entry)
        return load.cores() if left else None


def _start(
    model: ModelUnderTest,
    times: Times,
    threads: int,
    cores: Sequence[int],
    workers: dict[str, Worker],
    processes: ExitStack,
) -> None:
    """Start a model's worker, or give the model an error."""
    try:
        worker = Worker(model.deployment, threads, cores)
        processes.callback(worker.close)
        if worker.runtime != model.runtime:
            worker.close()
            model.error = (
                f"its accuracy was measured with {model.runtime}, but it now runs with {worker.runtime}; "
                "measure it again"
            )
            return
        times.process_metrics |= {key: worker.loaded[key] for key in ("load_ms", "memory_before_load_mb")}
        times.logits = run_windows(worker, times.sampled)
        workers[model.sha256] = worker
    except LostError:
        raise
    except (PocketQAError, OSError) as error:
        model.error = one_line(error)


def _turn(worker: Worker, times: Times, setting: Setting, plan: Plan, rows: Sequence[int]) -> Turn:
    windows, pad_to = times.windows[setting]
    reply = worker.time([windows[row] for row in rows], pad_to, setting.batch, plan.min_s)
    times.process_metrics |= {key: reply[key] for key in ("latency_ms_first", "peak_memory_mb")}
    return {key: reply[key] for key in ("times_ms", "n_warmup")}


def _add(
    models: Sequence[ModelUnderTest], times: Mapping[str, Times], plan: Plan, entry: Mapping[str, Any]
) -> None:
    """Add a journal's round to every model's times."""
    for model in models:
        if model.sha256 in entry["failed"]:
            model.error = entry["failed"][model.sha256]
        turns = entry["turns"].get(model.sha256)
        if turns is not None:
            for setting in plan.settings:
                times[model.sha256].turns.setdefault(setting, []).append(turns[setting.name])
