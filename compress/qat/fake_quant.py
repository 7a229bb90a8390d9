"""Fake quantization: weights and activations rounded in PyTorch as LiteRT rounds them.

A Linear's input is rounded for each token: asymmetric int8 over a range that includes 0, with a rounded zero
point (XNNPACK's qd8). Weights are rounded for each output row, embedding tables for each row: symmetric int8
scaled by the largest magnitude, int4 clipped below it. Products of integers are exact, so float products of
rounded values differ from LiteRT's by float rounding only. Gradients pass rounding unchanged
(straight-through, Bengio et al. 2013). Other modules stay float.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from compress.qat.token_types import type_tables
from compress.scales import least_squares_bounds
from qa.base.errors import ParityError
from qa.formats.precision import PRECISIONS
from qa.models.model import QAModel

# Largest distance of a stored weight from an integer, in steps: float32 rounding of integer * scale is 1e-6.
STEP_TOLERANCE = 1e-3
SMALLEST_FACTOR = 1e-6


def qmax(bits: int) -> int:
    """Return the largest integer of `bits`; the smallest is its negative."""
    return 2 ** (bits - 1) - 1


def fake_quantize_per_token(states: Tensor) -> Tensor:
    """Round (..., C) to asymmetric int8 and back, each vector of C with its own scale and zero point."""
    x = states.float()
    low = x.amin(-1, keepdim=True).clamp_(max=0)
    high = x.amax(-1, keepdim=True).clamp_(min=0)
    scale = ((high - low) / 255).clamp_(min=torch.finfo(torch.float32).tiny)
    zero_point = (-128 - low / scale).round_()
    integers = (x * scale.reciprocal()).round_().clamp_(-128 - zero_point, 127 - zero_point)
    return integers.mul_(scale).to(states.dtype)


def row_scales(weight: Tensor, largest_integer: int, clip: Tensor | None = None) -> Tensor:
    """Return the scale of each row, (R, 1): min(largest magnitude, clip) / largest integer; 1 for zeros.

    Some integer of each row is then the largest, and the scale can be read off the rounded row.
    """
    largest = weight.abs().amax(-1, keepdim=True)
    if clip is not None:
        largest = torch.minimum(largest, clip)
    return torch.where(largest > 0, largest / largest_integer, 1)


def channel_factors(norm: nn.Module | None) -> Tensor | None:
    """Return what a LayerNorm multiplies channels by, (C,), none of them 0; None without a LayerNorm."""
    if norm is None:
        return None
    weight = norm.get_parameter("weight").detach()
    return torch.where(weight.abs() < SMALLEST_FACTOR, SMALLEST_FACTOR, weight)


class _FakeQuantizeTokens(torch.autograd.Function):
    """Round a Linear's input; behind a LayerNorm round the normalized state, before its factors and bias."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, channels: Tensor | None, bias: Tensor | None) -> Tensor:
        if channels is None or bias is None:
            return fake_quantize_per_token(states)
        return (fake_quantize_per_token((states.float() - bias) / channels) * channels + bias).to(
            states.dtype
        )

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return gradients[0], None, None


class _FakeQuantizeRows(torch.autograd.Function):
    """Round rows; the gradient of a clip is that of a learned step size (Esser et al. 2020, equation 3)."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, clip: Tensor | None, largest_integer: int) -> Tensor:
        scale = row_scales(weight, largest_integer, clip)
        ctx.largest_integer = largest_integer
        ctx.save_for_backward(*(() if clip is None else (weight, scale)))
        return (weight / scale).round_().clamp_(-largest_integer, largest_integer).mul_(scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        if not ctx.saved_tensors:
            return gradient, None, None
        weight, scale = ctx.saved_tensors
        ratio = weight / scale
        integers = ratio.clamp(-ctx.largest_integer, ctx.largest_integer)
        inside = integers == ratio
        change = integers.round_().sub_(ratio.mul_(inside))  # of the rounded weight with the scale
        return gradient * inside, (gradient * change).sum(-1, keepdim=True) / ctx.largest_integer, None


class RowQuantizer(nn.Module):
    """Rounds the rows of a matrix or table to symmetric integers; with 4 bits its clips are parameters.

    Behind a LayerNorm the integers are those of the weights times its factors.
    """

    def __init__(self, weight: Tensor, bits: int, norm: nn.Module | None = None) -> None:
        super().__init__()
        self.bits = bits
        self._norm = (norm,)  # in a tuple: it does not become part of this module
        self.clip = None
        if bits < 8:
            clips = least_squares_bounds(self.scaled(weight.detach()).numpy(), bits)
            self.clip = nn.Parameter(torch.from_numpy(clips))

    @property
    def factors(self) -> Tensor | None:
        """Factors of the columns, (C,); None without a LayerNorm."""
        return channel_factors(self._norm[0])

    def scaled(self, weight: Tensor) -> Tensor:
        """Return (R, C) as it is stored: each column times its factor."""
        return weight if self.factors is None else weight * self.factors

    def forward(self, weight: Tensor) -> Tensor:
        """Round a matrix (R, C)."""
        rounded: Tensor = _FakeQuantizeRows.apply(self.scaled(weight), self.clip, qmax(self.bits))
        return rounded if self.factors is None else rounded / self.factors

    def rows(self, rows: Tensor, ids: Tensor) -> Tensor:
        """Round looked-up rows (..., C) of a table; `ids` (...) are their indices."""
        clip = None if self.clip is None else self.clip[ids]
        rounded: Tensor = _FakeQuantizeRows.apply(rows, clip, qmax(self.bits))
        return rounded


def bits_of(model: nn.Module, precision: str, words: nn.Module) -> dict[nn.Module, int]:
    """Return the bits of each Linear and table in a file of this precision; in int4 only `words` are int4.

    A table of two token types is left out: a file stores it as floats (compress.qat.token_types). So is a
    product-quantized table: its codes are bytes already, and its codebooks train in float.
    """
    floats = set(type_tables(model).values())
    rounded = [m for m in model.modules() if isinstance(m, nn.Linear | nn.Embedding) and m not in floats]
    stored = PRECISIONS[precision]
    return {m: stored.bits if m is words or isinstance(m, nn.Linear) else stored.table_bits for m in rounded}


def norms_before(model: QAModel) -> dict[nn.Module, nn.Module]:
    """Return the LayerNorm before each Linear that has one: the converter moves its factors into the matrix.

    The model must be in eval mode, so that dropout passes on its input itself.
    """
    # The tensors are kept, so that no other one gets their id.
    outputs: dict[int, tuple[Tensor, nn.Module]] = {}
    norms: dict[nn.Module, nn.Module] = {}

    def normalized(module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> None:
        outputs[id(output)] = output, module

    def multiplied(module: nn.Module, args: tuple[Tensor, ...]) -> None:
        if id(args[0]) in outputs:
            norms[module] = outputs[id(args[0])][1]

    handles: list[Any] = []
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            handles.append(module.register_forward_hook(normalized))
        elif isinstance(module, nn.Linear):
            handles.append(module.register_forward_pre_hook(multiplied))
    ids = torch.zeros(1, 8, dtype=torch.long)
    with torch.no_grad():
        model(ids, torch.ones_like(ids), ids)
    for handle in handles:
        handle.remove()
    return norms


@dataclass(frozen=True)
class QuantizedLinear:
    """A Linear whose weights are rounded."""

    linear: nn.Linear
    original: Tensor
    """Weights before rounding."""
    quantizer: RowQuantizer


class FakeQuantizer:
    """Makes a model compute with rounded activations and weights, and train through them, until `convert`.

    `norms` are the LayerNorms before its Linears, from `norms_before`; `words` is its table of words.
    """

    def __init__(
        self, model: nn.Module, precision: str, norms: Mapping[nn.Module, nn.Module], words: nn.Module
    ) -> None:
        self.linears: dict[str, QuantizedLinear] = {}
        self._tables: list[tuple[nn.Embedding, RowQuantizer]] = []
        self._hooks: list[Any] = [model.register_forward_hook(self._forget)]
        self._last: tuple[Tensor, Tensor] | None = None
        self._norms = norms
        bits = bits_of(model, precision, words)
        for name, module in list(model.named_modules()):
            if isinstance(module, nn.Linear):
                quantizer = RowQuantizer(module.weight, bits[module], norms.get(module))
                original = module.weight
                parametrize.register_parametrization(module, "weight", quantizer)
                self.linears[name] = QuantizedLinear(module, original, quantizer)
                self._hooks.append(module.register_forward_pre_hook(self._round_input))
            elif isinstance(module, nn.Embedding) and module in bits:
                quantizer = RowQuantizer(module.weight, bits[module])
                module.add_module("quantizer", quantizer)  # so that its clips are trained
                self._tables.append((module, quantizer))
                self._hooks.append(module.register_forward_hook(partial(_round_rows, quantizer)))

    def convert(self) -> None:
        """Round all weights for good; activations are float again."""
        for hook in self._hooks:
            hook.remove()
        for part in self.linears.values():
            parametrize.remove_parametrizations(part.linear, "weight", leave_parametrized=True)
        for table, quantizer in self._tables:
            del table.quantizer
            all_ids = torch.arange(len(table.weight), device=table.weight.device)
            with torch.no_grad():
                table.weight.copy_(quantizer.rows(table.weight, all_ids))

    def _round_input(self, module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor]:
        """Round a Linear's input; query, key and value share one, which is rounded once."""
        (states,) = args
        if self._last is None or self._last[0] is not states:
            norm = self._norms.get(module)
            bias = None if norm is None else norm.get_parameter("bias").detach()
            self._last = states, _FakeQuantizeTokens.apply(states, channel_factors(norm), bias)
        return (self._last[1],)

    def _forget(self, *_: Any) -> None:
        self._last = None


def _round_rows(quantizer: RowQuantizer, table: nn.Module, args: tuple[Tensor, ...], rows: Tensor) -> Tensor:
    return quantizer.rows(rows, args[0])


def integers(weight: Tensor, bits: int, where: str) -> Tensor:
    """Return the int8 integers (R, C) of rounded rows; ParityError, naming `where`, for other weights."""
    ratio = weight / row_scales(weight, qmax(bits))
    rounded = ratio.round()
    distance = float((ratio - rounded).abs().max())
    if distance > STEP_TOLERANCE:
        raise ParityError(
            f"{where}: weights are {distance:.2g} steps away from the int{bits} values they were trained for"
        )
    return rounded.to(torch.int8)


def column_factors(model: QAModel) -> dict[str, Tensor]:
    """Return the factors (C,) of a matrix's columns before rounding, by the weight's name."""
    names = {module: name for name, module in model.named_modules()}
    by_name = {
        f"{names[linear]}.weight": channel_factors(norm) for linear, norm in norms_before(model).items()
    }
    return {name: channels for name, channels in by_name.items() if channels is not None}


def trained_integers(model: QAModel, precision: str) -> tuple[list[Tensor], Tensor | None, list[Tensor]]:
    """Return the int8 integers (R, C) of a converted model: Linears, word embeddings, other tables.

    Word embeddings are None where they are product-quantized. ParityError for weights that are not rounded.
    """
    names = {module: name for name, module in model.named_modules()}
    norms = norms_before(model)
    words = model.encoder.words
    matrices: dict[nn.Module, Tensor] = {}
    for module, bits in bits_of(model, precision, words).items():
        weight = module.get_parameter("weight").detach()
        channels = channel_factors(norms.get(module))
        matrices[module] = integers(weight if channels is None else weight * channels, bits, names[module])
    linears = [matrix for module, matrix in matrices.items() if isinstance(module, nn.Linear)]
    tables = {module: matrix for module, matrix in matrices.items() if not isinstance(module, nn.Linear)}
    return linears, tables.pop(words, None), list(tables.values())
