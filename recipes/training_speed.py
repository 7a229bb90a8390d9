"""Speed and memory of training, compared with transformers' Trainer on the same model, windows and batch.

    python recipes/training_speed.py --teacher runs/demo/teacher
    python recipes/training_speed.py --teacher runs/real/teacher --data train-v1.1.json --rows rows.jsonl

Each case trains in its own process, pinned to as many cores as it has threads, so its peak memory is its own.
The cases take turns: a slow minute of the machine slows all of them, and ratios within a round stay true.

Fine-tuning has a linear head and dropout, distillation the teacher's head and no dropout. transformers trains
as its question-answering example does: every window is padded to the longest, and the model has the same
architecture and fresh weights. The example also has dropout in attention's weights, which our stages leave
out; two cases measure its cost.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from multiprocessing import get_context
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.measure.command_line import command_line_of, note
from benchmarks.measure.conditions import OtherLoad, cores_busy, this_host
from benchmarks.measure.cuda import gpu
from benchmarks.measure.models import bundle_metadata
from benchmarks.measure.plan import sample_windows
from benchmarks.measure.run import now
from benchmarks.measure.worker import peak_mb
from benchmarks.results.files import ResultFile
from benchmarks.results.rows import CPU, CUDA, Data, Machine, Runtime, TrainingSpeed
from benchmarks.results.stats import MIN_ROUNDS, paired_ratio
from benchmarks.show.tables import UNKNOWN, Column, as_text, make_table, number
from distill.student import set_attention_dropout, student_from_layers
from distill.training.batches import to_tensors
from distill.training.objectives import Distillation, supervised
from distill.training.options import DistillationWeights, TrainingOptions
from distill.training.teacher_logits import Teacher, TeacherLogits
from distill.training.trainer import LossFunction, Trainer, make_accelerator
from qa.base.cli import check_option, one_line, run_with
from qa.base.errors import OptionError
from qa.base.files import file_sha256
from qa.bundles.bundle import Bundle
from qa.bundles.hf_import import open_model
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad
from qa.evaluation.bootstrap import LEVEL
from qa.models.model import QAModel
from qa.runtime.runtimes import available_cores
from qa.text.features import Window, make_windows

WARMUP_STEPS = 2
DROPOUT = 0.1  # BERT's
GOLD = "gold answers"
TEACHER_EACH_STEP = "teacher's states and logits"
TEACHER_CACHED = "teacher's stored logits"
AfterStep = Callable[[int, int], None]
Speed = tuple[float, float | None]  # windows per second, peak MB


class Case(NamedTuple):
    """One way to train; `padded` to the model's longest window or to the batch's, and divided by `over`."""

    loss: str = GOLD
    padded: bool = False
    attention_dropout: float = 0.0
    over: str = ""


CASES = {
    "transformers": Case(padded=True),
    "transformers-example": Case(padded=True, attention_dropout=DROPOUT, over="transformers"),
    "fine-tune-fixed": Case(padded=True, over="transformers"),
    "fine-tune": Case(over="transformers"),
    "fine-tune-attention-dropout": Case(attention_dropout=DROPOUT, over="fine-tune"),
    "distil": Case(TEACHER_EACH_STEP),
    "distil-cached": Case(TEACHER_CACHED),
}


@dataclass(frozen=True)
class SpeedOptions:
    """Measure the speed and memory of training, in turns with transformers' Trainer."""

    teacher: Path
    """PyTorch bundle with any head: the student is made of its layers, and it teaches."""
    student_layers: int = 3
    """Layers of the student, and of the model that is fine-tuned."""
    data: str = EMBEDDED
    """Questions to train on: embedded, squad, squad_v2, or a SQuAD JSON file."""
    cases: tuple[str, ...] = tuple(CASES)
    """Cases to measure; all by default."""
    precision: str = "bf16"
    """bf16 or fp32."""
    batch_size: int = 16
    """Windows in a step."""
    steps: int = 12
    """Timed steps in each round, after two untimed ones."""
    rounds: int = 5
    """Rounds in which every case has its turn; from 5 on the table has intervals."""
    threads: int = 1
    """Threads and cores of each case; the first GPU that PyTorch sees is used too."""
    rows: Path | None = None
    """File the results are appended to."""

    def __post_init__(self) -> None:
        known = bool(self.cases) and set(self.cases) <= set(CASES)
        check_option(known, "--cases", " ".join(self.cases), f"among {', '.join(CASES)}")
        check_option(self.precision in ("bf16", "fp32"), "--precision", self.precision, "bf16 or fp32")
        for flag, value in (("batch-size", self.batch_size), ("steps", self.steps), ("rounds", self.rounds)):
            check_option(value >= 1, f"--{flag}", value, "at least 1")
        cores = available_cores()
        check_option(1 <= self.threads <= cores, "--threads", self.threads, f"between 1 and {cores}")


def chosen_windows(config: SpeedOptions, bundle: Bundle) -> list[Window]:
    """Return the windows of the steps, their lengths distributed as in the data. OptionError when too few."""
    windows = make_windows(read_squad(resolve(config.data, "train")), bundle.tokenizer, bundle.settings)
    n = config.batch_size * (WARMUP_STEPS + config.steps)
    if len(windows) < n:
        raise OptionError(f"--data {config.data}: has {len(windows)} of {n} windows; give fewer --steps")
    return sample_windows(windows, n)


def widened(batch: Mapping[str, Tensor], length: int) -> dict[str, Tensor]:
    """Pad every (B, T) tensor to (B, length)."""
    return {
        name: functional.pad(tensor, (0, length - tensor.shape[1])) if tensor.ndim == 2 else tensor
        for name, tensor in batch.items()
    }


def train_here(config: SpeedOptions, case: Case, bundle: Bundle, work: Path, after_step: AfterStep) -> None:
    """Train with the project's Trainer."""
    windows = chosen_windows(config, bundle)
    teacher = QAModel.from_pretrained(bundle.path)
    student = student_from_layers(teacher, config.student_layers, "linear" if case.loss == GOLD else None)
    for module in student.modules():
        if isinstance(module, nn.Dropout):
            module.p = DROPOUT if case.loss == GOLD else 0.0
    set_attention_dropout(student, case.attention_dropout)
    accelerator = make_accelerator(config.precision)
    loss: LossFunction = supervised
    if case.loss == GOLD:
        del teacher  # fine-tuning does not need its weights
    else:
        logits = TeacherLogits(lambda: Teacher(teacher), windows, work / "cache", accelerator)
        if case.loss == TEACHER_CACHED:
            for indices in np.split(np.arange(len(windows)), WARMUP_STEPS + config.steps):
                logits(to_tensors([windows[i] for i in indices], accelerator.device), indices)
        hidden_weight = 10.0 if case.loss == TEACHER_EACH_STEP else 0.0
        loss = Distillation(logits, DistillationWeights(0.1, 4.0, hidden_weight))

    def padded(model: nn.Module, batch: dict[str, Tensor], indices: np.ndarray) -> dict[str, Tensor]:
        return loss(model, widened(batch, bundle.settings.max_length), indices)

    options = TrainingOptions(1e-5, config.batch_size, 1, precision=config.precision, checkpoint_minutes=1e6)
    used = padded if case.padded else loss
    on = {"accelerator": accelerator, "after_step": after_step}
    Trainer(student, windows, used, options, work, "speed", **on).train()


def train_with_transformers(
    config: SpeedOptions, case: Case, bundle: Bundle, work: Path, after_step: AfterStep
) -> None:
    """Train with transformers' Trainer and question-answering model."""
    teacher = QAModel.from_pretrained(bundle.path)
    architecture = student_from_layers(teacher, config.student_layers, "linear").encoder.config
    architecture.hidden_dropout_prob = DROPOUT
    architecture.attention_probs_dropout_prob = case.attention_dropout
    del teacher  # the Trainer does not need its weights
    columns = widened(to_tensors(chosen_windows(config, bundle)), bundle.settings.max_length)
    del columns["valid"]
    examples = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    class Callback(transformers.TrainerCallback):
        def on_step_end(
            self, _: object, state: transformers.TrainerState, *__: object, **___: object
        ) -> None:
            after_step(state.global_step, state.max_steps)

    arguments = transformers.TrainingArguments(
        output_dir=str(work),
        per_device_train_batch_size=config.batch_size,
        num_train_epochs=1,
        bf16=config.precision == "bf16",
        use_cpu=not torch.cuda.is_available(),
        report_to=[],
        save_strategy="no",
    )
    model = transformers.AutoModelForQuestionAnswering.from_config(architecture)
    collate = transformers.default_data_collator
    transformers.Trainer(model, arguments, collate, examples, callbacks=[Callback()]).train()


def measure(config: SpeedOptions, name: str) -> Speed:
    """Train one case in this process. On a GPU the peak is that of PyTorch's tensors."""
    os.sched_setaffinity(0, this_host().cores_for(config.threads))
    torch.set_num_threads(config.threads)
    # transformers would use all GPUs and enlarge batches.
    os.environ["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    ends: dict[int, float] = {}

    def after_step(n_done: int, n_steps: int) -> None:
        ends[n_done] = time.perf_counter()

    train = train_with_transformers if name.startswith("transformers") else train_here
    with (
        tempfile.TemporaryDirectory() as work,
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        train(config, CASES[name], open_model(config.teacher), Path(work), after_step)
    seconds = ends[WARMUP_STEPS + config.steps] - ends[WARMUP_STEPS]
    peak = torch.cuda.max_memory_allocated() / 1e6 if torch.cuda.is_available() else peak_mb()
    return config.batch_size * config.steps / seconds, peak


def in_turns(config: SpeedOptions, speeds: dict[str, list[Speed]], failed: dict[str, str]) -> None:
    """Measure all rounds, each case in a fresh process. Add speeds, and why other cases failed."""
    speeds |= {name: [] for name in config.cases}
    for number_of_round in range(1, config.rounds + 1):
        for name in list(speeds):
            with ProcessPoolExecutor(1, get_context("spawn")) as process:
                try:
                    speeds[name].append(process.submit(measure, config, name).result())
                    note(f"round {number_of_round}, {name}: {speeds[name][-1][0]:.1f} windows/s")
                except Exception as error:  # the other cases go on
                    failed[name] = one_line(error)
                    del speeds[name]


def whole_rounds(speeds: Mapping[str, list[Speed]]) -> dict[str, list[Speed]]:
    """Return the rounds that all cases have finished; in a first round, the cases that have."""
    begun = {name: measured for name, measured in speeds.items() if measured}
    n_rounds = min(map(len, begun.values()), default=0)
    return {name: measured[:n_rounds] for name, measured in begun.items()}


def place() -> tuple[str, Machine]:
    """Return the target and the machine that train."""
    return (CUDA, gpu()) if torch.cuda.is_available() else (CPU, this_host().machine)


def results(config: SpeedOptions, bundle: Bundle, speeds: Mapping[str, list[Speed]]) -> list[TrainingSpeed]:
    """Return a result for each case."""
    target, machine = place()
    data = resolve(config.data, "train")
    trainer = Runtime("torch", str(torch.__version__))
    theirs = Runtime("transformers", transformers.__version__, f"torch {torch.__version__}")
    shared = bundle_metadata(bundle, bundle.path.resolve().name) | {
        "precision": config.precision,
        "target": target,
        "machine": machine,
        "data": Data(data.name, file_sha256(data)),
        "command": command_line_of("recipes/training_speed.py", config),
        "date": now(),
    }
    return [
        TrainingSpeed(
            **shared,
            runtime=theirs if name.startswith("transformers") else trainer,
            case=name,
            layers=config.student_layers,
            batch=config.batch_size,
            steps=config.steps,
            threads=config.threads,
            windows_per_s=tuple(round(speed, 2) for speed, _ in measured),
            peak_memory_mb=highest_peak(measured),
        )
        for name, measured in speeds.items()
    ]


def highest_peak(measured: Sequence[Speed]) -> float | None:
    """Return the highest peak memory in MB; None where the system does not tell it."""
    peaks = [peak for _, peak in measured if peak is not None]
    return round(max(peaks), 1) if peaks else None


def main(config: SpeedOptions) -> None:
    """Measure, append the results, print the table, also of an interrupted run; exit 1 when a case failed."""
    file = ResultFile(config.rows) if config.rows else None
    bundle = open_model(config.teacher, format="pytorch")
    student = student_from_layers(QAModel.from_pretrained(bundle.path), config.student_layers, "linear")
    knows_dropout = hasattr(student.encoder.config, "attention_probs_dropout_prob")
    why = student.not_in_transformers() or ("" if knows_dropout else "its config names dropout otherwise")
    if any(name.startswith("transformers") for name in config.cases):
        check_option(not why, "--teacher", config.teacher, f"one that transformers trains alike ({why})")
    chosen_windows(config, bundle)
    other = OtherLoad()
    all_speeds: dict[str, list[Speed]] = {}
    failed: dict[str, str] = {}
    interrupt = None
    try:
        in_turns(config, all_speeds, failed)
    except KeyboardInterrupt as stop:
        if not any(all_speeds.values()):
            raise
        interrupt = stop
    speeds = whole_rounds(all_speeds)
    n_rounds = max(map(len, speeds.values()), default=0)
    if file:
        for result in results(config, bundle, speeds):
            file.append(result)
    rounds = {name: np.array([speed for speed, _ in measured]) for name, measured in speeds.items()}
    cells = []
    for name, windows_per_s in rounds.items():
        case = CASES[name]
        ratio = None
        if case.over in rounds:
            under = rounds[case.over]
            ratio = float(windows_per_s.mean() / under.mean())
            if n_rounds >= MIN_ROUNDS:
                ratio = paired_ratio(windows_per_s, under)
        length = str(bundle.settings.max_length) if case.padded else "batch's longest"
        figures = [f"{case.attention_dropout:g}", number(float(np.median(windows_per_s)), ".1f")]
        figures += [number(ratio, unit="x"), number(highest_peak(speeds[name]), ",.0f")]
        cells.append([name, case.loss, length, case.over or UNKNOWN, *figures])
    footnotes = [
        f"{config.student_layers} layers of {config.teacher.name}, {config.precision}, batch "
        f"{config.batch_size}, rounds in turns: {n_rounds}, timed steps in each: {config.steps}",
        "windows/s: median of the rounds; x: over the case under over, by means of the rounds, "
        f"{LEVEL:.0%} interval by Student's t from {MIN_ROUNDS} rounds on",
        f"{place()[1]}; threads: {config.threads}; others kept {cores_busy([other.lap()]):.1f} cores busy",
        f"torch {torch.__version__}, transformers {transformers.__version__}; {time.strftime('%Y-%m-%d')}",
        *(f"{name} failed: {why}" for name, why in failed.items()),
    ]
    headings = ["case", "loss", "padded to", "over", "attention dropout", "windows/s", "x", "peak MB"]
    columns = [Column(text, itemgetter(at), None if at < 4 else "") for at, text in enumerate(headings)]
    print(as_text(make_table(f"Training, {config.data}", columns, cells, footnotes)), end="")
    if interrupt is not None:
        raise interrupt
    sys.exit(bool(failed))


if __name__ == "__main__":
    run_with(SpeedOptions, lambda: main)
