"""Names and config of a question-answering model in Hugging Face transformers.

There the encoder has its architecture's name ("bert.embeddings..."), and the head, one Linear, is
"qa_outputs". Models without a class in transformers (another head, pruned layers, a standalone model) keep
our names under the model type "pocketqa". transformers refuses that type by name and does not fill in random
weights.
"""

from collections.abc import Mapping
from typing import Any

import transformers
from torch import Tensor
from transformers import PretrainedConfig

from qa.models.architectures import encoder_type

OWN_TYPE = "pocketqa"
HEAD = "qa_outputs"
# Our names of the same: qa.models.model.QAModel's parts.
_OWN_ENCODER = "encoder.model"
_OWN_HEAD = "head.output"


def encoder_config(config: PretrainedConfig) -> dict[str, Any]:
    """Return all of an encoder's config that differs from transformers' defaults."""
    values = config.to_diff_dict()
    for key in ("dtype", "id2label", "label2id"):  # labels are those of a head for another task
        values.pop(key, None)
    return {"model_type": config.model_type, **values}


def hub_config(config: PretrainedConfig) -> dict[str, Any]:
    """Return config.json as transformers writes it for question answering with this encoder."""
    architecture = encoder_type(config.model_type, "encoder config").question_answering
    return encoder_config(config) | {"architectures": [architecture]}


def to_hub(tensors: Mapping[str, Tensor], model_type: str) -> dict[str, Tensor]:
    """Return the weights of a model with a `linear` head under transformers' names."""
    return _renamed(tensors, {_OWN_ENCODER: _prefix(model_type), _OWN_HEAD: HEAD})


def from_hub(tensors: Mapping[str, Tensor], model_type: str) -> dict[str, Tensor]:
    """Return the same weights under our names; our names stay."""
    return _renamed(tensors, {_prefix(model_type): _OWN_ENCODER, HEAD: _OWN_HEAD})


def _prefix(model_type: str) -> str:
    """Return what the names of an encoder's weights begin with: XLM-R's with `roberta`."""
    architecture = encoder_type(model_type).question_answering
    return str(getattr(transformers, architecture).base_model_prefix) if architecture else model_type


def _renamed(tensors: Mapping[str, Tensor], prefixes: Mapping[str, str]) -> dict[str, Tensor]:
    renamed = {}
    for name, tensor in tensors.items():
        prefix = next((prefix for prefix in prefixes if name.startswith(f"{prefix}.")), "")
        renamed[prefixes.get(prefix, "") + name.removeprefix(prefix)] = tensor
    return renamed
