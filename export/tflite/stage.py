"""Options of `python -m export.tflite`."""

from collections.abc import Sequence
from dataclasses import dataclass

from export.options import ExportConfig, check_installed
from qa.base.cli import check_option
from qa.base.errors import OptionError
from qa.base.help import Expert
from qa.bundles.bundle import Bundle
from qa.formats.precision import INTEGER_BITS
from qa.formats.tflite import SHORT_LENGTHS
from qa.text.settings import QASettings

NEEDED_MODULES = ("litert_torch", "ai_edge_quantizer", "ai_edge_litert")


@dataclass(frozen=True)
class TFLiteConfig(ExportConfig):
    """Export a PyTorch bundle to TFLite, for LiteRT and for Android."""

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


def check_converter() -> None:
    """Raise OptionError when a package that converts is not installed."""
    check_installed("TFLite", NEEDED_MODULES)


def main(config: TFLiteConfig) -> Bundle:
    """Convert, quantize, compare with PyTorch, package, seal."""
    check_converter()
    from export.tflite.exporter import TFLiteExporter

    return TFLiteExporter(config).export()
