"""Export to TFLite, with a package for phones where the tokenizer fits in one."""

import importlib.util
import sys
from collections.abc import Collection, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from export.android.package import append_package, describe, vocabulary_lines
from export.exporter import Exporter
from export.options import TFLiteOptions, window_lengths
from export.tflite import convert as conversion
from export.tflite.file import TFLiteFile
from export.tflite.integers import check_integers
from export.tflite.passes.any_length import OneLength
from export.tflite.passes.compact import compact
from export.tflite.passes.lookups import look_up_bytes
from export.tflite.quantize import quantize
from export.tflite.sensitivity import Sensitivity, linears_by_layer
from export.tflite.structure import check_structure, read_structure
from qa.base.errors import OptionError, UnsupportedExport
from qa.bundles import manifest
from qa.bundles.bundle import PROBE, Bundle, ModelFolder
from qa.formats.package import any_length_signature, fixed_signatures
from qa.formats.registry import FORMATS
from qa.models.model import QAModel
from qa.runtime.engines import LiteRTRuntime
from qa.runtime.package import read_package
from qa.runtime.runtimes import Runtime
from qa.text.settings import QASettings


def probe_lengths(lengths: Sequence[int]) -> list[int]:
    """Return the tokens of a probe window for each signature: too many for the next shorter, and padding."""
    return [longer - (longer - shorter) // 4 for shorter, longer in pairwise((0, *lengths))]


CONVERTERS = ("litert_torch", "ai_edge_quantizer", "ai_edge_litert")


def export(options: TFLiteOptions) -> Bundle:
    """Convert, quantize, compare with PyTorch, package, seal. OptionError where a converter is missing."""
    check_converters()
    return TFLiteExporter(options).export()


def check_converters() -> None:
    """Raise OptionError, before minutes of work, where a converter is missing."""
    missing = [name for name in CONVERTERS if importlib.util.find_spec(name) is None]
    if missing:
        needed = " and ".join(missing)
        raise OptionError(f"export to TFLite needs {needed}: pip install 'pocketqa[export]'")


def packaged(parent: Bundle, precision: str, source: Path) -> tuple[dict[str, Any], list[str]] | None:
    """Return the package's description and vocabulary; None, and say so, where it cannot hold the tokenizer.

    `source` is the model as the user named it.
    """
    try:
        return describe(parent, precision), vocabulary_lines(parent)
    except UnsupportedExport as reason:
        print(
            f"{source}: {reason}; so model.tflite gets no package: LiteRT and Python open it with "
            "tokenizer.json beside it, the app and the page refuse it",
            file=sys.stderr,
        )
    return None


class TFLiteExporter(Exporter):
    """Export to a .tflite that takes any window length, or with one signature for each of some lengths."""

    format = "tflite"

    def __init__(self, options: TFLiteOptions) -> None:
        super().__init__(options)
        self.sensitivity = options.sensitivity
        self.max_drop = options.max_drop
        self.lengths = window_lengths(options.lengths, self.parent.settings)
        self.signatures = fixed_signatures(self.lengths)
        if options.lengths is None:
            self.signatures = [any_length_signature(self.lengths[-1])]

    def check(self, model: QAModel) -> None:
        """Raise UnsupportedExport for an architecture that TFLite cannot express."""
        model.encoder.check_tflite()
        self.packaged = packaged(self.parent, self.precision, self.source)

    def probe_lengths(self) -> Sequence[int]:
        """Return a number of tokens for each signature; for any length those of the usual signatures."""
        return probe_lengths(self.lengths)

    def write(self, model: QAModel, folder: Path) -> manifest.Structure:
        """Write model.tflite without its package."""
        fp32 = self.converted(model)
        path = folder / FORMATS["tflite"].weights
        left = self.layers_to_leave(fp32, path)
        file = self.with_layers(fp32, left)
        structure = read_structure(file)
        words = model.encoder.words
        check_structure(
            structure,
            self.precision,
            [signature.name for signature in self.signatures],
            words,
            has_fp32_layers=bool(left),
        )
        check_integers(self.parent, words, file, self.precision, has_fp32_layers=bool(left))
        path.write_bytes(file.to_bytes())
        return structure.recorded(list(left))

    def converted(self, model: QAModel) -> TFLiteFile:
        """Return the model in fp32, with signatures of fixed lengths where one graph cannot take all."""
        try:
            return TFLiteFile(conversion.convert(model, self.signatures))
        except OneLength as error:
            self.signatures = fixed_signatures(self.lengths)
            lengths = ", ".join(map(str, self.lengths))
            print(
                f"one graph cannot take all lengths ({error}); signatures of {lengths} tokens",
                file=sys.stderr,
            )
            return TFLiteFile(conversion.convert(model, self.signatures))

    def layers_to_leave(self, fp32: TFLiteFile, path: Path) -> Sequence[str]:
        """Print the table of --sensitivity, and return the layers that --max-drop leaves in fp32."""
        if self.eval_data is None or not (self.sensitivity or self.max_drop is not None):
            return ()
        layers = list(linears_by_layer(fp32))
        make = partial(self.with_layers, fp32)
        sensitivity = Sensitivity(self.parent, self.eval_data.examples, make, layers, path)
        table, ordered = sensitivity.table()
        print(table)
        return () if self.max_drop is None else sensitivity.layers_to_leave(ordered, self.max_drop)

    def with_layers(self, fp32: TFLiteFile, layers: Collection[str]) -> TFLiteFile:
        """Return the file in its precision, with these layers in fp32."""
        by_layer = linears_by_layer(fp32)
        file = quantize(fp32, self.precision, [name for layer in layers for name in by_layer[layer]])
        look_up_bytes(file)
        compact(file)
        return file

    def package(self, folder: Path, settings: QASettings) -> None:
        """Append to model.tflite what a phone needs beside it, where a package can hold it."""
        if self.packaged is None:
            return
        info, tokens = self.packaged
        info = {**info, "settings": settings.to_dict(), "signatures": msgspec.to_builtins(self.signatures)}
        probe = (folder / PROBE).read_text(encoding="utf-8")
        path = folder / FORMATS["tflite"].weights
        append_package(path, info, tokens, probe)
        read_package(path)  # else the app, the page and push would be the first to refuse it

    def other_runtimes(self, model: ModelFolder, threads: int) -> Sequence[Runtime]:
        """Return LiteRT with its own kernels, as phones compute on which XNNPACK fails."""
        return [LiteRTRuntime(model.weights, threads, xnnpack=False)]
