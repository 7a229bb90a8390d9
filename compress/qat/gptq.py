"""Rounding with error feedback: what one weight loses to rounding, those not yet rounded make up for (GPTQ,
Frantar et al. 2022).

Linears are taken in the order in which the model computes them, each against the inputs that it will see,
which come from rounded Linears before. It aims at the outputs of the model before rounding: what those inputs
have lost is made up for as well, by least squares, and what remains on average goes into the bias.
"""

from collections.abc import Sequence
from contextlib import suppress

import torch
from torch import Tensor, nn
from tqdm import tqdm

from compress.qat.fake_quant import Grid, GridLinear, row_scales, steps_of
from qa.models.model import QAModel
from qa.text.features import Window, collate

DAMPING = 0.01  # of the mean diagonal, as in the paper
BLOCK = 128


def unpadded(window: Window) -> dict[str, Tensor]:
    """A model's inputs for a window as long as it is: padding would count as much as words."""
    return {name: torch.from_numpy(array) for name, array in collate([window]).items()}


class _AllSeen(Exception):
    """What comes after is not needed."""


def input_groups(model: QAModel, window: Window) -> list[tuple[list[str], int]]:
    """(names, calls) of the Linears that share an input, in the order in which the model first computes
    them.
    """
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
    groups: dict[int, list[str]] = {}
    for name, inputs in calls.items():
        groups.setdefault(id(inputs[0]), []).append(name)
    return [(names, len(calls[names[0]])) for names in groups.values()]


def inputs_of(model: QAModel, name: str, n_calls: int, window: Window) -> Tensor:
    """All that a Linear is given for one window, (N, C); the model is run no further than its last call."""
    seen: list[Tensor] = []

    def keep(module: nn.Module, args: tuple[Tensor, ...]) -> None:
        seen.append(args[0].flatten(0, -2))
        if len(seen) == n_calls:
            raise _AllSeen

    handle = model.get_submodule(name).register_forward_pre_hook(keep)
    with suppress(_AllSeen), torch.no_grad():
        model(**unpadded(window))
    handle.remove()
    return torch.cat(seen)


def feed_back(weight: Tensor, moment: Tensor, scale: Tensor, steps: int) -> Tensor:
    """The values (R, C) whose rounding to multiples of `scale` (R, 1) is the result: of each column, the
    weight and all it makes up for.

    `moment` (C, C) is the inputs' second moment. Columns with the largest inputs are rounded first.
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
            rounded = (value / scale).round().clamp(-steps, steps) * scale
            errors[:, column - first] = error = (value - rounded) / upper[column, column]
            weight[:, column + 1 : last] -= error[:, None] * upper[column, column + 1 : last]
        weight[:, last:] -= errors @ upper[first:last, last:]
    return weight[:, order.argsort()].float()


def round_with_feedback(model: QAModel, grid: Grid, reference: QAModel, windows: Sequence[Window]) -> None:
    """Change the weights under the `grid` of `model`, in place, so that they round with error feedback.

    `reference` is the same model without a grid. Weights stay within half a step of what they round to, as
    training likes them.
    """
    for names, n_calls in tqdm(input_groups(reference, windows[0]), desc="error feedback", unit="input"):
        n_inputs = grid.linears[names[0]].linear.in_features
        moments = torch.zeros(n_inputs + 1, 2 * n_inputs + 1, dtype=torch.float64)
        for window in windows:
            seen = inputs_of(model, names[0], n_calls, window)
            lost = inputs_of(reference, names[0], n_calls, window) - seen
            ones = seen.new_ones(len(seen), 1)
            moments += torch.cat([seen, ones], 1).T @ torch.cat([seen, lost, ones], 1)
        for name in names:
            _round_linear(grid.linears[name], moments)


def _round_linear(part: GridLinear, moments: Tensor) -> None:
    """`moments` (C + 1, 2 C + 1): of inputs and a one, with inputs, what they have lost, and a one."""
    n_inputs = len(moments) - 1
    n = moments[-1, -1]
    bias = part.linear.bias
    if n < 2 or not moments[:-1, :n_inputs].diagonal().any():
        return  # nothing is known of what it is given
    moment = moments[:-1, :n_inputs]
    with_lost = moments[:-1, n_inputs:-1]
    mean = moments[:-1, -1] / n
    mean_lost = moments[-1, n_inputs:-1] / n
    if bias is not None:  # which takes care of the means
        moment = moment - n * mean[:, None] * mean
        with_lost = with_lost - n * mean[:, None] * mean_lost
    weight = part.original.detach().double()
    stored = part.grid.scaled(part.original.detach())
    steps = steps_of(part.grid.bits)
    factors = torch.ones(n_inputs) if part.grid.factors is None else part.grid.factors
    moment = moment / (factors[:, None] * factors)
    with_lost = with_lost / factors[:, None]
    moment = moment + DAMPING * moment.diagonal().mean() * torch.eye(n_inputs, dtype=moment.dtype)
    scale = row_scales(stored, steps, part.grid.bound)
    aim = stored + torch.linalg.solve(moment, with_lost @ weight.T).T
    values = feed_back(aim, moment, scale, steps).clamp_(-steps * scale, steps * scale)
    # this one keeps its row's scale
    rows = torch.arange(len(values))
    largest = values.abs().argmax(1)
    kept = torch.where(stored.abs().amax(1) > 0, steps * scale[:, 0], 0)  # a row of zeros stays one
    values[rows, largest] = torch.copysign(kept, values[rows, largest])
    with torch.no_grad():
        part.original.copy_(values / factors)
        if bias is not None:
            bias.add_((weight @ (mean + mean_lost) - part.linear.weight.double() @ mean).float())
