"""Attention and low-rank Linears as training computes them: the numbers of the plain formulas."""

import pytest
import torch
from torch import nn
from torch.nn.functional import linear, scaled_dot_product_attention

from distill.training.attention import trained_attention
from distill.training.lora import SCALE, LoraLinear
from qa.models.heads.segments import MASKED

TOKENS, HEAD_SIZE = 7, 4


def with_gradients(value: torch.Tensor, *inputs: torch.Tensor) -> list[torch.Tensor]:
    """Return a value and the gradients of a sum of it, in which every number has another weight."""
    weights = torch.linspace(-1, 1, value.numel(), dtype=value.dtype).view_as(value)
    return [value, *torch.autograd.grad((value * weights).sum(), inputs)]


def made(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def test_attention_and_its_gradients_equal_those_of_pytorch() -> None:
    states = [made(2, 3, TOKENS, HEAD_SIZE, seed=seed) for seed in range(3)]
    mask = torch.zeros(2, 1, 1, TOKENS)
    mask[1, ..., 5:] = MASKED
    wanted = scaled_dot_product_attention(*states, attn_mask=mask.double(), scale=0.3).transpose(1, 2)
    found, _ = trained_attention(nn.Module(), *states, mask, scaling=0.3)
    torch.testing.assert_close(with_gradients(found, *states), with_gradients(wanted, *states))


def test_in_bf16_nothing_with_a_number_for_each_pair_of_tokens_is_fp32() -> None:
    kept = []
    states = [made(2, 3, TOKENS, HEAD_SIZE).bfloat16() for _ in range(3)]
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor, lambda t: t):
        trained_attention(nn.Module(), *states, torch.zeros(2, 1, 1, TOKENS), scaling=1.0)
    pairs = [tensor for tensor in kept if tensor.numel() == 2 * 3 * TOKENS * TOKENS]
    assert pairs
    assert {tensor.dtype for tensor in pairs} == {torch.bfloat16}


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


def test_a_low_rank_linear_computes_in_the_precision_of_autocast() -> None:
    layer = LoraLinear(nn.Linear(6, 5).requires_grad_(False), rank=2)
    with torch.autocast("cpu", torch.bfloat16):
        rows = layer(torch.ones(4, 6))
    assert rows.dtype == torch.bfloat16
    rows.float().sum().backward()
    assert layer.up.grad is not None
    assert layer.up.grad.dtype == torch.float32
