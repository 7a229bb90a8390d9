"""Encoder of any architecture of the registry, behind one call."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig

from qa.base.cli import check_option
from qa.base.errors import OptionError, UnsupportedExport
from qa.formats.tensors import INPUTS
from qa.models.architectures import LayerParts, encoder_type
from qa.models.quantized_embedding import ProductQuantizedEmbedding

TOKEN_TYPES = "token_type_embeddings"  # as every encoder of transformers has them that has types


class Encoder(nn.Module):
    """Encoder behind one call, whatever its inputs' names; of a standalone model all but the output layer."""

    positions: Tensor

    def __init__(self, config: PretrainedConfig) -> None:
        super().__init__()
        self.architecture = encoder_type(config.model_type, "encoder config")
        self.model = self.architecture.build(config)
        self.config = config
        self.n_token_types = self.architecture.n_token_types(config)
        self.first_position = self.architecture.first_position(config)
        positions = torch.arange(self.first_position, self.first_position + self.max_length)
        self.register_buffer("positions", positions[None], persistent=False)  # (1, max_length)

    @property
    def hidden_size(self) -> int:
        """Width H of the states."""
        return self.config.hidden_size

    @property
    def max_length(self) -> int:
        """Number of tokens that it has positions for."""
        return self.config.max_position_embeddings - self.first_position

    @property
    def inputs(self) -> tuple[str, ...]:
        """Inputs of transformers' own class; ours takes all inputs, and so does every exported graph."""
        return INPUTS if self.n_token_types > 1 else INPUTS[:2]

    def keep_first_token_type(self) -> None:
        """Drop all token types except the first: all tokens of every window get that one."""
        for module in self.model.modules():
            if isinstance(table := getattr(module, TOKEN_TYPES, None), nn.Embedding):
                rows = table.weight.detach()[:1].clone()
                setattr(module, TOKEN_TYPES, nn.Embedding.from_pretrained(rows, freeze=False))
                self.config.type_vocab_size = self.n_token_types = 1

    @property
    def words(self) -> nn.Embedding | ProductQuantizedEmbedding:
        """Word embedding table; it may be narrower than the layers."""
        return self.model.get_input_embeddings()

    def set_words(self, table: nn.Module) -> None:
        """Replace the word embedding table by one of the same vocabulary and width."""
        self.model.set_input_embeddings(table)

    def check_length(self, max_length: int) -> None:
        """Raise OptionError unless it has positions for windows of `max_length` tokens."""
        wanted = f"at most {self.max_length}, the positions of the encoder"
        check_option(max_length <= self.max_length, "--max-length", max_length, wanted)

    @property
    def layers(self) -> Sequence[nn.Module]:
        """Layer of each step, in order; a shared layer occurs more than once, a standalone model has none."""
        return self.architecture.layers(self.model)

    @property
    def shares_layers(self) -> bool:
        """Return whether a layer is applied several times, as ALBERT's."""
        return len(set(self.layers)) < len(self.layers)

    def layer_parts(self, layers: Sequence[nn.Module] | None = None) -> list[LayerParts]:
        """Return the parts of `layers` (by default all), in order, a shared layer once; empty without any."""
        parts = self.architecture.parts
        if parts is None:
            return []
        return [parts(layer) for layer in dict.fromkeys(self.layers if layers is None else layers)]

    def check_prunable(self, instead: str) -> None:
        """Raise OptionError with the reason and `instead` when layers have no heads and neurons to remove."""
        if self.architecture.parts is None:
            raise OptionError(
                f"a {self.config.model_type} encoder cannot be pruned by heads and neurons: "
                f"{self.architecture.unprunable}; {instead}"
            )

    def check_tflite(self) -> None:
        """Raise UnsupportedExport for an architecture that TFLite cannot express."""
        reason = self.architecture.no_tflite
        if reason:
            name = self.config.model_type
            raise UnsupportedExport(
                f"TFLite cannot express a {name} model: {reason}; use python -m export.onnx"
            )

    def set_attention(self, implementation: str) -> None:
        """Choose the attention: "sdpa" to compute; to export, "eager", which traces to plain, fusible
        operators, or another that is registered with transformers.
        """
        self.model.set_attn_implementation(implementation)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor,
        hidden_states: bool = False,
        position_ids: Tensor | None = None,
    ) -> tuple[Tensor, Sequence[Tensor]]:
        """Return the last states (B, T, H), and with `hidden_states` those after the embeddings and every
        layer.

        `position_ids` (B, T) start at first_position by default; an exporter may compute them in another way.
        """
        mask = self.architecture.mask(attention_mask, self.model.dtype)
        if position_ids is None:
            position_ids = self.positions[:, : input_ids.shape[1]]
        more = {"output_hidden_states": True} if hidden_states else {}
        words = self.architecture.embed_inputs(self.model, input_ids, attention_mask)
        if self.n_token_types == 1:
            token_type_ids = token_type_ids.clamp(max=0)  # the input stays in an exported graph
        types = {"token_type_ids": token_type_ids} if self.n_token_types else {}
        output = self.model(**words, **types, attention_mask=mask, position_ids=position_ids, **more)
        return output.last_hidden_state, output.hidden_states if hidden_states else ()


@contextmanager
def attention(encoder: Encoder, implementation: str) -> Iterator[None]:
    """Use an attention implementation inside the block, and the former one after it."""
    former = encoder.config._attn_implementation
    encoder.set_attention(implementation)
    try:
        yield
    finally:
        encoder.set_attention(former)
