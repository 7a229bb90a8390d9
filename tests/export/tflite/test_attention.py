"""export.tflite.attention: heads computed in groups give what PyTorch's own attention gives."""

import pytest
import torch
from tiny_models import one_layer
from torch import nn

from export.tflite.attention import fuse_projections, fused_attention, grouped_attention, head_groups
from export.tflite.convert import convert
from export.tflite.file import TFLiteFile
from export.tflite.structure import read_structure
from qa.formats.package import fixed_signatures
from qa.models.architectures import MASKED

HEAD_SIZE = 8
TOKENS = 11
REAL_TOKENS = 7


def made_states(n_heads: int) -> tuple[torch.Tensor, ...]:
    """Query, key and value (2, N, T, D)."""
    generator = torch.Generator().manual_seed(n_heads)
    return tuple(torch.randn(2, n_heads, TOKENS, HEAD_SIZE, generator=generator) for _ in range(3))


@pytest.mark.parametrize("n_heads", [1, 2, 4, 5, 9, 12, 16])
@pytest.mark.parametrize("scaling", [HEAD_SIZE**-0.5, 1.5])
def test_equals_the_attention_of_pytorch(n_heads: int, scaling: float) -> None:
    query, key, value = made_states(n_heads)
    mask = torch.zeros(2, 1, 1, TOKENS)
    mask[1, ..., REAL_TOKENS:] = MASKED
    wanted = nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=scaling
    ).transpose(1, 2)
    found, _ = grouped_attention(nn.Module(), query, key, value, mask, scaling=scaling)
    torch.testing.assert_close(found, wanted)
    found, _ = fused_attention(nn.Module(), torch.cat([query * scaling, key, value], dim=1), key, value, mask)
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("n_heads", [4, 5, 12])
def test_each_head_has_its_own_bias_of_positions(n_heads: int) -> None:
    """MPNet's bias is one with the mask."""
    query, key, value = made_states(n_heads)
    mask = torch.randn(1, n_heads, TOKENS, TOKENS, generator=torch.Generator().manual_seed(0))
    wanted = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2)
    found, _ = grouped_attention(nn.Module(), query, key, value, mask, scaling=HEAD_SIZE**-0.5)
    torch.testing.assert_close(found, wanted)


def test_one_linear_gives_the_scaled_query_the_key_and_the_value() -> None:
    query, key, value = (nn.Linear(6, n) for n in (4, 4, 4))
    states = torch.randn(2, 5, 6)
    wanted = torch.cat([query(states) * 0.5, key(states), value(states)], dim=2)
    fuse_projections(query, key, value, 0.5)
    torch.testing.assert_close(query(states), wanted)


def test_groups_are_equal_and_hold_four_heads_at_most_where_that_is_possible() -> None:
    sizes = {n: [group.stop - group.start for group in head_groups(n)] for n in (1, 3, 4, 5, 6, 9, 12)}
    assert sizes == {1: [1], 3: [3], 4: [4], 5: [5], 6: [3, 3], 9: [3, 3, 3], 12: [4, 4, 4]}
    assert head_groups(6) == [slice(0, 3), slice(3, 6)]


def test_no_head_of_six_is_computed_alone() -> None:
    model = one_layer(n_heads=6, n_positions=96)
    structure = read_structure(TFLiteFile(convert(model, fixed_signatures([96]))))
    # Two groups, each with one softmax and two products; no product became a FULLY_CONNECTED beside the
    # Linears, of which one gives query, key and value.
    products = {name: structure.operators[name] for name in ("SOFTMAX", "BATCH_MATMUL", "FULLY_CONNECTED")}
    assert products == {"SOFTMAX": 2, "BATCH_MATMUL": 4, "FULLY_CONNECTED": 5}
