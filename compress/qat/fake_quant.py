"""The integers that LiteRT computes with, in PyTorch: weights and activations rounded as the exported file
has them.

A Linear's input is rounded for each token: asymmetric int8 over a range that includes 0, with a rounded zero
point (XNNPACK's qd8). Its weights are rounded for each output, a table's for each row: symmetric, to the
largest magnitude, in int4 to a bound below it. Products of integers are exact, so float products of rounded
values differ from LiteRT's by float rounding alone. Gradients pass rounding unchanged (straight-through,
Bengio et al. 2013); what is not a Linear or a table stays float.
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
from qa.models.word_table import ProductQuantizedEmbedding

TABLE_ROWS_AT_ONCE = 4096
# How far a stored weight may be from the grid, in steps: float32 rounding of integer * scale is a millionth.
GRID_TOLERANCE = 1e-3
SMALLEST_FACTOR = 1e-6


def steps_of(bits: int) -> int:
    """The largest integer; the smallest is its negative."""
    return 2 ** (bits - 1) - 1


def round_tokens(states: Tensor) -> Tensor:
    """Round (..., C) to asymmetric int8 and back, each vector of C with its own scale and zero point."""
    x = states.float()
    low = x.amin(-1, keepdim=True).clamp_(max=0)
    high = x.amax(-1, keepdim=True).clamp_(min=0)
    scale = ((high - low) / 255).clamp_(min=torch.finfo(torch.float32).tiny)
    zero_point = (-128 - low / scale).round_()
    integers = (x * scale.reciprocal()).round_().clamp_(-128 - zero_point, 127 - zero_point)
    return integers.mul_(scale).to(states.dtype)


def row_scales(weight: Tensor, steps: int, bound: Tensor | None = None) -> Tensor:
    """(R, 1): the least of each row's largest magnitude and its bound, in steps; 1 for a row of zeros.

    So some integer of each row is the largest there is, and the scale can be read off the rounded row.
    """
    largest = weight.abs().amax(-1, keepdim=True)
    if bound is not None:
        largest = torch.minimum(largest, bound)
    return torch.where(largest > 0, largest / steps, 1)


def factors(norm: nn.Module | None) -> Tensor | None:
    """What a LayerNorm multiplies channels by, (C,), none of them 0."""
    if norm is None:
        return None
    weight = norm.get_parameter("weight").detach()
    return torch.where(weight.abs() < SMALLEST_FACTOR, SMALLEST_FACTOR, weight)


class _RoundTokens(torch.autograd.Function):
    """Of a LayerNorm's output what is rounded is the normalized state, before its factors and biases."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, norm: nn.Module | None) -> Tensor:
        channels = factors(norm)
        if norm is None or channels is None:
            return round_tokens(states)
        bias = norm.get_parameter("bias").detach()
        return (round_tokens((states.float() - bias) / channels) * channels + bias).to(states.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


class _RoundRows(torch.autograd.Function):
    """The gradient of a bound is that of a learned step size (Esser et al. 2020, equation 3)."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bound: Tensor | None, steps: int) -> Tensor:
        scale = row_scales(weight, steps, bound)
        ctx.steps = steps
        ctx.save_for_backward(*(() if bound is None else (weight, scale)))
        return (weight / scale).round_().clamp_(-steps, steps).mul_(scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        if not ctx.saved_tensors:
            return gradient, None, None
        weight, scale = ctx.saved_tensors
        ratio = weight / scale
        integers = ratio.clamp(-ctx.steps, ctx.steps)
        inside = integers == ratio
        change = integers.round_().sub_(ratio.mul_(inside))  # of the rounded weight with the scale
        return gradient * inside, (gradient * change).sum(-1, keepdim=True) / ctx.steps, None


class RowGrid(nn.Module):
    """Rounds the rows of a matrix or table to symmetric integers; with 4 bits its bounds are parameters.

    Behind a LayerNorm the integers are those of the weights times its factors.
    """

    def __init__(self, weight: Tensor, bits: int, norm: nn.Module | None = None) -> None:
        super().__init__()
        # in a tuple, so that it does not become part of this module
        self.bits = bits
        self._norm = (norm,)
        self.bound = None
        if bits < 8:
            self.bound = nn.Parameter(
                torch.from_numpy(least_squares_bounds(self.scaled(weight.detach()).numpy(), bits))
            )

    @property
    def factors(self) -> Tensor | None:
        """What the columns are multiplied by, (C,); None for nothing."""
        return factors(self._norm[0])

    def scaled(self, weight: Tensor) -> Tensor:
        """(R, C) as it is stored: each column times its factor."""
        return weight if self.factors is None else weight * self.factors

    def forward(self, weight: Tensor) -> Tensor:
        """(R, C) -> (R, C)."""
        rounded: Tensor = _RoundRows.apply(self.scaled(weight), self.bound, steps_of(self.bits))
        return rounded if self.factors is None else rounded / self.factors

    def rows(self, rows: Tensor, ids: Tensor) -> Tensor:
        """Looked-up rows (..., C) of the table, which `ids` (...) named."""
        bound = None if self.bound is None else self.bound[ids]
        rounded: Tensor = _RoundRows.apply(rows, bound, steps_of(self.bits))
        return rounded


def bits_of(model: nn.Module, precision: str) -> dict[nn.Module, int]:
    """Bits of each Linear and table in a file of this precision: in int4 positions stay int8.

    Two token types have none, which a file stores as floats (compress.qat.token_types), nor has a
    product-quantized word table: its codes are bytes already, its codebooks train in float.
    """
    modules = list(model.modules())
    tables = [module for module in modules if isinstance(module, nn.Embedding | ProductQuantizedEmbedding)]
    words = max(tables, key=lambda table: table.num_embeddings * table.embedding_dim)
    floats = set(type_tables(model).values())
    rounded = [
        module for module in modules if isinstance(module, nn.Linear | nn.Embedding) and module not in floats
    ]
    stored = PRECISIONS[precision]
    return {m: stored.bits if m is words or isinstance(m, nn.Linear) else stored.table_bits for m in rounded}


def norms_before(model: QAModel) -> dict[nn.Module, nn.Module]:
    """The LayerNorm whose output a Linear is given, for each that has one: the converter takes its factors
    into the matrix.

    The model is in eval mode, so that dropout passes on what it is given.
    """
    outputs: dict[
        int, tuple[Tensor, nn.Module]
    ] = {}  # the tensors are kept, so that no other gets their number
    found: dict[nn.Module, nn.Module] = {}

    def normalized(module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> None:
        outputs[id(output)] = output, module

    def multiplied(module: nn.Module, args: tuple[Tensor, ...]) -> None:
        if id(args[0]) in outputs:
            found[module] = outputs[id(args[0])][1]

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
    return found


def float_modules(model: nn.Module) -> list[str]:
    """Types of modules with matrices of their own that have no grid here: convolutions and LSTMs."""
    known = (nn.Linear, nn.Embedding, ProductQuantizedEmbedding)
    has_matrix = (m for m in model.modules() if any(p.ndim > 1 for p in m.parameters(recurse=False)))
    return sorted({type(m).__name__ for m in has_matrix if not isinstance(m, known)})


@dataclass(frozen=True)
class GridLinear:
    """A Linear on the grid: its weights before they are rounded, and what rounds them."""

    linear: nn.Linear
    original: Tensor
    grid: RowGrid


class Grid:
    """Makes a model compute with rounded activations and weights, and train through them, until `settle`.

    `norms` are those before its Linears, as `norms_before` finds them.
    """

    def __init__(self, model: nn.Module, precision: str, norms: Mapping[nn.Module, nn.Module]) -> None:
        self.linears: dict[str, GridLinear] = {}
        self._tables: list[tuple[nn.Embedding, RowGrid]] = []
        self._hooks: list[Any] = [model.register_forward_hook(self._forget)]
        self._last: tuple[Tensor, Tensor] | None = None
        bits = bits_of(model, precision)
        self._norms = norms
        for name, module in list(model.named_modules()):
            if isinstance(module, nn.Linear):
                grid = RowGrid(module.weight, bits[module], self._norms.get(module))
                original = module.weight
                parametrize.register_parametrization(module, "weight", grid)
                self.linears[name] = GridLinear(module, original, grid)
                self._hooks.append(module.register_forward_pre_hook(self._round_input))
            elif isinstance(module, nn.Embedding) and module in bits:
                grid = RowGrid(module.weight, bits[module])
                module.add_module("grid", grid)  # so that its bounds are trained
                self._tables.append((module, grid))
                self._hooks.append(module.register_forward_hook(partial(_round_rows, grid)))

    def settle(self) -> None:
        """Round all weights for good; activations are float again."""
        for hook in self._hooks:
            hook.remove()
        for part in self.linears.values():
            parametrize.remove_parametrizations(part.linear, "weight", leave_parametrized=True)
        for table, grid in self._tables:
            del table.grid
            with torch.no_grad():
                for ids in torch.arange(len(table.weight), device=table.weight.device).split(
                    TABLE_ROWS_AT_ONCE
                ):
                    table.weight[ids] = grid.rows(table.weight[ids], ids)

    def _round_input(self, module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor]:
        """Query, key and value have one input, which is rounded once."""
        (states,) = args
        if self._last is None or self._last[0] is not states:
            self._last = states, _RoundTokens.apply(states, self._norms.get(module))
        return (self._last[1],)

    def _forget(self, *_: Any) -> None:
        self._last = None


def _round_rows(grid: RowGrid, table: nn.Module, args: tuple[Tensor, ...], rows: Tensor) -> Tensor:
    return grid.rows(rows, args[0])


def integers(weight: Tensor, bits: int, where: str) -> Tensor:
    """The int8 integers (R, C) of rows that lie on the grid; ParityError, naming `where`, when some do
    not.
    """
    ratio = weight / row_scales(weight, steps_of(bits))
    rounded = ratio.round()
    off = float((ratio - rounded).abs().max())
    if off > GRID_TOLERANCE:
        raise ParityError(
            f"{where}: weights are {off:.2g} steps away from the int{bits} grid they were trained for"
        )
    return rounded.to(torch.int8)


def grid_columns(model: QAModel) -> dict[str, Tensor]:
    """What the columns of its matrices are multiplied by before they are rounded: factors (C,) by the
    weight's name."""
    names = {module: name for name, module in model.named_modules()}
    norms = norms_before(model)
    found = {f"{names[linear]}.weight": factors(norm) for linear, norm in norms.items()}
    return {name: channels for name, channels in found.items() if channels is not None}


def grid_integers(model: QAModel, precision: str) -> tuple[list[Tensor], Tensor | None, list[Tensor]]:
    """The integers of a settled model, int8 (R, C): of its Linears, of its word table unless that has codes,
    of other tables.

    ParityError when its weights are off the grid.
    """
    names = {module: name for name, module in model.named_modules()}
    norms = norms_before(model)
    words = model.encoder.words
    found: dict[nn.Module, Tensor] = {}
    for module, bits in bits_of(model, precision).items():
        weight = module.get_parameter("weight").detach()
        channels = factors(norms.get(module))
        found[module] = integers(weight if channels is None else weight * channels, bits, names[module])
    linears = [matrix for module, matrix in found.items() if isinstance(module, nn.Linear)]
    others = [
        matrix
        for module, matrix in found.items()
        if not isinstance(module, nn.Linear) and module is not words
    ]
    return linears, found.get(words), others
