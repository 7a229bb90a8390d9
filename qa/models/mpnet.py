"""MPNet (Song et al. 2020): a BERT without token types whose attention adds a bias per relative position.

The weights have transformers' names. Attention goes through transformers' attention interface, like BERT's,
so one call chooses its implementation. Heads can be removed from a layer, which then keeps its own share of
the bias.

Letters: B batch, T tokens, N heads, D size of a head, H hidden size.
"""

from typing import Any

import torch
from torch import Tensor

from qa.base.quiet import NOISY_IMPORTS, quiet_logs
from qa.models.attention import plain_attention

with quiet_logs(*NOISY_IMPORTS):
    from transformers import MPNetModel
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder, MPNetSelfAttention


class PrunableAttention(MPNetSelfAttention):
    """Self-attention with as many heads as its Linear layers have rows for."""

    is_causal = False
    heads: Tensor

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.config = config
        # Saved only once heads were removed, so that an unpruned model has the weights of transformers only.
        self.register_buffer("heads", torch.arange(self.num_attention_heads), persistent=False)
        self.slices: list[slice] | None = None

    def keep_heads(self, kept: Tensor) -> None:
        """Keep the bias of these heads (K,), counted among those that the layer has now."""
        left = self.heads[kept.to(self.heads.device)].clone()
        self.register_buffer("heads", left, persistent=len(left) < self.num_attention_heads)

    def use_slices(self) -> None:
        """Take the bias of the heads that are left by slices: TFLite has no operator for an index here."""
        if len(self.heads) < self.num_attention_heads:
            self.slices = [slice(head, head + 1) for head in self.heads.tolist()]

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor, position_bias: Tensor, **_: Any
    ) -> tuple[Tensor]:
        """Map (B, T, H) with an additive mask (B, 1, 1, T) and a bias (1, N of an unpruned layer, T, T) to
        (B, T, H)."""
        shape = (*hidden_states.shape[:-1], -1, self.attention_head_size)
        query, key, value = (
            linear(hidden_states).view(shape).transpose(1, 2) for linear in (self.q, self.k, self.v)
        )
        if self.slices is not None:
            position_bias = torch.cat([position_bias[:, kept] for kept in self.slices], dim=1)
        elif len(self.heads) < self.num_attention_heads:
            position_bias = position_bias[:, self.heads]
        attend = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, plain_attention)
        output, _ = attend(
            self,
            query,
            key,
            value,
            # Two sums of T x T numbers would not stay in the precision of autocast.
            attention_mask.to(query.dtype) + position_bias.to(query.dtype),
            dropout=self.dropout.p if self.training else 0.0,
            scaling=self.attention_head_size**-0.5,
        )  # (B, T, N, D)
        return (self.o(output.reshape(*shape[:-2], -1)),)


# Distances from which on tokens share a bucket with those further away, after 8 buckets of one distance each.
FURTHER = (12, 16, 23, 32, 46, 64, 91)


class _Encoder(MPNetEncoder):
    """Layers under one relative position bias."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        for layer in self.layer:
            layer.attention.attn = PrunableAttention(config)

    def compute_position_bias(
        self, x: Tensor, position_ids: Tensor | None = None, num_buckets: int = 32
    ) -> Tensor:
        """Return (1, N, T, T), the same for every window of a batch."""
        return super().compute_position_bias(x[:1], position_ids, num_buckets)

    @staticmethod
    def relative_position_bucket(
        relative_position: Tensor, num_buckets: int = 32, max_distance: int = 128
    ) -> Tensor:
        """Return the bucket of each distance (T, T): transformers' by integers, as its logarithm is not exact
        in fp16."""
        assert (num_buckets, max_distance) == (32, 128)
        distance = relative_position.abs()
        bucket = distance.clamp(max=8)
        for further in FURTHER:
            bucket = bucket + (distance >= further).long()
        return bucket + 16 * (relative_position > 0).long()


class MPNet(MPNetModel):
    """transformers' MPNet without a pooler, with attention that can be chosen and pruned."""

    fixed_lengths = True  # its TFLite file has a graph for each of some lengths,
    pair_bytes = 8  # with constants for each pair of tokens: the distances, twice in int32
    _supports_sdpa = True
    _supports_attention_backend = True

    def __init__(self, config: Any) -> None:
        super().__init__(config, add_pooling_layer=False)
        self.encoder = _Encoder(config)
        self.post_init()
