"""Options of the exports and of the page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import arg

from qa.base.cli import check_choice, check_exclusive, check_option
from qa.base.errors import OptionError
from qa.base.help import Expert
from qa.formats.precision import INTEGER_BITS, PRECISIONS, TABLE_FORMS
from qa.formats.tflite import SHORT_LENGTHS
from qa.text.settings import QASettings


def shares_in_words(shares: Mapping[str, float]) -> str:
    """Return a share, or where formats differ, the share of each."""
    if len(set(shares.values())) == 1:
        return f"{next(iter(shares.values())):g}"
    return ", ".join(f"{share:g} ({name})" for name, share in shares.items())


NOT_IN_ONNX = ", ".join(name for name, precision in PRECISIONS.items() if "onnx" not in precision.formats)
QUANTIZE_HELP = f"""Precision of the file:
{"; ".join(f"{name}, {p.in_words}" for name, p in PRECISIONS.items())}.
Not in ONNX:
{NOT_IN_ONNX}."""
EMBEDDINGS_HELP = f"""Form of the word embeddings in {" and ".join(INTEGER_BITS)}:
{", ".join(TABLE_FORMS)} (product quantization:
a byte for so many values). By default as the weights, or as the model's own embedding table is compressed."""
SPANS_HELP = f"""Least share of real windows whose best span equals PyTorch's; below it nothing is written.
By default {"; ".join(f"in {name} {shares_in_words(p.equal_spans)}" for name, p in PRECISIONS.items())}."""


@dataclass(frozen=True)
class ExportOptions:
    """Export a PyTorch bundle."""

    format: ClassVar[str]
    """Name of the format, a key of FORMATS."""

    model: Path | None = None
    """PyTorch bundle to export, or a transformers checkpoint (folder or hub name); by default the demo's
    newest student, or the shipped student where there is none."""
    out: Path | None = None
    """Bundle to create; by default beside the model, for a shipped model in runs, named after runtime and
    precision."""
    quantize: Annotated[str, arg(help=QUANTIZE_HELP)] = "fp32"
    embeddings: Annotated[str | None, arg(help=EMBEDDINGS_HELP)] = None
    null_threshold: Expert[float | None] = None
    """No-answer threshold: there is no answer where null score - best score exceeds it. `qa.evaluate --json`
    finds one for your own questions (best_f1_thresh); by default it is searched on held-out training
    questions, unless `export.tune` tuned the model. The strict threshold and the probabilities are tuned as
    without it."""
    tune_threshold: Path | None = None
    """Questions to tune the no-answer thresholds on, some without an answer, instead of the held-out ones of
    the model: a file of SQuAD JSON or records."""
    min_equal_spans: Annotated[float | None, arg(help=SPANS_HELP)] = None
    eval_data: str | None = None
    """Questions to score the file on, for its card, and to compare it with PyTorch on where the model holds
    out none: embedded, everyday, squad, squad_v2, or a file of questions."""

    def __post_init__(self) -> None:
        check_choice("--quantize", self.quantize, PRECISIONS)
        formats = PRECISIONS[self.quantize].formats
        if self.format not in formats:
            having = " and ".join(formats)
            raise OptionError(f"--quantize {self.quantize} is for {having} only, not for {self.format}")
        if self.embeddings is not None:
            check_choice("--embeddings", self.embeddings, TABLE_FORMS)
            if self.quantize not in INTEGER_BITS:
                wanted = f"--quantize {' or '.join(INTEGER_BITS)}, not with {self.quantize}"
                raise OptionError(f"--embeddings {self.embeddings} goes with {wanted}")
        is_share = self.min_equal_spans is None or 0 <= self.min_equal_spans <= 1
        check_option(is_share, "--min-equal-spans", self.min_equal_spans, "from 0 to 1")
        both = self.null_threshold is not None and self.tune_threshold is not None
        check_exclusive(both, "--null-threshold", "--tune-threshold")
        is_number = self.null_threshold is None or math.isfinite(self.null_threshold)
        check_option(is_number, "--null-threshold", self.null_threshold, "a finite number")


@dataclass(frozen=True)
class OnnxOptions(ExportOptions):
    """Export a PyTorch bundle to ONNX, for ONNX Runtime."""

    format = "onnx"


@dataclass(frozen=True)
class TFLiteOptions(ExportOptions):
    """Export a PyTorch bundle to TFLite, for LiteRT and for Android."""

    format = "tflite"

    lengths: Expert[tuple[int, ...] | None] = None
    """Lengths of fixed signatures, ascending; the last is the model's longest. By default one graph takes
    every length, or, where a model has no such graph, 128, 192, 256 and the longest."""
    max_drop: float | None = None
    """Most points of F1 that int8 or int4 may cost on --eval-data: layers go back to fp32, most sensitive
    first, until this holds, or the export fails."""
    sensitivity: Expert[bool] = False
    """Print F1 on --eval-data and the difference from PyTorch with each layer alone in fp32."""

    def __post_init__(self) -> None:
        super().__post_init__()
        can_score = self.eval_data is not None and self.quantize in INTEGER_BITS
        if (self.max_drop is not None or self.sensitivity) and not can_score:
            flag = "--sensitivity" if self.max_drop is None else "--max-drop"
            precisions = " or ".join(INTEGER_BITS)
            raise OptionError(f"{flag} needs --quantize {precisions}, and questions in --eval-data")
        is_loss = self.max_drop is None or 0 <= self.max_drop < float("inf")
        check_option(is_loss, "--max-drop", self.max_drop, "at least 0 and finite")
        if self.lengths is not None:
            is_ascending = list(self.lengths) == sorted(set(self.lengths))
            check_option(
                bool(self.lengths) and is_ascending and self.lengths[0] > 0,
                "--lengths",
                self.lengths,
                "positive numbers in ascending order, each once",
            )


def window_lengths(lengths: Sequence[int] | None, settings: QASettings) -> tuple[int, ...]:
    """Return the lengths of signatures or of the probe's windows, by default those that fit the model.

    OptionError when chosen `lengths` do not suit the model's settings.
    """
    shortest = settings.max_question_length + 4  # [CLS], two [SEP] and one token of context
    longest = settings.max_length
    if lengths is None:
        return (*(n for n in SHORT_LENGTHS if shortest <= n < longest), longest)
    check_option(lengths[0] >= shortest, "--lengths", lengths, f"at least {shortest}, for a long question")
    check_option(
        lengths[-1] == longest, "--lengths", lengths, f"ending in {longest}, the model's longest window"
    )
    return tuple(lengths)


@dataclass(frozen=True)
class WebOptions:
    """Publish a page that answers in the browser."""

    model: Path
    """TFLite bundle that the page opens by itself."""
    out: Path
    """Folder to create. An earlier page there is replaced if it is as it was published; any other folder is
    refused."""
