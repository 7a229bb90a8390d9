"""Options that several stages share."""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from distill.training.options import DistillationWeights, TrainingOptions
from qa.base.files import check_new_folder
from qa.base.help import Expert
from qa.text.settings import QASettings


def same_named(kind: Any, values: object) -> dict[str, Any]:
    """Return the attributes of `values` that the dataclass `kind` has fields for, by name."""
    names = [field.name for field in fields(kind)]
    return {name: getattr(values, name) for name in names if hasattr(values, name)}


@dataclass(frozen=True, kw_only=True)
class TrainingFlags:
    """Options of every stage that trains."""

    data: str = "embedded"
    """Training questions: embedded (ships with the project), squad or squad_v2 (downloaded), or a file: SQuAD
    JSON, JSON lines, CSV, TSV or Parquet."""
    eval_data: str | None = None
    """Questions to score the result on; by default the dev part of a named --data, nothing for a file."""
    precision: Expert[str] = "auto"
    """bf16 (autocast), fp32, or auto: bf16 where the GPU, or without one the CPU, computes in it, else fp32.
    """
    optimizer: Expert[str] = "adamw"
    """adamw, or adafactor (less memory; transformers' settings for fine-tuning, published for rates of about
    1e-3)."""
    seed: Expert[int] = 0
    """Seed of fresh weights, of chosen windows, batches and dropout."""
    resume: bool = False
    """Continue an interrupted run of the same --out."""

    def options(self, **others: float) -> TrainingOptions:
        """Return the options of the training loop: the flags with their names; `others` replace some."""
        return TrainingOptions(**(same_named(TrainingOptions, self) | others))


@dataclass(frozen=True, kw_only=True)
class WindowFlags:
    """Options of every stage that chooses how its model reads a passage."""

    max_length: Expert[int | None] = None
    """Longest window in tokens; by default that of the model to start from, 384 for an encoder."""
    doc_stride: Expert[int | None] = None
    """Step from one window of a long passage to the next, in tokens; by default likewise, 128."""
    max_question_length: Expert[int | None] = None
    """Longest question in tokens, the rest is truncated; by default likewise, 64."""

    def window_settings(self, base: QASettings) -> QASettings:
        """Return `base` with the given lengths, without what was tuned for another model."""
        names = ("max_length", "doc_stride", "max_question_length")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return replace(base, null_threshold=None, strict_threshold=None, calibration=None, **given)


@dataclass(frozen=True, kw_only=True)
class DistillationFlags(TrainingFlags):
    """Options of every stage that trains a model against a teacher."""

    alpha: Expert[float] = 0.1
    """Weight of the gold answers; the teacher's distribution gets 1 - alpha."""
    temperature: Expert[float] = 4.0
    """Temperature of both distributions in the soft loss."""
    hidden_weight: Expert[float] = 10.0
    """Weight of the hidden-state loss; 0 leaves it out, and teacher logits are then read from the cache."""
    cache: Expert[Path] = Path("runs/cache")
    """Folder for cached teacher logits, shared by all runs."""

    def weights(self) -> DistillationWeights:
        """Return the weights of the loss, checked."""
        return DistillationWeights(self.alpha, self.temperature, self.hidden_weight)

    def check_cache(self) -> None:
        """Raise OptionError when teacher logits could not be cached, before a teacher is trained."""
        if self.hidden_weight == 0:
            check_new_folder(self.cache, "--cache")
