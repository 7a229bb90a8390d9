"""Plain attention: the numbers and gradients of PyTorch's own, and nothing wide in fp32."""

import torch
from gradients import made, with_gradients
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from qa.models.attention import plain_attention
from qa.models.heads.segments import MASKED

TOKENS, HEAD_SIZE = 7, 4


def test_attention_and_its_gradients_equal_those_of_pytorch() -> None:
    states = [made(2, 3, TOKENS, HEAD_SIZE, seed=seed) for seed in range(3)]
    mask = torch.zeros(2, 1, 1, TOKENS)
    mask[1, ..., 5:] = MASKED
    wanted = scaled_dot_product_attention(*states, attn_mask=mask.double(), scale=0.3).transpose(1, 2)
    found, _ = plain_attention(nn.Module(), *states, mask, scaling=0.3)
    torch.testing.assert_close(with_gradients(found, *states), with_gradients(wanted, *states))


def test_in_bf16_nothing_with_a_number_for_each_pair_of_tokens_is_fp32() -> None:
    kept = []
    states = [made(2, 3, TOKENS, HEAD_SIZE).bfloat16() for _ in range(3)]
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor, lambda t: t):
        plain_attention(nn.Module(), *states, torch.zeros(2, 1, 1, TOKENS), scaling=1.0)
    pairs = [tensor for tensor in kept if tensor.numel() == 2 * 3 * TOKENS * TOKENS]
    assert pairs
    assert {tensor.dtype for tensor in pairs} == {torch.bfloat16}
