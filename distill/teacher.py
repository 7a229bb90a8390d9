"""A teacher bundle in distillation: its model, loaded once, for a student's windows."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from accelerate import Accelerator
from tokenizers import Tokenizer

from distill.student import check_same_width, same_tokens
from distill.training.alignment import Alignment
from distill.training.precision import resolve_precision
from distill.training.teacher_logits import Teacher, TeacherLogits, cache_key
from qa.base.errors import OptionError
from qa.bundles.bundle import Bundle
from qa.data.squad import Example
from qa.models.model import QAModel
from qa.text.features import Window


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

    def check_hidden_states(self, student: QAModel, weight: float) -> None:
        """Raise OptionError unless the hidden states of both can be compared token by token."""
        if self.aligned:
            raise OptionError(
                f"--hidden-weight {weight}: the teacher {self.bundle.path} has another tokenizer than the "
                "student; give --hidden-weight 0"
            )
        check_same_width(self.model, student, weight)

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
