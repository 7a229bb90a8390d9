"""Speed and memory of training, compared with transformers' Trainer on the same model, windows and batch.

    python -m benchmarks.training_speed --teacher runs/demo/teacher
    python -m benchmarks.training_speed --teacher runs/real/teacher --data train-v1.1.json --rounds 5

Each case trains in its own process, pinned to as many cores as it has threads, so its peak memory is its own.
The cases take turns: a slow minute of the machine slows all of them, and ratios within a round stay true.
`python -m benchmarks.table runs/training.jsonl --view training` prints the table again.
"""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.measure.command_line import command_line_of, flag_name, note
from benchmarks.measure.conditions import OtherLoad, this_host
from benchmarks.measure.process import run_json
from benchmarks.results.files import ResultFile, exit_if_failed
from benchmarks.results.rows import CPU, CUDA, UNPADDED, Data, Failure, Runtime, TrainingSpeed
from benchmarks.show.groups import collect
from benchmarks.show.tables import as_text
from benchmarks.show.training_views import training_tables
from qa.base.cli import check_option, one_line
from qa.base.commands import run_command
from qa.base.files import file_sha256
from qa.bundles.hf_import import open_model
from qa.data.datasets import EMBEDDED, resolve
from qa.runtime.remote import RemoteError
from qa.runtime.runtimes import available_cores

TIMEOUT_S = 3600
DROPOUT = 0.1  # BERT's, in all its places
SUPERVISED = "gold answers"
TEACHER_EACH_STEP = "teacher's states and logits"
TEACHER_CACHED = "teacher's kept logits"


@dataclass(frozen=True)
class Case:
    """One way to train."""

    objective: str
    bucketed: bool
    """True where batches hold windows of like length, padded to the longest; else all are padded to the
    model's longest."""
    precision: str
    transformers: bool = False
    """True where transformers' Trainer trains."""
    hidden_dropout: float = DROPOUT
    attention_dropout: float = 0.0
    reference: str | None = None
    """Case that it is divided by, with the same loss: the other Trainer with the same dropout, or the same
    Trainer without dropout in attention."""


def _cases(precision: str) -> dict[str, Case]:
    theirs = f"transformers-{precision}"
    ours = f"fine-tune-{precision}"
    return {
        theirs: Case(SUPERVISED, False, precision, transformers=True),
        f"transformers-example-{precision}": Case(
            SUPERVISED, False, precision, transformers=True, reference=theirs, attention_dropout=DROPOUT
        ),
        f"fine-tune-fixed-{precision}": Case(SUPERVISED, False, precision, reference=theirs),
        ours: Case(SUPERVISED, True, precision, reference=theirs),
        f"fine-tune-attention-dropout-{precision}": Case(
            SUPERVISED, True, precision, reference=ours, attention_dropout=DROPOUT
        ),
        f"distil-{precision}": Case(TEACHER_EACH_STEP, True, precision, hidden_dropout=0.0),
        f"distil-cached-{precision}": Case(TEACHER_CACHED, True, precision, hidden_dropout=0.0),
    }


CASES = _cases("fp32") | _cases("bf16")


@dataclass(frozen=True)
class TrainingConfig:
    """Measure windows per second and memory of fine-tuning and distillation, and of transformers' Trainer."""

    teacher: Path
    """PyTorch bundle with any head: the student is cut from it, and it teaches."""
    student_layers: int = 3
    """Layers of the student, and of the model that is fine-tuned."""
    data: str = EMBEDDED
    """Questions to train on: embedded, everyday, squad, squad_v2, or a SQuAD JSON file."""
    cases: tuple[str, ...] = tuple(CASES)
    """Cases to measure; all by default."""
    batch_size: int = 16
    """Windows in a step."""
    steps: int = 12
    """Timed steps in each round, after two untimed ones."""
    rounds: int = 5
    """Rounds in which every case has its turn; from 5 on the table has intervals."""
    threads: int = 1
    """Threads and cores of each case; the first GPU that PyTorch sees is used too."""
    rows: Path = Path("runs/training.jsonl")
    """File the results are appended to."""

    def __post_init__(self) -> None:
        unknown = [name for name in self.cases if name not in CASES]
        known = bool(self.cases) and not unknown
        check_option(known, "--cases", ", ".join(unknown), f"among {', '.join(CASES)}")
        once = len(set(self.cases)) == len(self.cases)
        check_option(once, "--cases", ", ".join(self.cases), "names, each once")
        for name in ("student_layers", "batch_size", "steps", "rounds", "threads"):
            check_option(getattr(self, name) >= 1, flag_name(name), getattr(self, name), "at least 1")
        cores = available_cores()
        wanted = f"at most {cores}, the cores that may be used here"
        check_option(self.threads <= cores, "--threads", self.threads, wanted)


def measure_case(config: TrainingConfig, name: str) -> dict[str, Any]:
    """Measure one round of one case in a fresh process; RemoteError with its last line when it fails."""
    # PyTorch reads OMP_NUM_THREADS when it is imported. transformers would use all GPUs and enlarge batches.
    first_gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    environment = os.environ | {"OMP_NUM_THREADS": str(config.threads), "CUDA_VISIBLE_DEVICES": first_gpu}
    text = msgspec.json.encode(replace(config, cases=(name,)), enc_hook=str).decode()
    command = [sys.executable, "-m", "benchmarks.training_case", text]
    result: dict[str, Any] = run_json(command, TIMEOUT_S, "; give fewer --steps", env=environment)
    return result


def measure_rounds(config: TrainingConfig) -> tuple[dict[str, list[dict[str, Any]]], dict[str, str]]:
    """Measure every case in every round: (its rounds, why it failed) by case. Ctrl-C keeps whole rounds."""
    rounds: list[dict[str, dict[str, Any]]] = []
    failed: dict[str, str] = {}
    try:
        for number in range(1, config.rounds + 1):
            measured = {}
            for name in (name for name in config.cases if name not in failed):
                try:
                    measured[name] = measure_case(config, name)
                    note(f"round {number}, {name}: {measured[name]['windows_per_s']:.1f} windows/s")
                except RemoteError as error:
                    failed[name] = one_line(error)
                    note(f"{name}: failed, {failed[name]}")
            rounds.append(measured)
    except KeyboardInterrupt:
        note(f"interrupted; {len(rounds)} complete rounds are kept")
        if not rounds:
            raise
    sound = [name for name in config.cases if name not in failed]
    return {name: [measured[name] for measured in rounds] for name in sound}, failed


def main(config: TrainingConfig) -> list[TrainingSpeed | Failure]:
    """Measure, append the results and print the table. Returns the results of this run."""
    import torch

    from benchmarks.measure.cuda import gpu
    from benchmarks.measure.run import now
    from benchmarks.training_case import check_plan

    host = this_host()
    file = ResultFile(config.rows)
    teacher = open_model(config.teacher, format="pytorch")
    here = replace(config, teacher=teacher.path)  # a checkpoint's bundle lies in the cache
    data = resolve(config.data, "train")
    check_plan(here)
    on_gpu = torch.cuda.is_available()
    shared: dict[str, Any] = {
        "target": CUDA if on_gpu else CPU,
        "machine": gpu() if on_gpu else host.machine,
        "bundle_sha256": teacher.sha256,
        "stage": "training",
        "data": Data(data.name, file_sha256(data)),
        "date": now(),
        "training": {"teacher": config.teacher.name, "layers": config.student_layers},
        "threads": config.threads,
        "command": command_line_of("-m benchmarks.training_speed", config),
    }
    other = OtherLoad()
    measured, failed = measure_rounds(here)
    conditions = host.conditions(config.threads) | {"other_load": other.cores(), "batch": config.batch_size}
    results: list[TrainingSpeed | Failure] = []
    for name in config.cases:
        case = CASES[name]
        lengths = UNPADDED if case.bucketed else teacher.settings.max_length
        metadata = shared | {"model": name, "precision": case.precision, "lengths": lengths}
        if name in failed:
            results.append(Failure(**metadata, error=failed[name]))
        else:
            speeds = [one["windows_per_s"] for one in measured[name]]
            last = measured[name][-1]
            results.append(
                TrainingSpeed(
                    **(metadata | conditions),
                    runtime=Runtime(*last["runtime"]),
                    objective=case.objective,
                    hidden_dropout=case.hidden_dropout,
                    attention_dropout=case.attention_dropout,
                    reference=case.reference if case.reference in measured else None,
                    windows_per_s=round(float(np.median(speeds)), 2),
                    round_windows_per_s=tuple(round(speed, 2) for speed in speeds),
                    n_runs=config.steps * len(speeds),
                    peak_memory_mb=last.get("peak_memory_mb"),
                )
            )
        file.append(results[-1])
    for table in training_tables(collect(results)[0]):
        print(as_text(table), end="")
    print(f"rows: {config.rows}")
    return results


def command(config: TrainingConfig) -> None:
    """Run `main` for the command line: exit code 1 when a case failed."""
    exit_if_failed(main(config))


if __name__ == "__main__":
    run_command("training-speed")
