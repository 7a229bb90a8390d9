"""Encoders: BERT and DistilBERT as transformers has them, and where pruning finds their layers.

What differs between architectures stands here once; no other module asks which encoder it holds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from transformers import BertConfig, BertModel, DistilBertConfig, DistilBertModel, PretrainedConfig, PreTrainedModel

from qa.errors import OptionError


@dataclass(frozen=True)
class LayerParts:
    """The Linear layers of one encoder layer, and the dropout of its attention.

    Pruning edits the Linears in place; the layer's forward follows their sizes.
    """

    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    attention_output: nn.Linear
    up: nn.Linear
    down: nn.Linear
    head_size: int
    attention_dropout: nn.Dropout

    @property
    def n_heads(self) -> int:
        """Attention heads this layer has now."""
        return self.query.out_features // self.head_size

    @property
    def n_neurons(self) -> int:
        """Feed-forward neurons this layer has now."""
        return self.up.out_features


@dataclass(frozen=True)
class EncoderType:
    """One architecture: how to build it, where its layers are, and which inputs it takes."""

    config_class: type[PretrainedConfig]
    build: Callable[[Any], PreTrainedModel]
    layers: Callable[[Any], nn.ModuleList]
    parts: Callable[[Any], LayerParts]
    takes_token_types: bool


def _bert_parts(layer: Any) -> LayerParts:
    attention = layer.attention.self
    return LayerParts(
        attention.query, attention.key, attention.value, layer.attention.output.dense,
        layer.intermediate.dense, layer.output.dense, attention.attention_head_size, attention.dropout,
    )  # fmt: skip


def _distilbert_parts(layer: Any) -> LayerParts:
    attention = layer.attention
    return LayerParts(
        attention.q_lin, attention.k_lin, attention.v_lin, attention.out_lin,
        layer.ffn.lin1, layer.ffn.lin2, attention.attention_head_size, attention.dropout,
    )  # fmt: skip


ENCODERS: dict[str, EncoderType] = {
    # Without the pooler: no head uses it, and it would count as parameters.
    "bert": EncoderType(
        BertConfig, lambda c: BertModel(c, add_pooling_layer=False), lambda m: m.encoder.layer, _bert_parts, True
    ),
    "distilbert": EncoderType(DistilBertConfig, DistilBertModel, lambda m: m.transformer.layer, _distilbert_parts, False),
}


def encoder_type(name: str, where: str) -> EncoderType:
    """The registry entry for a transformers `model_type`; OptionError lists the known ones."""
    if name not in ENCODERS:
        raise OptionError(f"{where}: unknown encoder type {name!r}; known: {', '.join(ENCODERS)}")
    return ENCODERS[name]


class Encoder(nn.Module):
    """A transformers encoder behind one call, whatever its inputs are called.

    The padding mask is made here, additive, the same in training and in every exported graph: Hugging Face's own mask code
    brings operators that old runtimes refuse. -1e4 fits fp16, and exp(-1e4) is exactly 0 in fp32.
    """

    MASK = -1e4

    def __init__(self, config: PretrainedConfig) -> None:
        super().__init__()
        self.architecture = encoder_type(config.model_type, "encoder config")
        self.model = self.architecture.build(config)
        self.config = config

    @property
    def hidden_size(self) -> int:
        """H, the width of the states."""
        return self.config.hidden_size

    @property
    def layers(self) -> nn.ModuleList:
        """The encoder's layers, in order."""
        return self.architecture.layers(self.model)

    def layer_parts(self) -> list[LayerParts]:
        """The Linear layers of every encoder layer, in order."""
        return [self.architecture.parts(layer) for layer in self.layers]

    def set_attention(self, implementation: str) -> None:
        """Choose transformers' attention: "sdpa" to compute, "eager" to export (it traces to plain, fusible operators)."""
        self.model.set_attn_implementation(implementation)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor,
        hidden_states: bool = False,
        position_ids: Tensor | None = None,
    ) -> tuple[Tensor, Sequence[Tensor]]:
        """Last states (B, T, H), and with `hidden_states` also those after the embeddings and after every layer.

        `position_ids` (B, T) default to 0, 1, 2 ...; an exporter may compute them its own way.
        """
        mask = (1.0 - attention_mask[:, None, None, :].to(self.model.dtype)) * self.MASK  # (B, 1, 1, T)
        inputs = {"token_type_ids": token_type_ids} if self.architecture.takes_token_types else {}
        more = {"output_hidden_states": True} if hidden_states else {}
        output = self.model(input_ids=input_ids, attention_mask=mask, position_ids=position_ids, **inputs, **more)
        return output.last_hidden_state, output.hidden_states if hidden_states else ()
