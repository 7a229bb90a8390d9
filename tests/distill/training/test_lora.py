"""Low-rank Linears: the numbers and gradients of the plain formula, in the precision of autocast."""

import pytest
import torch
from gradients import made, with_gradients
from torch import nn
from torch.nn.functional import linear

from distill.training.lora import SCALE, LoraLinear


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("state_is_trained", [True, False])
def test_a_low_rank_linear_and_its_gradients_equal_the_formula(bias: bool, state_is_trained: bool) -> None:
    base = nn.Linear(6, 5, bias, dtype=torch.float64).requires_grad_(False)
    layer = LoraLinear(base, rank=2).double()
    with torch.no_grad():
        layer.up.copy_(made(5, 2))
    states = made(2, 3, 6).detach().requires_grad_(state_is_trained)
    inputs = [layer.down, layer.up, *([states] if state_is_trained else [])]
    wanted = linear(states, base.weight + SCALE * layer.up @ layer.down, base.bias)
    torch.testing.assert_close(with_gradients(layer(states), *inputs), with_gradients(wanted, *inputs))
    merged = layer.float().merged()(states.float())  # rounded as it is stored
    torch.testing.assert_close(merged, wanted.float(), atol=0.01, rtol=0.01)


def test_a_low_rank_linear_computes_in_the_precision_of_autocast() -> None:
    layer = LoraLinear(nn.Linear(6, 5).requires_grad_(False), rank=2)
    with torch.autocast("cpu", torch.bfloat16):
        rows = layer(torch.ones(4, 6))
    assert rows.dtype == torch.bfloat16
    rows.float().sum().backward()
    assert layer.up.grad is not None
    assert layer.up.grad.dtype == torch.float32
