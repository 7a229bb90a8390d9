"""Rounds in which models take turns, each in its own process; a journal lets a stopped run continue."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from benchmarks.measure.conditions import OtherLoad, cores_busy
from benchmarks.measure.plan import Plan, Setting, rounds
from benchmarks.measure.run import ModelUnderTest
from benchmarks.measure.worker_process import TokenWindow, Worker
from qa.base.cli import one_line
from qa.base.errors import PocketQAError
from qa.base.journal import Journal
from qa.base.progress import Progress
from qa.formats.tensors import Logits
from qa.runtime.remote import LostError
from qa.runtime.runtimes import run_windows
from qa.text.features import Window

Turn = dict[str, Any]  # times_ms, n_warmup and peak_memory_mb of one round, as a worker replies


@dataclass
class Timing:
    """Timing of one model with one number of threads, and its measurements so far."""

    model: ModelUnderTest
    windows: Mapping[Setting, tuple[Sequence[TokenWindow], int]]
    """The windows of all rounds, and to how many tokens they are padded at least."""
    sampled: Sequence[Window] = ()
    """Windows whose logits are computed once."""
    logits: list[Logits] = field(default_factory=list)
    turns: dict[Setting, list[Turn]] = field(default_factory=dict)
    failed: dict[Setting, str] = field(default_factory=dict)
    """Settings that failed, such as a batch that the memory does not hold, and why."""
    process_metrics: dict[str, Any] = field(default_factory=dict)
    """load_ms and latency_ms_first of its process."""

    worker: Worker | None = None
    """Process of the model; None before the start, and where the start failed."""

    def start(self, threads: int, cores: Sequence[int], processes: ExitStack) -> None:
        """Start the model's process, or give the model an error."""
        model, self.worker = self.model, None
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
            self.process_metrics["load_ms"] = worker.loaded["load_ms"]
            # One by one, so that the first call of the process is one window, as those that are timed.
            self.logits = [run_windows(worker, [window])[0] for window in self.sampled]
            self.worker = worker
        except LostError:
            raise
        except (PocketQAError, OSError) as error:
            model.error = one_line(error)

    def turn(self, setting: Setting, plan: Plan, rows: Sequence[int]) -> Turn:
        """Time the windows of one round."""
        assert self.worker is not None
        windows, pad_to = self.windows[setting]
        reply = self.worker.time([windows[row] for row in rows], pad_to, setting.batch, plan.min_s)
        self.process_metrics["latency_ms_first"] = reply["latency_ms_first"]
        return {key: reply[key] for key in ("times_ms", "n_warmup", "peak_memory_mb")}

    def round(
        self, plan: Plan, rows: Mapping[Setting, Sequence[int]], restart: "Callable[[Timing], None]"
    ) -> tuple[dict[str, Turn], dict[str, str]]:
        """Time the settings that have not failed; return their turns, and why others failed, by name.

        A process ends with its first error, and `restart` starts another. A model that does not start fails
        in all settings.
        """
        turns: dict[str, Turn] = {}
        failed: dict[str, str] = {}
        for setting in plan.settings:
            if self.model.error is not None or setting in self.failed:
                continue
            try:
                turns[setting.name] = self.turn(setting, plan, rows[setting])
            except LostError:
                raise  # the journal keeps all rounds before this one
            except PocketQAError as error:
                failed[setting.name] = one_line(error)
                if len(self.failed) + len(failed) < len(plan.settings):
                    restart(self)
        if self.model.error is not None:
            failed = {s.name: self.model.error for s in plan.settings} | failed
        return turns, failed

    def add(self, entry: Mapping[str, Any], plan: Plan) -> None:
        """Add a journal's round."""
        sha256 = self.model.sha256
        turns, failed = (entry[kind].get(sha256, {}) for kind in ("turns", "failed"))
        for setting in plan.settings:
            if setting.name in turns:
                self.turns.setdefault(setting, []).append(turns[setting.name])
            if setting.name in failed:
                self.failed[setting] = failed[setting.name]
        if len(self.failed) == len(plan.settings):
            self.model.error = next(iter(self.failed.values()))


def run_interleaved_rounds(
    timings: Sequence[Timing], plan: Plan, threads: int, cores: Sequence[int], journal: Journal, here: bool
) -> float | None:
    """Measure all rounds that the journal does not have yet, and add all rounds to the timings.

    A setting that fails is timed no more; a model that fails at all gets an `error` and drops out. LostError
    when the connection to another machine is lost; the journal then has the rounds before. Every process is
    pinned to `cores`. Returns how many cores other processes kept busy in all rounds; None of another
    machine.
    """
    finished = [entry for entry in journal.entries if entry["threads"] == threads]
    for timing in timings:
        for earlier in finished:
            timing.add(earlier, plan)
    with ExitStack() as processes:
        workers: list[Worker] = []

        def start(timing: Timing) -> None:
            timing.start(threads, cores, processes)
            workers.extend([timing.worker] if timing.worker is not None else [])

        for timing in timings:
            if timing.model.error is None:
                start(timing)
        load = OtherLoad(workers) if here else None
        chosen = {s: rounds(plan.n_rounds, plan.windows_in_round(s), s.batch) for s in plan.settings}
        left = range(len(finished), plan.n_rounds)
        for number in Progress(left, desc=f"latency, threads {threads}", unit="round"):
            first = number % len(timings)  # no model always follows the same neighbour
            entry: dict[str, Any] = {"threads": threads, "turns": {}, "failed": {}}
            for timing in (*timings[first:], *timings[:first]):
                key = timing.model.sha256
                rows = {s: chosen[s][number] for s in plan.settings}
                entry["turns"][key], entry["failed"][key] = timing.round(plan, rows, start)
            entry["load"] = load.lap() if load is not None else None
            journal.add(entry)
            finished.append(entry)
            for timing in timings:
                timing.add(entry, plan)
    laps = [entry["load"] for entry in finished if entry["load"] is not None]
    return cores_busy(laps) if laps else None
