"""GPTQ: rounding with error feedback (Frantar et al. 2022).

Weights that are not yet rounded make up for the error of each rounded one. Linears are rounded in the order
in which the model computes them, each for the inputs that rounded Linears before it give. The aim is the
output of the model before rounding: least squares also make up for the error of those inputs, and the mean
error that remains goes into the bias.

ai-edge-quantizer 0.10 has GPTQ, too. It rounds the Linears of a .tflite, each for the inputs that the model
has before rounding. Here QAT goes on from the rounded PyTorch model.
"""

from collections.abc import Sequence
from contextlib import suppress

import torch
from torch import Tensor, nn

from compress.qat.fake_quant import FakeQuantizer, QuantizedLinear, qmax, row_scales
from qa.base.progress import Progress
from qa.models.model import QAModel
from qa.text.features import Window, collate

DAMPING = 0.01  # of the mean diagonal, as in the paper
LEAST_SPREAD = 1e-5  # of centred inputs by their size; float32 rounding of constant ones leaves 4e-7
BLOCK = 128


def unpadded(window: Window) -> dict[str, Tensor]:
    """Return a model's inputs for a window without padding, which would count as much as words."""
    return {name: torch.from_numpy(array) for name, array in collate([window]).items()}


class _Captured(Exception):
    """Stops the forward pass once inputs are captured."""


def input_groups(model: QAModel, window: Window) -> list[tuple[list[str], int]]:
    """Return (names, calls) of the Linears that share an input, in the order of their first call."""
    calls: dict[str, list[Tensor]] = {}
    linears = {module: name for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    handles = [
        linear.register_forward_pre_hook(
            lambda module, args: calls.setdefault(linears[module], []).append(args[0])
        )
        for linear in linears
    ]
    with torch.no_grad():
        model(**unpadded(window))
    for handle in handles:
        handle.remove()
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, inputs in calls.items():
        groups.setdefault(tuple(map(id, inputs)), []).append(name)
    return [(names, len(calls[names[0]])) for names in groups.values()]


def inputs_of(model: QAModel, name: str, n_calls: int, window: Window) -> Tensor:
    """Return all inputs of a Linear for one window, (N, C); the model runs no further than its last call."""
    inputs: list[Tensor] = []

    def keep(module: nn.Module, args: tuple[Tensor, ...]) -> None:
        inputs.append(args[0].flatten(0, -2))
        if len(inputs) == n_calls:
            raise _Captured

    handle = model.get_submodule(name).register_forward_pre_hook(keep)
    with suppress(_Captured), torch.no_grad():
        model(**unpadded(window))
    handle.remove()
    return torch.cat(inputs)


def gptq_round(weight: Tensor, moment: Tensor, scale: Tensor, largest_integer: int) -> Tensor:
    """Return values (R, C) that round to the result: each column's weight with the errors it makes up for.

    They round to multiples of `scale` (R, 1). `moment` (C, C) is the inputs' second moment. Columns with the
    largest inputs are rounded first.
    """
    order = moment.diagonal().argsort(descending=True)
    weight = weight.double()[:, order]
    moment = moment[order][:, order]
    scale = scale.double()[:, 0]
    upper = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(moment)), upper=True)
    for first in range(0, weight.shape[1], BLOCK):
        last = min(first + BLOCK, weight.shape[1])
        errors = torch.zeros(len(weight), last - first, dtype=weight.dtype)
        for column in range(first, last):
            value = weight[:, column]
            rounded = (value / scale).round().clamp(-largest_integer, largest_integer) * scale
            error = (value - rounded) / upper[column, column]
            errors[:, column - first] = error
            weight[:, column + 1 : last] -= error[:, None] * upper[column, column + 1 : last]
        weight[:, last:] -= errors @ upper[first:last, last:]
    return weight[:, order.argsort()].float()


def round_with_feedback(
    model: QAModel, quantizer: FakeQuantizer, reference: QAModel, windows: Sequence[Window]
) -> None:
    """Change the weights of `model` in place, so that its `quantizer` rounds them with error feedback.

    `reference` is the same model in float. Weights stay within half a step of their rounded values, as
    training needs.
    """
    for names, n_calls in Progress(input_groups(reference, windows[0]), desc="error feedback", unit="input"):
        n_inputs = quantizer.linears[names[0]].linear.in_features
        moments = torch.zeros(n_inputs + 1, 2 * n_inputs + 1, dtype=torch.float64)
        for window in windows:
            inputs = inputs_of(model, names[0], n_calls, window)
            lost = inputs_of(reference, names[0], n_calls, window) - inputs
            inputs, lost = inputs.double(), lost.double()  # float would lose a small spread
            ones = inputs.new_ones(len(inputs), 1)
            moments += torch.cat([inputs, ones], 1).T @ torch.cat([inputs, lost, ones], 1)
        for name in names:
            _round_linear(quantizer.linears[name], moments)


def _round_linear(part: QuantizedLinear, moments: Tensor) -> None:
    """Round one Linear; `moments` (C + 1, 2 C + 1): inputs and a one by inputs, their losses and a one."""
    n_inputs = len(moments) - 1
    n = moments[-1, -1]
    bias = part.linear.bias
    if n < 2 or not moments[:-1, :n_inputs].diagonal().any():
        return  # its inputs are not known
    moment = moments[:-1, :n_inputs]
    with_lost = moments[:-1, n_inputs:-1]
    mean = moments[:-1, -1] / n
    mean_lost = moments[-1, n_inputs:-1] / n
    if bias is not None:  # the bias takes care of the means
        size = moment.diagonal().mean()
        moment = moment - n * mean[:, None] * mean
        if moment.diagonal().mean() <= LEAST_SPREAD * size:
            return  # constant inputs: plain rounding stays
        with_lost = with_lost - n * mean[:, None] * mean_lost
    weight = part.original.detach().double()
    stored = part.quantizer.scaled(part.original.detach())
    largest_integer = qmax(part.quantizer.bits)
    factors = torch.ones(n_inputs) if part.quantizer.factors is None else part.quantizer.factors
    moment = moment / (factors[:, None] * factors)
    with_lost = with_lost / factors[:, None]
    moment = moment + DAMPING * moment.diagonal().mean() * torch.eye(n_inputs, dtype=moment.dtype)
    scale = row_scales(stored, largest_integer, part.quantizer.clip)
    limit = largest_integer * scale
    aim = stored + torch.linalg.solve(moment, with_lost @ weight.T).T
    values = gptq_round(aim, moment, scale, largest_integer).clamp_(-limit, limit)
    # The largest value keeps its row's scale; a row of zeros stays one.
    rows = torch.arange(len(values))
    largest = values.abs().argmax(1)
    magnitude = torch.where(stored.abs().amax(1) > 0, limit[:, 0], 0)
    values[rows, largest] = torch.copysign(magnitude, values[rows, largest])
    with torch.no_grad():
        part.original.copy_(values / factors)
        if bias is not None:
            bias.add_((weight @ (mean + mean_lost) - part.linear.weight.double() @ mean).float())
