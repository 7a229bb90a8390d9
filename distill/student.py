"""Build a smaller student: some layers of the teacher with its embeddings and head, or a standalone model.

A student of the teacher's layers keeps the teacher's head. A head that is named is fresh, so that no head has
a head start over others.
"""

import copy
import json
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import nn

from distill.training.losses import matching_layer
from qa.base.cli import check_option
from qa.base.errors import OptionError
from qa.models.architectures import encoder_type
from qa.models.encoders import Encoder
from qa.models.model import QAModel
from qa.models.surgery import shrink_to


def kept_layers(n_student: int, n_teacher: int) -> list[int]:
    """Return the teacher layers (from 0) that a student keeps.

    They are evenly spaced and end with the last; of 6, 3 keep [1, 3, 5].
    """
    return [matching_layer(index, n_student, n_teacher) - 1 for index in range(1, n_student + 1)]


def student_from_layers(
    teacher: QAModel, n_layers: int, head_name: str | None = None, seed: int = 0
) -> QAModel:
    """Return a student with `n_layers` of the teacher's layers; weights are copied, the teacher stays the
    same.

    The teacher's head is copied too; a head that is named is fresh. OptionError when the teacher has fewer
    layers, or none.
    """
    layers = teacher.encoder.layers
    if not layers:
        raise OptionError(
            f"the teacher is a {teacher.head_name} model, without layers that a student could keep; give "
            "--student-encoder"
        )
    check_option(
        1 <= n_layers <= len(layers),
        "--student-layers",
        n_layers,
        f"between 1 and the teacher's {len(layers)}",
    )
    chosen = [layers[index] for index in kept_layers(n_layers, len(layers))]
    config = copy.deepcopy(teacher.encoder.config)
    config.num_hidden_layers = n_layers  # DistilBERT's n_layers is an alias of it
    student = QAModel(Encoder(config), head_name or teacher.head_name, teacher.activation, seed)
    parts = teacher.encoder.layer_parts(chosen)
    shrink_to(student.encoder.layer_parts(), [p.n_heads for p in parts], [p.n_neurons for p in parts])
    for target, source in zip(student.encoder.layers, chosen, strict=True):
        target.load_state_dict(source.state_dict())
    student.encoder.set_words(copy.deepcopy(teacher.encoder.words))  # of any form
    copy_outside_layers(teacher.encoder, student.encoder)
    if head_name is None:
        student.head.load_state_dict(teacher.head.state_dict())
    return student


def copy_outside_layers(teacher: Encoder, student: Encoder) -> None:
    """Copy what the teacher has before its layers: embeddings, and their projection to the layers' width."""
    inside = {parameter for layer in student.layers for parameter in layer.parameters()}
    with torch.no_grad():
        for name, parameter in student.model.named_parameters():
            if parameter not in inside:
                parameter.copy_(teacher.model.get_parameter(name))


def standalone_student(name: str, teacher: QAModel, tokenizer: Tokenizer, seed: int, **sizes: int) -> QAModel:
    """Return a fresh standalone model with the teacher's word vectors; `sizes` override its config."""
    words = teacher.encoder.model.get_input_embeddings().weight
    config = encoder_type(name).config_class(vocab_size=words.shape[0], word_size=words.shape[1], **sizes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        student = QAModel(Encoder(config), name, teacher.activation)
    student.encoder.model.init_from_teacher(words, tokenizer)
    return student


def same_tokens(one: Tokenizer, other: Tokenizer) -> bool:
    """Return True where both tokenizers cut any text into the same token ids."""
    first, second = (json.loads(tokenizer.to_str()) for tokenizer in (one, other))
    same_parts = all(first[name] == second[name] for name in ("normalizer", "pre_tokenizer"))
    same_merges = first["model"].get("merges") == second["model"].get("merges")
    # Special tokens are text where somebody wrote them.
    words = [{t["content"] for t in parts["added_tokens"] if not t["special"]} for parts in (first, second)]
    same_words = words[0] == words[1]
    return same_parts and same_merges and same_words and one.get_vocab() == other.get_vocab()


def set_attention_dropout(model: QAModel, share: float) -> None:
    """Set the dropout of attention weights in place, in encoders of any family."""
    for module in model.encoder.modules():
        if hasattr(module, "attention_head_size"):
            dropout: Any = getattr(module, "attention_dropout", None) or module.dropout
            dropout.p = share


def disable_dropout(model: QAModel) -> None:
    """Set all dropout to 0 in place."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
