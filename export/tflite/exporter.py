"""Export to TFLite, with a package for phones."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from export.android.package import append_package, describe, vocabulary_lines
from export.calibration import calibration_windows
from export.embeddings import bytes_saved
from export.exporter import Exporter
from export.tflite.convert import CALIBRATION_WINDOWS, convert_to
from export.tflite.integers import check_integers
from export.tflite.stage import TFLiteConfig
from export.tflite.structure import check_structure, read_structure
from qa.base.cli import check_option
from qa.bundles.bundle import PROBE, ModelFolder
from qa.formats.precision import PRECISIONS
from qa.formats.registry import FORMATS
from qa.formats.tflite import SHORT_LENGTHS, signature_name
from qa.models.model import QAModel
from qa.runtime.engines import LiteRTRuntime
from qa.runtime.runtimes import Runtime
from qa.text.settings import QASettings


def window_lengths(lengths: Sequence[int] | None, settings: QASettings) -> tuple[int, ...]:
    """Return the lengths to export, by default those that fit the model.

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


def probe_lengths(lengths: Sequence[int]) -> list[int]:
    """Return the tokens of a probe window for each signature: too many for the next shorter, and padding."""
    return [longer - (longer - shorter) // 4 for shorter, longer in pairwise((0, *lengths))]


class TFLiteExporter(Exporter):
    """Export to a .tflite with one signature for each window length."""

    format = "tflite"

    def __init__(self, config: TFLiteConfig) -> None:
        super().__init__(config)
        self.lengths = window_lengths(config.lengths, self.parent.settings)

    def check(self, model: QAModel) -> None:
        """Raise UnsupportedExport for an architecture or a tokenizer that a packaged file cannot hold."""
        model.encoder.check_tflite()
        self.tokens = vocabulary_lines(self.parent)
        self.info = describe(self.parent, self.precision, self.lengths)

    def probe_lengths(self) -> Sequence[int]:
        """Return a number of tokens for each signature."""
        return probe_lengths(self.lengths)

    def write(self, model: QAModel, folder: Path) -> dict[str, Any]:
        """Write model.tflite without its package."""
        n_windows = CALIBRATION_WINDOWS if PRECISIONS[self.precision].quantized_activations else 0
        windows = calibration_windows(self.parent, n_windows)
        converted = convert_to(model, self.precision, self.lengths, windows)
        structure = read_structure(converted.file)
        words = model.encoder.words
        check_structure(
            structure,
            converted.fp32_bytes + bytes_saved(words),
            self.precision,
            [signature_name(length) for length in self.lengths],
            words,
            converted.n_products,
        )
        check_integers(self.parent, words, converted.file, self.precision)
        (folder / FORMATS["tflite"].weights).write_bytes(converted.file.to_bytes())
        return structure.facts()

    def package(self, folder: Path, settings: QASettings) -> None:
        """Append to model.tflite what a phone needs beside it."""
        info = {**self.info, "settings": settings.to_dict()}
        probe = (folder / PROBE).read_text(encoding="utf-8")
        append_package(folder / FORMATS["tflite"].weights, info, self.tokens, probe)

    def other_runtimes(self, model: ModelFolder, threads: int) -> Sequence[Runtime]:
        """Return LiteRT with its own kernels, as phones compute on which XNNPACK fails."""
        return [LiteRTRuntime(model.weights, threads, xnnpack=False)]
