"""Settings of a model's task: window lengths, decoding limits and thresholds, kept beside the weights in
qa.json.
"""

import json
import math
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from qa.base.cli import check_choice, check_exclusive, check_option
from qa.base.errors import BundleError, OptionError
from qa.base.help import Expert

Mode = Literal["answering", "balanced", "strict"]
MODE_HELP = """When to decline: answering (never), balanced (highest F1 where half of the questions
have no answer), or strict (at most 5 percent of the unanswerable held-out questions got an answer)."""
DEFAULT_MODE: Mode = "balanced"
# Keys that qa.json lacks where the model has no such setting.
OPTIONAL = ("strict_threshold", "calibration")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True)
class Calibration:
    """Scores to probabilities that hold, by one temperature and one offset (`qa.text.answers`)."""

    temperature: float
    offset: float

    def __post_init__(self) -> None:
        check_option(
            _is_number(self.temperature) and self.temperature > 0,
            "calibration: temperature",
            self.temperature,
            "a number above 0",
        )
        check_option(_is_number(self.offset), "calibration: offset", self.offset, "a finite number")


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
    strict_threshold: float | None = None
    """The same in mode strict; None where it was not tuned."""
    calibration: Calibration | None = None
    """None where probabilities are softmax scores, which are not calibrated."""

    def __post_init__(self) -> None:
        for name in ("max_length", "doc_stride", "max_question_length", "n_best", "max_answer_length"):
            check_option(type(getattr(self, name)) is int, f"{name}", getattr(self, name), "a whole number")
            check_option(getattr(self, name) >= 1, f"{name}", getattr(self, name), "at least 1")
        for name in ("null_threshold", "strict_threshold"):
            value = getattr(self, name)
            check_option(value is None or _is_number(value), name, repr(value), "a finite number or None")
        room = self.max_length - 5  # without [CLS], two or three separators and one token of context
        wanted = f"at least {self.max_question_length + 5}"
        wanted += f", or max_question_length at most {room}" if room > 0 else ""
        check_option(self.max_question_length <= room, "max_length", self.max_length, wanted)

    def in_mode(self, mode: Mode) -> "QASettings":
        """Return the settings with the no-answer threshold of a mode.

        OptionError when no strict threshold was tuned.
        """
        check_choice("mode", mode, get_args(Mode))
        if mode == "answering":
            return replace(self, null_threshold=None)
        if mode == "balanced":
            return self
        if self.strict_threshold is None:
            raise OptionError(
                "mode strict: the model has no strict threshold; "
                "python -m export.tune --model BUNDLE --data QUESTIONS.json adds one"
            )
        return replace(self, null_threshold=self.strict_threshold)

    def deciding(self, mode: Mode, null_threshold: float | None) -> "QASettings":
        """Return the settings with `null_threshold` where one is given, else with that of the mode.

        OptionError as `check_mode` and `in_mode`.
        """
        check_mode(mode, null_threshold)
        if null_threshold is None:
            return self.in_mode(mode)
        return replace(self, null_threshold=null_threshold)

    def save(self, path: Path) -> None:
        """Write as JSON."""
        path.write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Return the values by JSON key; what the model does not have has no key."""
        values = asdict(self)
        return {key: value for key, value in values.items() if value is not None or key not in OPTIONAL}

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> "QASettings":
        """Read back what `save` wrote; BundleError names `where` when it is something else."""
        try:
            values = json.loads(text)
            known = {f.name: values[f.name] for f in fields(cls) if f.name not in OPTIONAL}
            given = values.get("calibration")
            calibration = None if given is None else Calibration(given["temperature"], given["offset"])
            return cls(**known, strict_threshold=values.get("strict_threshold"), calibration=calibration)
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
            raise BundleError(f"{where}: not valid QA settings ({error!r}); make the bundle again") from None


def check_mode(mode: Mode, null_threshold: float | None) -> None:
    """Raise OptionError for a threshold and another mode than the default."""
    both = mode != DEFAULT_MODE and null_threshold is not None
    check_exclusive(both, f"--mode {mode}", "--null-threshold")


@dataclass(frozen=True, kw_only=True)
class WindowOptions:
    """Options of every stage that chooses how its model reads a passage."""

    max_length: Expert[int | None] = None
    """Longest window in tokens; by default that of the model to start from, for a new student that of its
    teacher. For an encoder to fine-tune 384; for a checkpoint too, or its positions where it has fewer."""
    doc_stride: Expert[int | None] = None
    """Step from one window of a long passage to the next, in tokens; by default likewise, 128."""
    max_question_length: Expert[int | None] = None
    """Longest question in tokens, the rest is truncated; by default likewise, 64."""
    max_answer_length: Expert[int | None] = None
    """Longest answer in tokens that the model may give; by default likewise, 30."""

    def lengths(self) -> dict[str, int]:
        """Return the lengths that were given."""
        lengths = {field.name: getattr(self, field.name) for field in fields(WindowOptions)}
        return {name: length for name, length in lengths.items() if length is not None}

    def window_settings(self, base: QASettings) -> QASettings:
        """Return `base` with the given lengths, without what was tuned for another model."""
        return replace(base, null_threshold=None, strict_threshold=None, calibration=None, **self.lengths())
