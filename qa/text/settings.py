"""Settings of a model's task: window lengths and decoding limits, kept beside the weights in qa.json."""

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from qa.base.cli import check_option
from qa.base.errors import BundleError


@dataclass(frozen=True)
class QASettings:
    """Window and answer settings. Lengths are in tokens; the defaults are BERT's for SQuAD."""

    max_length: int = 384
    """Longest window, with [CLS], question, [SEP], context and [SEP]."""
    doc_stride: int = 128
    """Step from one window of a long passage to the next (a step, not an overlap)."""
    max_question_length: int = 64
    """Longest question; the rest is truncated."""
    n_best: int = 20
    """Answers kept for each question, and start and end positions considered in each window."""
    max_answer_length: int = 30
    """Longest answer, in tokens."""
    null_threshold: float | None = None
    """Leave a question unanswered when null score - best score exceeds this; None always answers."""

    def __post_init__(self) -> None:
        for name in ("max_length", "doc_stride", "max_question_length", "n_best", "max_answer_length"):
            check_option(type(getattr(self, name)) is int, f"{name}", getattr(self, name), "a whole number")
            check_option(getattr(self, name) >= 1, f"{name}", getattr(self, name), "at least 1")
        threshold = self.null_threshold
        number = threshold is None or (type(threshold) in (int, float) and math.isfinite(threshold))
        check_option(number, "null_threshold", threshold, "a finite number or null")
        wanted = self.max_question_length + 5  # with [CLS], two or three separators and one token of context
        check_option(self.max_length >= wanted, "max_length", self.max_length, f"at least {wanted}")

    def save(self, path: Path) -> None:
        """Write as JSON."""
        path.write_text(self.to_json(), encoding="utf-8")

    def to_json(self) -> str:
        """Return the text that `save` writes."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> "QASettings":
        """Read back what `save` wrote; BundleError names `where` when it is something else."""
        try:
            values = json.loads(text)
            return cls(**{f.name: values[f.name] for f in fields(cls)})
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise BundleError(f"{where}: not valid QA settings ({error!r}); make the bundle again") from None
