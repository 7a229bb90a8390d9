"""Steps of every stage that trains: reading the questions, distilling, saving the model as a bundle."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor, nn

from distill.derive import save_bundle
from distill.teacher import TeacherBundle
from distill.training.objectives import Distillation
from distill.training.options import DistillationWeights, TrainingOptions
from distill.training.trainer import AfterStep, Trainer, make_accelerator
from qa.base.files import file_sha256, write_whole
from qa.bundles.bundle import Bundle
from qa.bundles.manifest import FileReference
from qa.data.datasets import EMBEDDED, SQUAD_FILES, check_not_dev, data_reference, resolve
from qa.data.squad import Example, read_squad
from qa.evaluation.scores import EvalData, load_eval
from qa.evaluation.threshold import hold_out, read_held_out, save_held_out, too_few
from qa.formats.registry import ADAPTER
from qa.models.model import QAModel
from qa.text.features import Window
from qa.text.settings import QASettings


@dataclass(frozen=True)
class DataSplits:
    """Questions to train on, questions held out of them for the threshold, and questions to score on."""

    train: list[Example]
    held_out: list[Example]
    eval: EvalData | None
    train_file: Path


def load_splits(
    data: str, eval_data: str | None, parent: Bundle | None, *, unlabelled: bool = False
) -> DataSplits:
    """Read and check all data before anything is trained.

    A named data set is scored on its own dev part by default. What `parent`, the model that is trained
    further, holds out is held out again. `unlabelled` allows questions without a label.
    """
    if eval_data is None and data in (EMBEDDED, *SQUAD_FILES):
        eval_data = data
    train_file = resolve(data, "train")
    check_not_dev(train_file, "--data")
    before = read_held_out(parent.path) if parent else []
    train, held_out = hold_out(read_squad(train_file, unlabelled=unlabelled), before)
    return DataSplits(train, held_out, load_eval(eval_data), train_file)


@dataclass(frozen=True)
class Start:
    """A model before it is trained."""

    model: QAModel
    tokenizer: Path
    """Folder of its tokenizer."""
    settings: QASettings
    """Settings of its windows."""
    parent: Bundle | None
    """The bundle that is trained further, if any."""
    sha256: str | None
    """Hash of the parent, or of the encoder's weights; None for a student made from its teacher."""
    encoder: FileReference | None = None
    """The pre-trained encoder, where all that training changes of it can be an adapter."""
    adapter: Mapping[str, Tensor] | None = None
    """Values that LoRA starts from."""


def disable_attention_dropout(model: QAModel) -> None:
    """Set attention dropout to 0 in place.

    It needs (B, heads, T, T) arrays, which halve the speed, and no gain in F1 was measured.
    """
    for parts in model.encoder.layer_parts():
        parts.attention_dropout.p = 0.0


def disable_dropout(model: QAModel) -> None:
    """Set all dropout to 0 in place."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0


def distillation_trainer(
    student: QAModel,
    teacher: TeacherBundle,
    windows: Sequence[Window],
    data: Path,
    *,
    options: TrainingOptions,
    weights: DistillationWeights,
    cache: Path,
    work: Path,
    name: str,
    depends_on: dict[str, Any] | None = None,
    after_step: AfterStep | None = None,
) -> Trainer:
    """Return a trainer that distils `teacher` into `student` on `windows`, cut from the file `data`.

    A checkpoint is continued only with the same teacher, data, loss and `depends_on`. The student learns
    without dropout, whose noise would bias the logits and states that it is to match. Attention then needs
    no (B, heads, T, T) array either, which halves the memory of a step.
    """
    disable_dropout(student)
    depends_on = {
        "teacher": teacher.bundle.sha256,
        "data": file_sha256(data),
        "loss": asdict(weights),
        **(depends_on or {}),
    }
    accelerator = make_accelerator(options.precision)
    # Hidden states are not kept: with them the teacher runs each time, and needs no room for its logits.
    kept_in = None if weights.hidden_weight > 0 else cache
    loss = Distillation(teacher.logits(windows, kept_in, options.precision, accelerator), weights)
    return Trainer(
        student,
        windows,
        loss,
        options,
        work,
        name,
        depends_on,
        accelerator=accelerator,
        after_step=after_step,
    )


def save_model(
    model: QAModel,
    out: Path,
    splits: DataSplits,
    *,
    stage: str,
    config: Any,
    tokenizer: Path,
    parent: Bundle | None,
    settings: QASettings,
    adapter: Mapping[str, Tensor] | None = None,
    **facts: Any,
) -> Bundle:
    """Write a trained model as a bundle, with its scores and, for unanswerable questions, its no-answer
    threshold; with the `adapter` of LoRA in a file of its own.

    `config` is the stage's dataclass, `tokenizer` the folder of the tokenizer, `facts` more for the manifest.
    `settings` are those of the training windows; their threshold stays where there is nothing to tune one on.
    Where the held-out questions are too few, the parent's threshold stays, and a line on stderr says so.
    """

    def add_files(folder: Path) -> None:
        save_held_out(splits.held_out, folder)
        if adapter:
            tensors = {name: tensor.cpu().contiguous() for name, tensor in adapter.items()}
            write_whole(folder / ADAPTER, save(tensors, {"format": "pt"}))

    facts = {
        "precision": "fp32",
        "stage": stage,
        "config": asdict(config),
        "training_data": data_reference(splits.train_file),
        "parent": parent.reference() if parent else None,
        "ancestors": parent.lineage() if parent else [],
        "parameters": asdict(model.count_parameters()),
        **facts,
    }
    return save_bundle(
        model,
        out,
        facts,
        tokenizer=tokenizer,
        settings=keep_threshold(settings, parent, splits.held_out),
        add_files=add_files,
        eval_data=splits.eval,
    )


def keep_threshold(settings: QASettings, parent: Bundle | None, held_out: list[Example]) -> QASettings:
    """Return settings with the parent's threshold where `held_out` cannot give one; say so on stderr."""
    had_threshold = parent is not None and parent.settings.null_threshold is not None
    if not held_out:
        if had_threshold and settings.null_threshold is None:
            print(
                "no-answer threshold: none, as no questions were held out to tune it on; tune one with "
                "python -m export.tune",
                file=sys.stderr,
            )
        return settings
    why_not = too_few(held_out)
    if not why_not:
        return settings
    if parent is None or not had_threshold:
        check = "it was tuned on these all the same, so check it with python -m qa.evaluate"
        print(f"held out: {why_not}; {check}", file=sys.stderr)
        return settings
    inherited = parent.settings
    stays = f"that of {parent.path} stays: {inherited.null_threshold:.4g}"
    print(f"held out: {why_not}; {stays}", file=sys.stderr)
    return replace(
        settings,
        null_threshold=inherited.null_threshold,
        strict_threshold=inherited.strict_threshold,
        calibration=inherited.calibration,
    )


def without_autocast(model: QAModel) -> QAModel:
    """Return the same model without the bf16 autocast that training leaves on it."""
    copied = QAModel.from_config(model.config())
    copied.load_state_dict(model.state_dict())
    return copied.eval()


def summary(bundle: Bundle) -> str:
    """Return one line about a finished bundle: parameters, and scores where it has some."""
    line = f"{bundle.path}: {bundle.manifest.parameters}"
    if scores := bundle.manifest.scores:
        on = f"{scores.total} questions of {scores.data.name}"
        line += f", EM {scores.exact:.2f}, F1 {scores.f1:.2f} on {on}"
    return line
