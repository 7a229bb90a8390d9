"""A teacher bundle in distillation: its model, loaded once, for a student's windows; training on it."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from tokenizers import Tokenizer

from distill.data import DataSplits
from distill.options import DistillationOptions
from distill.student import disable_dropout, same_tokens
from distill.training.alignment import Alignment
from distill.training.objectives import Distillation, supervised
from distill.training.precision import resolve_precision
from distill.training.teacher_logits import Teacher, TeacherLogits, cache_key
from distill.training.trainer import AfterStep, LossFunction, Trainer, make_accelerator
from qa.base.errors import OptionError
from qa.bundles.bundle import Bundle
from qa.data.squad import Example
from qa.models.model import QAModel, read_config
from qa.text.features import Window
from qa.text.settings import QASettings


class TeacherBundle:
    """A teacher, which reads the windows of a student."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.aligned: list[Example] = []
        """The examples of the student's windows where the teacher has another tokenizer, else none."""

    def read(self, tokenizer: Tokenizer, examples: list[Example]) -> None:
        """Prepare for windows that the student's `tokenizer` cuts from `examples`."""
        self.aligned = [] if same_tokens(self.bundle.tokenizer, tokenizer) else examples

    @cached_property
    def model(self) -> QAModel:
        """The teacher's model, loaded when first used."""
        return QAModel.from_pretrained(self.bundle.path)

    def check_windows(self, settings: QASettings) -> None:
        """Raise OptionError unless it has positions for the student's windows; no weights are loaded.

        With a tokenizer of its own it makes windows of its own.
        """
        if self.aligned:
            return
        with torch.device("meta"):
            n_positions = QAModel.from_config(read_config(self.bundle.path)).encoder.max_length
        if settings.max_length > n_positions:
            raise OptionError(
                f"--teacher {self.bundle.path}: has positions for {n_positions} tokens, fewer than the "
                f"{settings.max_length} of the student's windows; give another teacher"
            )

    def check_hidden_states(self, student: QAModel, weight: float) -> None:
        """Raise OptionError where `weight` is above 0 and hidden states cannot be compared token by token."""
        if weight == 0:
            return
        ours = student.encoder
        theirs = self.model.encoder
        reason = ""
        if self.aligned:
            reason = "the teacher has another tokenizer than the student"
        elif not (ours.layers and theirs.layers):
            reason = "a standalone model has no layers to compare"
        elif ours.hidden_size != theirs.hidden_size:
            reason = f"student is {ours.hidden_size} wide and teacher {theirs.hidden_size}"
        elif getattr(theirs.config, "normalization_type", "") == "no_norm":
            reason = "the teacher's states are not normalized, so they would outweigh all other losses"
        if reason:
            raise OptionError(f"--hidden-weight {weight}: {reason}; give --hidden-weight 0")

    def reader(self, windows: Sequence[Window]) -> Teacher:
        """Return the teacher as it reads the student's windows."""
        if not self.aligned:
            return Teacher(self.model)
        most = self.bundle.settings.max_question_length
        tokenizer = self.bundle.tokenizer
        alignment = Alignment(self.aligned, windows, tokenizer, self.model.encoder.max_length, most)
        return Teacher(self.model, alignment)

    def logits(
        self, windows: Sequence[Window], cache: Path | None, precision: str, accelerator: Accelerator
    ) -> TeacherLogits:
        """Return the teacher's logits for these windows, kept in a folder of `cache` where it is given."""
        folder = None
        if cache is not None:
            folder = cache / cache_key(self.bundle, windows, resolve_precision(precision), self.aligned)
        return TeacherLogits(lambda: self.reader(windows), windows, folder, accelerator)


def distillation_trainer(
    student: QAModel,
    teacher: TeacherBundle,
    windows: Sequence[Window],
    splits: DataSplits,
    options: DistillationOptions,
    work: Path,
    name: str,
    depends_on: dict[str, Any],
    after_step: AfterStep | None = None,
) -> Trainer:
    """Return a trainer that distils `teacher` into `student` on the windows of `splits`.

    The teacher does not run where only the gold answers count. A checkpoint is continued only with the same
    teacher, data, loss and `depends_on`. The student learns without dropout, whose noise would bias the
    logits and states that it is to match. Attention then needs no (B, heads, T, T) array either, which halves
    the memory of a step.
    """
    disable_dropout(student)
    weights = options.weights()
    depends_on = {
        "teacher": teacher.bundle.sha256,
        "data": splits.train_data.sha256,
        "loss": asdict(weights),
        **depends_on,
    }
    training = options.training()
    accelerator = make_accelerator(training.precision)
    # Hidden states are not kept: with them the teacher runs each time, and needs no room for its logits.
    kept_in = None if weights.hidden_weight > 0 else options.cache
    if weights.gold_only:
        loss: LossFunction = supervised
    else:
        loss = Distillation(teacher.logits(windows, kept_in, training.precision, accelerator), weights)
    return Trainer(
        student,
        windows,
        loss,
        training,
        work,
        name,
        depends_on,
        accelerator=accelerator,
        after_step=after_step,
    )
