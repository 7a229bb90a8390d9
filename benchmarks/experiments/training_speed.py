"""How fast training is, and how much memory it takes, beside transformers' own Trainer with the same model,
windows and batch.

    python -m benchmarks.experiments.training_speed --teacher runs/demo/teacher
    python -m benchmarks.experiments.training_speed \\
        --teacher runs/real/teacher --data train-v1.1.json --rounds 5

Each case trains in a process of its own, pinned to as many cores as it has threads, so that its peak memory
is its own. The cases take turns: a slow minute of the machine falls on all of them, and ratios within a round
stay true. The table again:

    python -m benchmarks.table runs/training.jsonl --view training
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiments.training_case import CASES, CaseConfig, chosen_windows
from benchmarks.measure.command_line import command_line_of, flag_name, note
from benchmarks.measure.conditions import OtherLoad, cores_for, machine, this_host
from benchmarks.measure.models import gpu, now
from benchmarks.results.rows import (
    CPU,
    CUDA,
    UNPADDED,
    Data,
    Failure,
    ResultFile,
    Runtime,
    TrainingSpeed,
    exit_if_failed,
)
from benchmarks.show.groups import collect
from benchmarks.show.tables import as_text
from benchmarks.show.views import training_tables
from qa.base.cli import check_option, one_line, run_command
from qa.base.errors import PocketQAError
from qa.base.files import file_sha256
from qa.bundles.bundle import Bundle
from qa.bundles.hf_import import open_model
from qa.data.datasets import EMBEDDED, resolve
from qa.models.model import QAModel
from qa.runtime.runtimes import available_cores

TIMEOUT_S = 3600


class CaseError(PocketQAError):
    """A case could not be measured; the message is the last line of its process."""


@dataclass(frozen=True)
class TrainingConfig:
    """Measure windows a second and memory of fine-tuning and distillation, beside transformers' Trainer."""

    teacher: Path
    """PyTorch bundle with the linear or any other head: the student is cut from it, and it teaches."""
    student_layers: int = 3
    """Layers of the student, and of the model that is fine-tuned."""
    data: str = EMBEDDED
    """Questions to train on: embedded, squad, squad_v2, or a SQuAD JSON file."""
    cases: tuple[str, ...] = tuple(CASES)
    """Cases to measure; all by default."""
    batch_size: int = 16
    """Windows in a step."""
    steps: int = 12
    """Timed steps in each round, after two untimed ones."""
    rounds: int = 5
    """Rounds in which every case has its turn; from 5 on the table has intervals."""
    threads: int = 1
    """Threads and cores that each case has; the first GPU, where PyTorch sees one, is used too."""
    rows: Path = Path("runs/training.jsonl")
    """File the results are appended to."""

    def __post_init__(self) -> None:
        unknown = [name for name in self.cases if name not in CASES]
        check_option(
            not unknown and bool(self.cases), "--cases", ", ".join(unknown), f"among {', '.join(CASES)}"
        )
        check_option(
            len(set(self.cases)) == len(self.cases), "--cases", ", ".join(self.cases), "names, each once"
        )
        for name in ("student_layers", "batch_size", "steps", "rounds", "threads"):
            check_option(getattr(self, name) >= 1, flag_name(name), getattr(self, name), "at least 1")
        cores = available_cores()
        check_option(
            self.threads <= cores,
            "--threads",
            self.threads,
            f"at most {cores}, the cores that may be used here",
        )


@dataclass(frozen=True)
class Measured:
    """What one case came to over the rounds."""

    windows_per_s: tuple[float, ...]
    """Of each round."""
    peak_memory_mb: float | None
    runtime: Runtime


def case_config(config: TrainingConfig, name: str) -> CaseConfig:
    """What the process of one case is told."""
    cores = tuple(cores_for(config.threads))
    teacher = open_model(config.teacher, kind="pytorch").path
    return CaseConfig(
        name, teacher, config.student_layers, config.data, config.batch_size, config.steps, cores
    )


def measure_case(config: TrainingConfig, name: str) -> dict[str, Any]:
    """One round of one case, from a fresh process; CaseError with its last line when it fails."""
    told = json.dumps(asdict(case_config(config, name)), default=str)
    command = [sys.executable, "-m", "benchmarks.experiments.training_case", told]
    # PyTorch reads OMP_NUM_THREADS when it is imported. Of several GPUs transformers would take all, and
    # others' batches grow.
    first_gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    environment = os.environ | {"OMP_NUM_THREADS": str(config.threads), "CUDA_VISIBLE_DEVICES": first_gpu}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        raise CaseError(f"took more than {TIMEOUT_S // 60} minutes; give fewer --steps") from None
    if done.returncode != 0:
        raise CaseError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def check_plan(config: TrainingConfig, teacher: Bundle) -> None:
    """Say what no case could do before the first is measured: too many layers, too few windows."""
    n_layers = len(QAModel.from_pretrained(teacher.path).encoder.layers)
    wanted = f"at most the teacher's {n_layers}"
    check_option(config.student_layers <= n_layers, "--student-layers", config.student_layers, wanted)
    chosen_windows(case_config(config, config.cases[0]))


def measure_rounds(config: TrainingConfig) -> tuple[dict[str, Measured], dict[str, str]]:
    """Every case in every round: (what was measured, why a case failed), by case. Ctrl-C leaves the rounds
    that are whole."""
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in config.cases}
    failed: dict[str, str] = {}
    try:
        for number_of_round in range(1, config.rounds + 1):
            for name in (name for name in config.cases if name not in failed):
                try:
                    results[name].append(measure_case(config, name))
                    note(
                        f"round {number_of_round}, {name}: {results[name][-1]['windows_per_s']:.1f} windows/s"
                    )
                except CaseError as error:
                    failed[name] = one_line(error)
                    note(f"{name}: failed, {failed[name]}")
    except KeyboardInterrupt:
        n_whole = min(len(found) for name, found in results.items() if name not in failed)
        note(f"interrupted; {n_whole} complete rounds are kept")
        if n_whole == 0:
            raise
        results = {name: found[:n_whole] for name, found in results.items()}
    measured = {
        name: Measured(
            tuple(r["windows_per_s"] for r in found),
            found[-1].get("peak_memory_mb"),
            Runtime(*found[-1]["runtime"]),
        )
        for name, found in results.items()
        if name not in failed
    }
    return measured, failed


def place() -> dict[str, Any]:
    """Target and machine: PyTorch and transformers both train on a GPU when there is one."""
    import torch

    return (
        {"target": CUDA, "machine": gpu()}
        if torch.cuda.is_available()
        else {"target": CPU, "machine": machine()}
    )


def own_seconds() -> float:
    """CPU time of this process and of the cases that have ended."""
    return sum(os.times()[:4])


def main(config: TrainingConfig) -> list[TrainingSpeed | Failure]:
    """Measure, append results, print the table. Returns the results of this run."""
    host = this_host()
    conditions: dict[str, Any] = {"load_average": host.load_average, "governor": host.governor}
    file = ResultFile(config.rows)
    teacher = open_model(config.teacher, kind="pytorch")
    data = resolve(config.data, "train")
    check_plan(config, teacher)
    date = now()
    other = OtherLoad(own_seconds)
    measured, faults = measure_rounds(config)
    conditions |= {
        "affinity": tuple(cores_for(config.threads)),
        "other_load": other.cores(),
        "batch": config.batch_size,
    }
    shared = place() | {
        "bundle_sha256": teacher.sha256,
        "stage": "training",
        "data": Data(data.name, file_sha256(data)),
        "date": date,
        "training": {"teacher": config.teacher.name, "layers": config.student_layers},
        "threads": config.threads,
        "command": command_line_of("-m benchmarks.experiments.training_speed", config),
    }
    results: list[TrainingSpeed | Failure] = []
    for name in config.cases:
        case = CASES[name]
        metadata = shared | {"model": name, "precision": case.precision, "lengths": UNPADDED}
        metadata |= {} if case.bucketed else {"lengths": teacher.settings.max_length}
        if name in faults:
            results.append(Failure(**metadata, error=faults[name]))
        else:
            found = measured[name]
            results.append(
                TrainingSpeed(
                    **metadata,
                    **conditions,
                    runtime=found.runtime,
                    objective=case.objective,
                    hidden_dropout=case.hidden_dropout,
                    attention_dropout=case.attention_dropout,
                    reference=case.reference if case.reference in measured else None,
                    windows_per_s=round(float(np.median(found.windows_per_s)), 2),
                    round_windows_per_s=tuple(round(value, 2) for value in found.windows_per_s),
                    n_runs=config.steps * len(found.windows_per_s),
                    peak_memory_mb=found.peak_memory_mb,
                )
            )
        file.append(results[-1])
    for table in training_tables(collect(results)[0]):
        print(as_text(table), end="")
    print(f"rows: {config.rows}")
    return results


def command(config: TrainingConfig) -> None:
    """`main` for the command line: exit code 1 when a case failed."""
    exit_if_failed(main(config))


if __name__ == "__main__":
    run_command(command)
