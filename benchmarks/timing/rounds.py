"""Rounds in which models take turns, each in a process of its own, kept in a journal so that a stopped run can go on."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.timing.conditions import OtherLoad
from benchmarks.timing.journal import Journal
from benchmarks.timing.latency import Plan, Setting, rounds
from benchmarks.timing.workers import LostError, Servable, ServedRuntime, Worker, WorkerError
from qa.cli import one_line
from qa.errors import PocketQAError
from qa.features import Window
from qa.runtimes import Logits, run_windows

Turn = dict[str, Any]  # times_ms and n_warmup of one round, as benchmarks/timing/serve.py answers


@dataclass
class Timed:
    """The windows of one setting: their file, and how long each is padded to at least."""

    path: Path
    pad_to: int


@dataclass
class Contender:
    """A model, the windows of each setting, and what was measured of it so far."""

    key: str
    """What tells it from the others, when the run goes on too."""
    runtime: str
    """What its answers were measured with."""
    server: Servable
    windows: Mapping[Setting, Timed]
    sampled: Sequence[Window] = ()
    """Windows whose logits are wanted."""
    logits: list[Logits] = field(default_factory=list)
    turns: dict[Setting, list[Turn]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    """load_ms, memory_before_load_mb, latency_ms_first and peak_memory_mb of its process."""
    error: str | None = None
    """Why this one dropped out."""


def take_turns(
    contenders: Sequence[Contender], settings: Sequence[Setting], plan: Plan, threads: int, cores: Sequence[int],
    journal: Journal, *, progress: bool,
) -> float | None:  # fmt: skip
    """Measure all rounds that the journal does not have yet; a contender that fails gets an `error` and drops out.

    LostError when the connection to another machine is lost; the journal then has the rounds so far.

    Every process is pinned to `cores`. Returns how many cores other processes of this machine kept busy meanwhile, None where the
    system does not tell or nothing was left to do.
    """
    done = [one for one in journal.entries if one["threads"] == threads]
    for kept in done:
        _take(contenders, settings, kept)
    workers: dict[str, Worker] = {}

    def own_seconds() -> float:
        own = os.times()
        return own.user + own.system + sum(worker.cpu_seconds() for worker in workers.values())

    try:
        for one in contenders:
            if (worker := _start(one, threads, cores)) is not None:
                workers[one.key] = worker
        load = OtherLoad(own_seconds)
        chosen = {s: rounds(plan.n_rounds, plan.windows_in_round(s), s.batch) for s in settings}
        left = range(len(done), plan.n_rounds)
        for number in tqdm(left, desc=f"latency, threads {threads}", unit="round", disable=not progress):
            first = number % max(1, len(contenders))  # nobody always follows the same neighbour
            entry: dict[str, Any] = {"threads": threads, "turns": {}, "failed": {}}
            for one in (*contenders[first:], *contenders[:first]):
                if one.error is not None:
                    continue
                try:
                    turns = {s.name: _turn(workers[one.key], one, s, plan, chosen[s][number]) for s in settings}
                except LostError:
                    raise  # the journal keeps all rounds before this one
                except WorkerError as error:
                    entry["failed"][one.key] = one_line(error)
                else:
                    entry["turns"][one.key] = turns
            journal.add(entry)
            _take(contenders, settings, entry)
        return load.cores() if left else None
    finally:
        for worker in workers.values():
            worker.close()


def _start(one: Contender, threads: int, cores: Sequence[int]) -> Worker | None:
    if one.error is not None:
        return None
    try:
        worker = Worker(one.server, threads, cores)
    except LostError:
        raise
    except (PocketQAError, OSError) as error:
        one.error = one_line(error)
        return None
    if (now := worker.facts["runtime"]) != one.runtime:
        one.error = f"its answers were measured with {one.runtime}, and now it runs with {now}; measure it again"
        worker.close()
        return None
    one.facts |= {key: worker.facts[key] for key in ("load_ms", "memory_before_load_mb")}
    try:
        for setting, timed in one.windows.items():
            worker.ask(windows=setting.name, path=one.server.carry(timed.path), pad_to=timed.pad_to)
        one.logits = run_windows(ServedRuntime(worker), one.sampled)
    except LostError:
        worker.close()
        raise
    except (PocketQAError, OSError) as error:
        one.error = one_line(error)
        worker.close()
        return None
    return worker


def _turn(worker: Worker, one: Contender, setting: Setting, plan: Plan, rows: Sequence[int]) -> Turn:
    reply = worker.ask(turn=setting.name, rows=list(rows), min_s=plan.min_s, batch=setting.batch)
    one.facts |= {key: reply[key] for key in ("latency_ms_first", "peak_memory_mb")}
    return {key: reply[key] for key in ("times_ms", "n_warmup")}


def _take(contenders: Sequence[Contender], settings: Sequence[Setting], entry: Mapping[str, Any]) -> None:
    """Give every contender its part of a journal's round."""
    for one in contenders:
        if one.key in entry["failed"]:
            one.error = entry["failed"][one.key]
        for setting in settings if one.key in entry["turns"] else ():
            one.turns.setdefault(setting, []).append(entry["turns"][one.key][setting.name])
