"""One case of benchmarks/experiments/training_speed.py, in a process of its own: trains some steps and prints
one JSON object.

All cases see the same windows. Fine-tuning has a linear head, distillation the teacher's head; each case has
the dropout that it says. transformers' Trainer is set up as its question-answering example script sets it up
by default (every window padded to 384), with its own model of the same architecture, linear head and fresh
weights. Its example also has dropout in attention's weights, which ours leaves out: cases of their own tell
what that costs.
"""

import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.measure.plan import sample_windows
from benchmarks.measure.worker import resident_mb
from distill.student import student_from_layers
from distill.training.batches import to_tensors
from distill.training.objectives import Distillation, supervised
from distill.training.options import DistillationWeights, TrainingOptions
from distill.training.teacher_logits import Teacher, TeacherLogits
from distill.training.trainer import LossFunction, Trainer, make_accelerator
from qa.base.cli import one_line
from qa.base.errors import OptionError, PocketQAError
from qa.bundles.bundle import open_bundle
from qa.data.datasets import resolve
from qa.data.squad import read_squad
from qa.models.model import QAModel
from qa.text.features import Window, make_windows

WARMUP_STEPS = 2
LEARNING_RATE = 1e-5
TEMPERATURE = 4.0
SUPERVISED = "gold answers"
TEACHER_EACH_STEP = "teacher's states and logits"
TEACHER_CACHED = "teacher's kept logits"


DROPOUT = 0.1  # of BERT, in all its places


@dataclass(frozen=True)
class Case:
    """What is trained, and how."""

    objective: str
    bucketed: bool
    """Whether batches hold windows of like length, padded to the longest of them; else all are padded to 384.
    """
    precision: str
    transformers: bool = False
    """Whether transformers' Trainer trains."""
    hidden_dropout: float = DROPOUT
    attention_dropout: float = 0.0
    reference: str | None = None
    """The case it is divided by, whose loss is the same: the other Trainer with the same dropout or, of a
    case that tells the cost of dropout, the one without it."""


def _cases(precision: str) -> dict[str, Case]:
    theirs = f"transformers-{precision}"
    ours = f"fine-tune-{precision}"
    return {
        theirs: Case(SUPERVISED, False, precision, transformers=True),
        f"transformers-example-{precision}": Case(
            SUPERVISED, False, precision, transformers=True, attention_dropout=DROPOUT, reference=theirs
        ),
        f"fine-tune-fixed-{precision}": Case(SUPERVISED, False, precision, reference=theirs),
        ours: Case(SUPERVISED, True, precision, reference=theirs),
        f"fine-tune-attention-dropout-{precision}": Case(
            SUPERVISED, True, precision, attention_dropout=DROPOUT, reference=ours
        ),
        f"distil-{precision}": Case(TEACHER_EACH_STEP, True, precision, hidden_dropout=0.0),
        f"distil-cached-{precision}": Case(TEACHER_CACHED, True, precision, hidden_dropout=0.0),
    }


CASES = _cases("fp32") | _cases("bf16")


@dataclass(frozen=True)
class CaseConfig:
    """One case and its sizes."""

    name: str
    teacher: Path
    student_layers: int
    data: str
    batch_size: int
    steps: int
    cores: tuple[int, ...]
    """Cores to run on, as many as it has threads."""


def padded(loss: LossFunction, length: int) -> LossFunction:
    """The loss on batches of which every window is padded to `length`."""

    def on_padded(model: nn.Module, batch: dict[str, Tensor], indices: np.ndarray) -> dict[str, Tensor]:
        wider = {
            k: functional.pad(t, (0, length - t.shape[1])) if t.ndim == 2 else t for k, t in batch.items()
        }
        return loss(model, wider, indices)

    return on_padded


def chosen_windows(config: CaseConfig) -> list[Window]:
    """Just the windows of the steps, their lengths distributed as in the data. OptionError when there are too
    few."""
    bundle = open_bundle(config.teacher, kind="pytorch")
    windows = make_windows(read_squad(resolve(config.data, "train")), bundle.tokenizer, bundle.settings)
    wanted = config.batch_size * (WARMUP_STEPS + config.steps)
    if len(windows) < wanted:
        raise OptionError(
            f"--data {config.data}: has {len(windows)} windows, {wanted} are needed; give fewer --steps"
        )
    return sample_windows(windows, wanted)


class StopWatch:
    """Windows a second from the end of the untimed steps to the end of the last."""

    def __init__(self, config: CaseConfig) -> None:
        self.config = config
        self.ends = dict[int, float]()

    def __call__(self, steps_done: int, n_steps: int) -> None:
        """Called after every step."""
        self.ends[steps_done] = time.perf_counter()

    def windows_per_s(self) -> float:
        """Over the timed steps."""
        seconds = self.ends[WARMUP_STEPS + self.config.steps] - self.ends[WARMUP_STEPS]
        return self.config.batch_size * self.config.steps / seconds


def set_dropout(model: QAModel, case: Case) -> None:
    """Give a model the dropout of a case, in place."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = case.hidden_dropout
    for parts in model.encoder.layer_parts():
        parts.attention_dropout.p = case.attention_dropout


def train_here(config: CaseConfig, case: Case, work: Path) -> tuple[float, tuple[str, str]]:
    """With the project's own Trainer: (windows a second, package and its version)."""
    windows = chosen_windows(config)
    teacher = QAModel.from_pretrained(config.teacher)
    if case.objective == SUPERVISED:
        student = student_from_layers(teacher, config.student_layers, "linear")
        del teacher  # its weights are no part of what fine-tuning needs
    else:
        student = student_from_layers(teacher, config.student_layers)
    set_dropout(student, case)
    options = TrainingOptions(
        LEARNING_RATE, config.batch_size, 1, precision=case.precision, checkpoint_minutes=1e6
    )
    accelerator = make_accelerator(case.precision)
    loss: LossFunction = supervised
    if case.objective != SUPERVISED:
        weights = DistillationWeights(0.1, TEMPERATURE, 10.0 if case.objective == TEACHER_EACH_STEP else 0.0)
        logits = TeacherLogits(lambda: Teacher(teacher), windows, work / "cache", accelerator)
        if case.objective == TEACHER_CACHED:
            for first in range(0, len(windows), config.batch_size):
                indices = np.arange(first, min(first + config.batch_size, len(windows)))
                logits(to_tensors([windows[i] for i in indices]), indices)
        loss = Distillation(logits, weights)
    if not case.bucketed:
        loss = padded(loss, open_bundle(config.teacher).settings.max_length)
    watch = StopWatch(config)
    Trainer(
        student, windows, loss, options, work, config.name, accelerator=accelerator, after_step=watch
    ).train()
    return watch.windows_per_s(), ("torch", torch.__version__)


def train_with_transformers(config: CaseConfig, case: Case, work: Path) -> tuple[float, tuple[str, str]]:
    """With transformers' Trainer and question-answering model: (windows a second, package and its
    version).
    """
    import transformers

    windows = chosen_windows(config)
    bundle = open_bundle(config.teacher)
    student = student_from_layers(QAModel.from_pretrained(config.teacher), config.student_layers, "linear")
    architecture = student.encoder.config
    architecture.hidden_dropout_prob = case.hidden_dropout
    architecture.attention_probs_dropout_prob = case.attention_dropout
    model = transformers.AutoModelForQuestionAnswering.from_config(architecture)
    del student  # its weights are no part of what the Trainer needs
    length = bundle.settings.max_length
    columns = {
        k: functional.pad(t, (0, length - t.shape[1])) if t.ndim == 2 else t
        for k, t in to_tensors(windows).items()
    }
    del columns["valid"]
    examples = [{name: tensor[row] for name, tensor in columns.items()} for row in range(len(windows))]
    watch = StopWatch(config)

    class AfterStep(transformers.TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            watch(state.global_step, state.max_steps)

    arguments = transformers.TrainingArguments(
        output_dir=str(work),
        per_device_train_batch_size=config.batch_size,
        learning_rate=LEARNING_RATE,
        num_train_epochs=1,
        bf16=case.precision == "bf16",
        use_cpu=not torch.cuda.is_available(),
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        logging_strategy="no",
    )
    trainer = transformers.Trainer(
        model=model,
        args=arguments,
        train_dataset=examples,
        data_collator=transformers.default_data_collator,
        callbacks=[AfterStep()],
    )
    trainer.train()
    return watch.windows_per_s(), ("transformers", transformers.__version__)


def measure(config: CaseConfig) -> dict[str, Any]:
    """Train one case in this process: windows_per_s, peak_memory_mb (on a GPU that of PyTorch's tensors
    there), runtime."""
    case = CASES[config.name]
    train = train_with_transformers if case.transformers else train_here
    with tempfile.TemporaryDirectory() as folder:
        windows_per_s, runtime = train(config, case, Path(folder))
    on_gpu = torch.cuda.is_available()
    peak = torch.cuda.max_memory_allocated() / 1e6 if on_gpu else resident_mb("VmHWM")
    return {
        "windows_per_s": windows_per_s,
        "peak_memory_mb": None if peak is None else round(peak, 1),
        "runtime": runtime,
    }


def read_config(text: str) -> CaseConfig:
    """From the JSON that benchmarks/experiments/training_speed.py hands over."""
    values = json.loads(text)
    return CaseConfig(**(values | {"teacher": Path(values["teacher"]), "cores": tuple(values["cores"])}))


if __name__ == "__main__":
    config = read_config(sys.argv[1])
    os.sched_setaffinity(0, config.cores)
    try:
        print(json.dumps(measure(config)))
    except PocketQAError as error:
        sys.exit(one_line(error))
