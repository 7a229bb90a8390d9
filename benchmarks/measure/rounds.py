"""Rounds in which models take turns, each in a process of its own, kept in a journal so that a stopped run
can go on."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tqdm import tqdm

from benchmarks.measure.conditions import OtherLoad
from benchmarks.measure.plan import Plan, Setting, rounds
from benchmarks.measure.process import Worker
from benchmarks.results.rows import Runtime
from qa.base.cli import one_line
from qa.base.errors import PocketQAError
from qa.base.journal import Journal
from qa.formats.tensors import Logits
from qa.runtime.remote import Deployment, LostError
from qa.runtime.runtimes import run_windows
from qa.text.features import Window

Turn = dict[str, Any]  # times_ms and n_warmup of one round, as a worker answers


@dataclass
class TimedWindows:
    """The windows of one setting (tokens, where the context begins), and how long each is padded to at
    least.
    """

    windows: Sequence[tuple[list[int], int]]
    pad_to: int


@dataclass
class TimedModel:
    """A model, the windows of each setting, and what was measured of it so far."""

    key: str
    """What tells it from the others, when the run goes on too."""
    runtime: Runtime | None
    """What its answers were measured with."""
    deployment: Deployment
    windows: Mapping[Setting, TimedWindows]
    sampled: Sequence[Window] = ()
    """Windows whose logits are wanted."""
    logits: list[Logits] = field(default_factory=list)
    turns: dict[Setting, list[Turn]] = field(default_factory=dict)
    process_metrics: dict[str, Any] = field(default_factory=dict)
    """load_ms, memory_before_load_mb, latency_ms_first and peak_memory_mb of its process."""
    error: str | None = None
    """Why this one dropped out."""


def run_interleaved_rounds(
    models: Sequence[TimedModel],
    settings: Sequence[Setting],
    plan: Plan,
    threads: int,
    cores: Sequence[int],
    journal: Journal,
    *,
    progress: bool,
) -> float | None:
    """Measure all rounds that the journal does not have yet; a model that fails gets an `error` and drops
    out.

    LostError when the connection to another machine is lost; the journal then has the rounds so far.

    Every process is pinned to `cores`. Returns how many cores other processes of this machine kept busy
    meanwhile, None where the system does not tell or nothing was left to do.
    """
    done = [one for one in journal.entries if one["threads"] == threads]
    for kept in done:
        _take(models, settings, kept)
    workers: dict[str, Worker] = {}

    def own_seconds() -> float:
        own = os.times()  # its children's times are those of workers that have ended
        return sum(own[:4]) + sum(worker.cpu_seconds() for worker in workers.values())

    try:
        for one in models:
            if (worker := _start(one, threads, cores)) is not None:
                workers[one.key] = worker
        load = OtherLoad(own_seconds)
        chosen = {s: rounds(plan.n_rounds, plan.windows_in_round(s), s.batch) for s in settings}
        left = range(len(done), plan.n_rounds)
        for number in tqdm(left, desc=f"latency, threads {threads}", unit="round", disable=not progress):
            first = number % max(1, len(models))  # nobody always follows the same neighbour
            entry: dict[str, Any] = {"threads": threads, "turns": {}, "failed": {}}
            for one in (*models[first:], *models[:first]):
                if one.error is not None:
                    continue
                try:
                    turns = {
                        s.name: _turn(workers[one.key], one, s, plan, chosen[s][number]) for s in settings
                    }
                except LostError:
                    raise  # the journal keeps all rounds before this one
                except PocketQAError as error:
                    entry["failed"][one.key] = one_line(error)
                else:
                    entry["turns"][one.key] = turns
            journal.add(entry)
            _take(models, settings, entry)
        return load.cores() if left else None
    finally:
        for worker in workers.values():
            worker.close()


def _start(one: TimedModel, threads: int, cores: Sequence[int]) -> Worker | None:
    if one.error is not None:
        return None
    worker = None
    try:
        worker = Worker(one.deployment, threads, cores)
        if worker.runtime == one.runtime:
            one.process_metrics |= {key: worker.loaded[key] for key in ("load_ms", "memory_before_load_mb")}
            one.logits = run_windows(worker, one.sampled)
            return worker
        one.error = (
            f"its accuracy was measured with {one.runtime}, but it now runs with {worker.runtime}; measure "
            "it again"
        )
    except LostError:
        if worker is not None:
            worker.close()
        raise
    except (PocketQAError, OSError) as error:
        one.error = one_line(error)
    if worker is not None:
        worker.close()
    return None


def _turn(worker: Worker, one: TimedModel, setting: Setting, plan: Plan, rows: Sequence[int]) -> Turn:
    timed = one.windows[setting]
    reply = worker.time([timed.windows[row] for row in rows], timed.pad_to, setting.batch, plan.min_s)
    one.process_metrics |= {key: reply[key] for key in ("latency_ms_first", "peak_memory_mb")}
    return {key: reply[key] for key in ("times_ms", "n_warmup")}


def _take(models: Sequence[TimedModel], settings: Sequence[Setting], entry: Mapping[str, Any]) -> None:
    """Give every model its part of a journal's round."""
    for one in models:
        if one.key in entry["failed"]:
            one.error = entry["failed"][one.key]
        for setting in settings if one.key in entry["turns"] else ():
            one.turns.setdefault(setting, []).append(entry["turns"][one.key][setting.name])
