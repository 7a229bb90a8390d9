"""One case of benchmarks.training_speed in its own process: train some steps and print one JSON object.

All cases see the same windows. Fine-tuning has a linear head, distillation the teacher's head. The setup of
transformers' Trainer is the default of its question-answering example: every window is padded to the longest,
and the model has the same architecture, a linear head and fresh weights. The example also has dropout in
attention's weights, which our stages leave out; extra cases measure its cost.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.measure.conditions import this_host
from benchmarks.measure.plan import sample_windows
from benchmarks.measure.worker import resident_mb
from benchmarks.training_speed import (
    CASES,
    SUPERVISED,
    TEACHER_CACHED,
    TEACHER_EACH_STEP,
    Case,
    TrainingConfig,
)
from distill.student import student_from_layers
from distill.training.batches import to_tensors
from distill.training.objectives import Distillation, supervised
from distill.training.options import DistillationWeights, TrainingOptions
from distill.training.teacher_logits import Teacher, TeacherLogits
from distill.training.trainer import LossFunction, Trainer, make_accelerator
from qa.base.cli import check_option, fail
from qa.base.errors import OptionError, PocketQAError
from qa.bundles.bundle import open_bundle
from qa.data.datasets import resolve
from qa.data.squad import read_squad
from qa.models.model import QAModel
from qa.text.features import Window, make_windows

WARMUP_STEPS = 2
LEARNING_RATE = 1e-5
TEMPERATURE = 4.0
AfterStep = Callable[[int, int], None]


def check_plan(config: TrainingConfig) -> None:
    """Raise OptionError for what no case can do: too many layers, too few windows."""
    n_layers = len(QAModel.from_pretrained(config.teacher).encoder.layers)
    wanted = f"at most the teacher's {n_layers}"
    check_option(config.student_layers <= n_layers, "--student-layers", config.student_layers, wanted)
    chosen_windows(config)


def chosen_windows(config: TrainingConfig) -> list[Window]:
    """Return the windows of the steps, their lengths distributed as in the data. OptionError when too few."""
    bundle = open_bundle(config.teacher, format="pytorch")
    windows = make_windows(read_squad(resolve(config.data, "train")), bundle.tokenizer, bundle.settings)
    n = config.batch_size * (WARMUP_STEPS + config.steps)
    if len(windows) < n:
        raise OptionError(
            f"--data {config.data}: has {len(windows)} windows, {n} are needed; give fewer --steps"
        )
    return sample_windows(windows, n)


def widened(batch: Mapping[str, Tensor], length: int) -> dict[str, Tensor]:
    """Pad every (B, T) tensor to (B, length)."""
    return {
        name: functional.pad(tensor, (0, length - tensor.shape[1])) if tensor.ndim == 2 else tensor
        for name, tensor in batch.items()
    }


def padded(loss: LossFunction, length: int) -> LossFunction:
    """Return the loss on batches of which every window is padded to `length`."""

    def on_padded(model: nn.Module, batch: dict[str, Tensor], indices: np.ndarray) -> dict[str, Tensor]:
        return loss(model, widened(batch, length), indices)

    return on_padded


def set_dropout(model: QAModel, case: Case) -> None:
    """Give a model the dropout of a case, in place."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = case.hidden_dropout
    for parts in model.encoder.layer_parts():
        parts.attention_dropout.p = case.attention_dropout


def train_here(config: TrainingConfig, case: Case, work: Path, after_step: AfterStep) -> tuple[str, str]:
    """Train with the project's Trainer; return its package and version."""
    windows = chosen_windows(config)
    teacher = QAModel.from_pretrained(config.teacher)
    head = "linear" if case.objective == SUPERVISED else None
    student = student_from_layers(teacher, config.student_layers, head)
    set_dropout(student, case)
    options = TrainingOptions(
        LEARNING_RATE, config.batch_size, 1, precision=case.precision, checkpoint_minutes=1e6
    )
    accelerator = make_accelerator(case.precision)
    loss: LossFunction = supervised
    if case.objective == SUPERVISED:
        del teacher  # fine-tuning does not need its weights
    else:
        weights = DistillationWeights(0.1, TEMPERATURE, 10.0 if case.objective == TEACHER_EACH_STEP else 0.0)
        logits = TeacherLogits(lambda: Teacher(teacher), windows, work / "cache", accelerator)
        if case.objective == TEACHER_CACHED:
            for first in range(0, len(windows), config.batch_size):
                indices = np.arange(first, min(first + config.batch_size, len(windows)))
                logits(to_tensors([windows[i] for i in indices]), indices)
        loss = Distillation(logits, weights)
    if not case.bucketed:
        loss = padded(loss, open_bundle(config.teacher).settings.max_length)
    name = config.cases[0]
    trainer = Trainer(
        student, windows, loss, options, work, name, accelerator=accelerator, after_step=after_step
    )
    trainer.train()
    return "torch", torch.__version__


def train_with_transformers(
    config: TrainingConfig, case: Case, work: Path, after_step: AfterStep
) -> tuple[str, str]:
    """Train with transformers' Trainer and question-answering model; return its package and version."""
    import transformers

    windows = chosen_windows(config)
    student = student_from_layers(QAModel.from_pretrained(config.teacher), config.student_layers, "linear")
    architecture = student.encoder.config
    architecture.hidden_dropout_prob = case.hidden_dropout
    architecture.attention_probs_dropout_prob = case.attention_dropout
    model = transformers.AutoModelForQuestionAnswering.from_config(architecture)
    del student  # the Trainer does not need its weights
    columns = widened(to_tensors(windows), open_bundle(config.teacher).settings.max_length)
    del columns["valid"]
    examples = [{name: tensor[row] for name, tensor in columns.items()} for row in range(len(windows))]

    class Callback(transformers.TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            after_step(state.global_step, state.max_steps)

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
        callbacks=[Callback()],
    )
    trainer.train()
    return "transformers", transformers.__version__


def measure(config: TrainingConfig) -> dict[str, Any]:
    """Train the first of --cases: windows_per_s, peak_memory_mb (on a GPU that of its tensors), runtime."""
    case = CASES[config.cases[0]]
    ends: dict[int, float] = {}

    def after_step(n_done: int, n_steps: int) -> None:
        ends[n_done] = time.perf_counter()

    train = train_with_transformers if case.transformers else train_here
    with tempfile.TemporaryDirectory() as folder:
        runtime = train(config, case, Path(folder), after_step)
    seconds = ends[WARMUP_STEPS + config.steps] - ends[WARMUP_STEPS]
    on_gpu = torch.cuda.is_available()
    peak = torch.cuda.max_memory_allocated() / 1e6 if on_gpu else resident_mb("VmHWM")
    return {
        "windows_per_s": config.batch_size * config.steps / seconds,
        "peak_memory_mb": None if peak is None else round(peak, 1),
        "runtime": runtime,
    }


def read_config(text: str) -> TrainingConfig:
    """Read the JSON of `benchmarks.training_speed.measure_case`."""
    return msgspec.json.decode(text, type=TrainingConfig, dec_hook=lambda kind, value: kind(value))


if __name__ == "__main__":
    config = read_config(sys.argv[1])
    os.sched_setaffinity(0, this_host().cores_for(config.threads))
    try:
        print(json.dumps(measure(config)))
    except PocketQAError as error:
        fail(error)
