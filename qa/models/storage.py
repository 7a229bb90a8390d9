"""Weights stored in fewer bits than they are computed in: fp16, or matrices as int8 rows with a scale each.

A matrix of integers has the matrix's name, its scales that name with SCALE. Factors of its columns before
rounding, if any, have the name with COLUMNS. Other tensors stay floats.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from qa.base.errors import OptionError

SCALE = ".int8_scale"
COLUMNS = ".int8_columns"
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "int8-weights": torch.float32}
"""Types of what is not stored in integers, by precision."""
LARGEST = 127
FEWEST_ROWS = 8  # of a matrix that is worth rounding


def stored(
    tensors: Mapping[str, Tensor], precision: str, columns: Mapping[str, Tensor] | None = None
) -> dict[str, Tensor]:
    """Return weights on the CPU in a precision that `qa.formats.precision` has for PyTorch; integers stay the
    same.

    `columns` are factors (C,), none of them 0, by the name of a matrix (R, C). A matrix times its factors is
    rounded already, and only so it is stored exactly. OptionError names a tensor that is not finite there,
    or a precision that is not stored here.
    """
    if precision not in DTYPES:
        raise OptionError(f"{precision}: PyTorch bundles store {', '.join(DTYPES)} only")
    dtype = DTYPES[precision]
    result = dict[str, Tensor]()
    for name, tensor in tensors.items():
        stored_as = dtype if tensor.is_floating_point() else tensor.dtype
        result[name] = tensor.detach().to("cpu", stored_as).contiguous()
        if not result[name].isfinite().all():
            raise OptionError(
                f"{name}: has a value that is no finite number in {precision}; take another precision"
            )
        is_matrix = tensor.is_floating_point() and tensor.ndim == 2 and len(tensor) >= FEWEST_ROWS
        if precision == "int8-weights" and is_matrix:
            if columns and name in columns:
                result[name + COLUMNS] = columns[name].detach().to("cpu", torch.float32).contiguous()
                result[name] = result[name] * result[name + COLUMNS]
            scale = result[name].abs().amax(1) / LARGEST
            scale[scale == 0] = 1
            result[name] = (result[name] / scale[:, None]).round().to(torch.int8)
            result[name + SCALE] = scale
    return result


def opened(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the same weights as fp32 floats; integers without a scale stay the same."""
    scales = {name.removesuffix(SCALE): tensor for name, tensor in tensors.items() if name.endswith(SCALE)}
    result = {
        name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()
    }
    for name, scale in scales.items():
        del result[name + SCALE]
        result[name] = result[name].float() * scale.float()[:, None]
        if name + COLUMNS in tensors:
            result[name] /= result.pop(name + COLUMNS)
    return result
