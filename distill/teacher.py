"""A teacher bundle in distillation: its model, loaded once, for a student's windows."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import torch
from accelerate import Accelerator
from tokenizers import Tokenizer

from distill.student import check_hidden_states, same_tokens
from distill.training.alignment import Alignment
from distill.training.precision import resolve_precision
from distill.training.teacher_logits import Teacher, TeacherLogits, cache_key
from qa.base.errors import OptionError
from qa.bundles.bundle import Bundle
from qa.data.squad import Example
from qa.models.model import QAModel, read_config
from qa.text.features import Window
from qa.text.settings import QASettings


class TeacherBundle:
    """A teacher for the windows of a student with `tokenizer`, which were cut from `examples`."""

    def __init__(
        self, bundle: Bundle, tokenizer: Tokenizer, examples: list[Example], model: QAModel | None = None
    ) -> None:
        """Take the bundle's model in `model` where it is loaded already."""
        self.bundle = bundle
        self.aligned = [] if same_tokens(bundle.tokenizer, tokenizer) else examples
        """The examples where the teacher has another tokenizer, else none."""
        if model is not None:
            self.model = model

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
        """Raise OptionError unless hidden states can be compared token by token where `weight` is above 0."""
        if weight > 0:
            check_hidden_states(self.model, student, not self.aligned, weight)

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
