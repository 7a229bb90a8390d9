"""PyTorch model -> .tflite in any precision."""

import copy
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from compress.qat.token_types import multiply_types
from export.tflite.attention import use_grouped_attention
from export.tflite.attention_products import int8_attention
from export.tflite.attention_scales import LARGEST_ERROR, GroupScales, prepare_attention
from export.tflite.compact import compact
from export.tflite.file import TFLiteFile
from export.tflite.positions import slice_positions
from export.tflite.quantize import quantize
from export.tflite.quiet import quietly
from qa.base.errors import UnsupportedExport
from qa.formats.precision import PRECISIONS
from qa.formats.tflite import signature_name
from qa.models.model import QAModel
from qa.text.features import Window

CALIBRATION_WINDOWS = 24


class ExportModel(nn.Module):
    """QAModel as the converter sees it: position ids are computed from an input.

    The converter would fold constant positions into one (T, H) fp32 constant for each signature. Computed
    ones keep the look-up, so all signatures share one table, quantized like the others. Token types are 0 or
    1, so min(token type, 0) adds nothing. It keeps that input in the graph of an encoder without token types.
    """

    def __init__(self, model: QAModel) -> None:
        super().__init__()
        self.encoder = model.encoder
        self.head = model.head

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> dict[str, Tensor]:
        """Compute logits. Shapes: (1, T) int32 -> start_logits, end_logits (1, T) float32."""
        first = self.encoder.first_position
        length = input_ids.shape[1]
        positions = torch.arange(first, first + length, dtype=torch.int32) + token_type_ids.clamp(
            max=0
        )  # (1, T)
        states, _ = self.encoder(input_ids, attention_mask, token_type_ids, position_ids=positions)
        start, end = self.head(states, attention_mask, token_type_ids).float().unbind(-1)
        return {"start_logits": start, "end_logits": end}


def convert(model: QAModel, lengths: tuple[int, ...]) -> bytes:
    """Return the fp32 .tflite, with one signature for each length and shared weights.

    UnsupportedExport when TFLite cannot express the model.
    """
    names = ", ".join(signature_name(length) for length in lengths)
    print(
        f"converting to TFLite: {names} (seconds; a minute for a BERT-base, and for each length of a QANet)",
        file=sys.stderr,
    )
    model = copy.deepcopy(model)
    use_grouped_attention(model.encoder)
    multiply_types(model.encoder)
    try:
        with quietly():
            import litert_torch

            converter = litert_torch
            module = ExportModel(model).eval()
            for length in lengths:
                ids = torch.zeros(1, length, dtype=torch.int32)
                sample = {
                    "input_ids": ids,
                    "attention_mask": torch.ones_like(ids),
                    "token_type_ids": ids.clone(),
                }
                converter = converter.signature(signature_name(length), module, sample_kwargs=sample)
            return converter.convert().model_content()
    except Exception as error:  # the converter, torch.export and MLIR raise all kinds
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UnsupportedExport(
            f"TFLite cannot express this model ({reason}); try python -m export.onnx"
        ) from error


@dataclass(frozen=True)
class Converted:
    """A .tflite without its package."""

    file: TFLiteFile
    fp32_bytes: int
    """Bytes of all its constants before they were quantized."""
    n_products: int
    """Number of products of activations in int8, in each signature."""


def convert_to(
    model: QAModel,
    precision: str,
    lengths: tuple[int, ...],
    windows: Sequence[Window],
    largest_error: float = LARGEST_ERROR,
) -> Converted:
    """Return the .tflite in any precision.

    In int8 and int4 a layer's attention is in int8, unless its error on `windows` exceeds `largest_error`.
    """
    model = copy.deepcopy(model)
    scales = list[GroupScales | None]()
    if PRECISIONS[precision].quantized_activations:
        print("measuring attention on training windows (seconds; a minute for a BERT-base)", file=sys.stderr)
        scales = prepare_attention(model, windows, largest_error)
    fp32 = TFLiteFile(convert(model, lengths))
    fp32_bytes = sum(n_bytes for _, n_bytes in fp32.constant_bytes().values())
    file = quantize(fp32, precision)
    slice_positions(file)
    int8_attention(file, scales)
    compact(file)
    return Converted(file, fp32_bytes, 2 * sum(group is not None for group in scales))
