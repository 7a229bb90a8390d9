"""Export to ONNX: one graph for any batch and length."""

from collections.abc import Sequence
from pathlib import Path

import onnx
import torch

from export.embeddings import word_tables
from export.exporter import Exporter
from export.onnx.balance import calibration_windows
from export.onnx.quantize import check_structure, quantize
from export.onnx.trace import trace
from export.options import OnnxOptions
from qa.bundles.bundle import Bundle
from qa.bundles.manifest import Structure
from qa.formats.registry import FORMATS
from qa.models.hub import hub_config
from qa.models.model import QAModel, write_config

CALIBRATION_WINDOWS = 16


def export(options: OnnxOptions) -> Bundle:
    """Trace, quantize, compare with PyTorch, seal."""
    return OnnxExporter(options).export()


class OnnxExporter(Exporter):
    """Export to a graph of standard operators."""

    format = "onnx"

    def probe_lengths(self) -> Sequence[int]:
        """Return a quarter, a half and all of the model's longest window."""
        longest = self.parent.settings.max_length
        return [longest // 4, longest // 2, longest]

    def write(self, model: QAModel, folder: Path) -> Structure:
        """Write model.onnx, and the config.json by which transformers' relatives choose a class.

        A standalone model has no such class.
        """
        fp32 = trace(model)
        windows = calibration_windows(self.parent, CALIBRATION_WINDOWS) if self.precision == "int8" else ()
        graph = quantize(fp32, self.precision, windows)
        words = model.encoder.words
        integers = [table.numpy() for table in word_tables(words) if table.dtype == torch.int8]
        structure = check_structure(graph, fp32, self.precision, integers)
        onnx.helper.set_model_props(graph, {"pocketqa.precision": self.precision})
        onnx.checker.check_model(graph)
        (folder / FORMATS["onnx"].weights).write_bytes(graph.SerializeToString(deterministic=True))
        if model.encoder.architecture.question_answering:
            write_config(folder, hub_config(model.encoder.config))
        return structure
