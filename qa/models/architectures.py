"""Registry of encoders: how each architecture is built, where its layers are, and what inputs it takes.

All differences between architectures are here; no other module asks which encoder it has. MiniLM is a BERT of
its own size: its published configurations say `bert` (some MiniLMv2 say `roberta`), so it needs no entry.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import Any

import torch
from torch import Tensor, nn

from qa.base.errors import OptionError
from qa.base.quiet import NOISY_IMPORTS, quiet_logs
from qa.models.heads.segments import MASKED
from qa.models.mpnet import MPNet
from qa.models.standalone import STANDALONE_MODELS

with quiet_logs(*NOISY_IMPORTS):
    from transformers import (
        AlbertConfig,
        AlbertModel,
        BertConfig,
        BertModel,
        CamembertConfig,
        CamembertModel,
        DistilBertConfig,
        DistilBertModel,
        ElectraConfig,
        ElectraModel,
        MobileBertConfig,
        MobileBertModel,
        MPNetConfig,
        PretrainedConfig,
        PreTrainedModel,
        RobertaConfig,
        RobertaModel,
        XLMRobertaConfig,
        XLMRobertaModel,
    )


@dataclass(frozen=True)
class LayerParts:
    """Linear layers of one encoder layer.

    Pruning edits the Linears in place; the layer's forward follows their sizes.
    """

    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    attention_output: nn.Linear
    up: nn.Linear
    down: nn.Linear
    head_size: int
    on_keep_heads: Callable[[Tensor], None] | None = None
    """Called with the heads that stay, where a layer has more of a head than rows and columns of Linears."""

    @property
    def n_heads(self) -> int:
        """Number of attention heads."""
        return self.query.out_features // self.head_size

    @property
    def n_neurons(self) -> int:
        """Number of feed-forward neurons."""
        return self.up.out_features


def _parts(attention: str, inputs: tuple[str, str, str], *linears: str) -> Callable[[Any], LayerParts]:
    """Return a function that finds the parts of a layer by their names in it.

    `inputs` are query, key and value, by their names in the attention. `linears` are its output, up and down.
    """

    def parts(layer: Any) -> LayerParts:
        module = layer.get_submodule(attention)
        query, key, value = map(module.get_submodule, inputs)
        output, up, down = map(layer.get_submodule, linears)
        kept = module.attention_head_size, getattr(module, "keep_heads", None)
        return LayerParts(query, key, value, output, up, down, *kept)

    return parts


# Settings of config.json by which transformers may load kernels, compiled code, from a hub.
KERNELS = ("attn_implementation", "_attn_implementation")
_QUERY_KEY_VALUE = ("query", "key", "value")
_FEED_FORWARD = ("intermediate.dense", "output.dense")
_bert_parts = _parts("attention.self", _QUERY_KEY_VALUE, "attention.output.dense", *_FEED_FORWARD)
_distilbert_parts = _parts(
    "attention", ("q_lin", "k_lin", "v_lin"), "attention.out_lin", "ffn.lin1", "ffn.lin2"
)
_albert_parts = _parts("attention", _QUERY_KEY_VALUE, "attention.dense", "ffn", "ffn_output")
_mpnet_parts = _parts("attention.attn", ("q", "k", "v"), "attention.attn.o", *_FEED_FORWARD)


def _build_albert(config: Any) -> PreTrainedModel:
    if (config.num_hidden_groups, config.inner_group_num) != (1, 1):
        raise OptionError(
            f"encoder config: num_hidden_groups {config.num_hidden_groups} and inner_group_num "
            f"{config.inner_group_num}; only an ALBERT that runs one layer again and again (1 and 1, as "
            "every published one) is supported"
        )
    return AlbertModel(config, add_pooling_layer=False)


def _additive(attention_mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Return an additive mask (B, 1, 1, T), the same in training and in every export.

    Hugging Face's own mask brings operators that old runtimes refuse.
    """
    return (1.0 - attention_mask[:, None, None, :].to(dtype)) * MASKED  # (B, 1, 1, T)


def plain_mask(attention_mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the mask (B, T) as it is."""
    return attention_mask


def _ids(model: Any, input_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
    return {"input_ids": input_ids}


def _embeds_without_padding(model: Any, input_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
    words = model.embeddings.word_embeddings(input_ids)  # (B, T, E)
    return {"inputs_embeds": words * attention_mask[..., None].to(words.dtype)}


@dataclass(frozen=True)
class EncoderType:
    """Architecture: `config` is its transformers configuration, `model` the result of `build`."""

    config_class: type[PretrainedConfig]
    build: Callable[[Any], Any]
    """From config; without the pooler, which no head uses and which would count as parameters."""
    layers: Callable[[Any], Sequence[nn.Module]]
    """From model: the layer of each step, first to last; one that runs again and again is listed as often."""
    parts: Callable[[Any], LayerParts] | None
    """From one layer; None when a layer is not one attention and one feed-forward network, and cannot be
    pruned as such."""
    embed_inputs: Callable[[Any, Tensor, Tensor], dict[str, Tensor]] = _ids
    """From model, input_ids and attention_mask (B, T): the arguments by which the model gets its words."""
    mask: Callable[[Tensor, torch.dtype], Tensor] = _additive
    """From attention_mask (B, T) and the model's dtype: what the model gets of it."""
    n_token_types: Callable[[Any], int] = lambda config: getattr(config, "type_vocab_size", 2)
    """From config: number of token types that the model tells apart; 0 where it takes none."""
    first_position: Callable[[Any], int] = lambda config: 0
    """From config: the position id of a window's first token."""
    question_answering: str = ""
    """transformers' class for question answering with it; empty for a standalone model."""
    unprunable: str = ""
    """Reason why `parts` is None."""
    no_tflite: str = ""
    """Reason why TFLite cannot express it, where known."""
    no_qat: str = ""
    """Reason why a TFLite file cannot have the integers that `compress.qat` trains, where known."""
    output: Callable[[Any], nn.Module] | None = None
    """From config: the output layer of a standalone model, which takes no other head."""


_roberta = EncoderType(
    RobertaConfig,
    lambda c: RobertaModel(c, add_pooling_layer=False),
    lambda m: m.encoder.layer,
    _bert_parts,
    n_token_types=lambda c: 1,
    first_position=lambda c: c.pad_token_id + 1,  # fairseq numbers positions after the padding's
    question_answering="RobertaForQuestionAnswering",
)

ENCODERS: dict[str, EncoderType] = {
    "bert": EncoderType(
        BertConfig,
        lambda c: BertModel(c, add_pooling_layer=False),
        lambda m: m.encoder.layer,
        _bert_parts,
        question_answering="BertForQuestionAnswering",
    ),
    "distilbert": EncoderType(
        DistilBertConfig,
        DistilBertModel,
        lambda m: m.transformer.layer,
        _distilbert_parts,
        n_token_types=lambda c: 0,
        question_answering="DistilBertForQuestionAnswering",
    ),
    "electra": EncoderType(
        ElectraConfig,
        ElectraModel,  # with a projection where its embeddings are narrower than its layers
        lambda m: m.encoder.layer,
        _bert_parts,
        question_answering="ElectraForQuestionAnswering",
    ),
    "albert": EncoderType(
        AlbertConfig,
        _build_albert,
        lambda m: [m.encoder.albert_layer_groups[0].albert_layers[0]] * m.config.num_hidden_layers,
        _albert_parts,
        no_qat="its layers share their weights, and a TFLite file rounds the copies of one in different ways",
        question_answering="AlbertForQuestionAnswering",
    ),
    "roberta": _roberta,
    "xlm-roberta": replace(
        _roberta,
        config_class=XLMRobertaConfig,
        build=lambda c: XLMRobertaModel(c, add_pooling_layer=False),
        question_answering="XLMRobertaForQuestionAnswering",
    ),
    "camembert": replace(
        _roberta,
        config_class=CamembertConfig,
        build=lambda c: CamembertModel(c, add_pooling_layer=False),
        question_answering="CamembertForQuestionAnswering",
    ),
    "mpnet": EncoderType(
        MPNetConfig,
        MPNet,
        lambda m: m.encoder.layer,
        _mpnet_parts,
        n_token_types=lambda c: 0,
        first_position=lambda c: c.pad_token_id + 1,
        question_answering="MPNetForQuestionAnswering",
    ),
    "mobilebert": EncoderType(
        MobileBertConfig,
        lambda c: MobileBertModel(c, add_pooling_layer=False),
        lambda m: m.encoder.layer,
        None,
        # Each word is joined with its neighbours: beside padding it would have another one than at the end of
        # a window.
        embed_inputs=_embeds_without_padding,
        question_answering="MobileBertForQuestionAnswering",
        unprunable="each of its layers stacks several narrow feed-forward networks inside a bottleneck",
        no_qat="the factors of its norms go into the matrices of a TFLite file before these are rounded",
    ),
}


def encoder_type(name: str, where: str = "encoder") -> EncoderType:
    """Return the entry of a transformers `model_type` or standalone model; OptionError lists known names."""
    if name in STANDALONE_MODELS:
        entry: EncoderType = resolve_name(STANDALONE_MODELS[name])
        return entry
    if name not in ENCODERS:
        known = ", ".join((*ENCODERS, *STANDALONE_MODELS))
        raise OptionError(f"{where}: unknown encoder type {name!r}; known: {known}")
    return ENCODERS[name]
