"""Weights stored in fewer bits than they are computed in: in fp16, or matrices as int8 rows with a scale each.

A row of integers and its scale stand under the matrix's name and that name with SCALE; other tensors stay floats.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

SCALE = ".int8_scale"
LARGEST = 127


def stored(tensors: Mapping[str, Tensor], precision: str) -> dict[str, Tensor]:
    """Weights on the CPU in a precision that `qa.precision` has for PyTorch; integers stay as they are."""
    dtype, found = torch.float16 if precision == "fp16" else torch.float32, dict[str, Tensor]()
    for name, tensor in tensors.items():
        found[name] = tensor.detach().to("cpu", dtype if tensor.is_floating_point() else tensor.dtype).contiguous()
        if precision == "int8-weights" and tensor.is_floating_point() and tensor.ndim == 2:
            scale = found[name].abs().amax(1) / LARGEST
            scale[scale == 0] = 1
            found[name], found[name + SCALE] = (found[name] / scale[:, None]).round().to(torch.int8), scale
    return found


def opened(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same as floats in fp32, and integers that have no scale as they are."""
    scales = {name.removesuffix(SCALE): tensor for name, tensor in tensors.items() if name.endswith(SCALE)}
    found = {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    for name, scale in scales.items():
        del found[name + SCALE]
        found[name] = found[name].float() * scale.float()[:, None]
    return found
