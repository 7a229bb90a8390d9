"""PyTorch model -> fp32 .tflite."""

import copy
import sys
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from compress.qat.token_types import multiply_types
from export.tflite.attention import use_grouped_attention
from export.tflite.file import TFLiteFile
from export.tflite.passes.any_length import merge_lengths
from export.tflite.quiet import quietly
from qa.base.errors import UnsupportedExport, first_line
from qa.formats.package import Signature
from qa.formats.tensors import INPUTS
from qa.formats.tflite import signature_name
from qa.models.model import QAModel


class ExportModel(nn.Module):
    """QAModel as the converter sees it: position ids are computed from an input.

    The converter would fold constant positions into one (T, H) fp32 constant for each signature. Computed
    ones keep the look-up, so all signatures share one table, quantized like the others.
    """

    def __init__(self, model: QAModel, any_length: bool) -> None:
        super().__init__()
        self.encoder = model.encoder
        self.head = model.head
        self.any_length = any_length

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> dict[str, Tensor]:
        """Compute logits. Shapes: (1, T) int32 -> start_logits, end_logits (1, T) float32."""
        if self.any_length:
            # A constant would have one length. Padding gets other places than in PyTorch, and is masked.
            positions = torch.cumsum(attention_mask, dim=1, dtype=torch.int32) - attention_mask
        else:
            positions = torch.arange(token_type_ids.shape[1], dtype=torch.int32)
        # Token types are 0 or 1, so min(token type, 0) adds nothing. It keeps that input in the graph of an
        # encoder without token types.
        positions = positions + token_type_ids.clamp(max=0) + self.encoder.first_position
        states, _ = self.encoder(input_ids, attention_mask, token_type_ids, position_ids=positions)
        start, end = self.head(states, attention_mask, token_type_ids).float().unbind(-1)
        return {"start_logits": start, "end_logits": end}


def convert(model: QAModel, signatures: Sequence[Signature]) -> bytes:
    """Return the fp32 .tflite with shared weights.

    UnsupportedExport when TFLite cannot express the model.
    """
    names = ", ".join(signature.name for signature in signatures)
    print(
        f"converting to TFLite: {names} (seconds; a minute for a BERT-base, and for each length of a QANet)",
        file=sys.stderr,
    )
    model = copy.deepcopy(model)
    for module in model.modules():
        if callable(use_slices := getattr(module, "use_slices", None)):
            use_slices()
    use_grouped_attention(model.encoder)
    multiply_types(model.encoder)
    any_length = signatures[-1].any_length
    lengths = [signature.length for signature in signatures]
    module = ExportModel(model, any_length).eval()
    if not any_length:
        return _trace(module, lengths)
    file = TFLiteFile(_trace(module, [lengths[0] // 2, *lengths]))
    merge_lengths(file, signatures[0].name)
    return file.to_bytes()


def _trace(module: ExportModel, lengths: Sequence[int]) -> bytes:
    """Return a .tflite with a signature for each length. UnsupportedExport when TFLite cannot express it."""
    try:
        with quietly():
            import litert_torch

            converter = litert_torch
            for length in lengths:
                ids = torch.zeros(1, length, dtype=torch.int32)
                sample = dict(zip(INPUTS, (ids, torch.ones_like(ids), ids.clone()), strict=True))
                converter = converter.signature(signature_name(length), module, sample_kwargs=sample)
            return converter.convert().model_content()
    except ImportError:  # a converter that is not installed says nothing about the model
        raise
    except Exception as error:  # the converter, torch.export and MLIR raise all kinds
        raise UnsupportedExport(
            f"TFLite cannot express this model ({first_line(error)}); try python -m export.onnx"
        ) from error
