"""A smaller student out of the teacher: evenly chosen layers, with embeddings and head copied; or another encoder."""

import copy

from tokenizers import Tokenizer

from distill.losses import matching_layer
from qa.cli import check_option
from qa.errors import OptionError
from qa.models.encoders import Encoder
from qa.models.model import QAModel
from qa.models.surgery import shrink_to


def kept_layers(n_student: int, n_teacher: int) -> list[int]:
    """Which teacher layers (from 0) a student keeps: evenly spaced, always the last; of 6, 3 keep [1, 3, 5]."""
    return [matching_layer(index, n_student, n_teacher) - 1 for index in range(1, n_student + 1)]


def student_from_layers(teacher: QAModel, n_layers: int, head_name: str | None = None, seed: int = 0) -> QAModel:
    """A student with `n_layers` of the teacher's layers; weights are copied, the teacher stays as it is.

    The head is copied too when it is the teacher's; another one starts fresh. OptionError when the teacher has fewer layers.
    """
    parts = teacher.encoder.layer_parts()
    check_option(1 <= n_layers <= len(parts), "--student-layers", n_layers, f"between 1 and the teacher's {len(parts)}")
    chosen = kept_layers(n_layers, len(parts))
    config = copy.deepcopy(teacher.encoder.config)
    config.num_hidden_layers = n_layers  # DistilBERT's n_layers is an alias of it
    student = QAModel(Encoder(config), head_name or teacher.head_name, teacher.activation, seed)
    shrink_to(student.encoder.layer_parts(), [parts[i].n_heads for i in chosen], [parts[i].n_neurons for i in chosen])
    student.encoder.model.embeddings.load_state_dict(teacher.encoder.model.embeddings.state_dict())
    for target, index in zip(student.encoder.layers, chosen, strict=True):
        target.load_state_dict(teacher.encoder.layers[index].state_dict())
    copy_head(teacher, student)
    return student


def copy_head(teacher: QAModel, student: QAModel) -> bool:
    """Start the student's head from the teacher's where both are alike; whether it was so."""
    ours, theirs = student.head.state_dict(), teacher.head.state_dict()
    shapes = [{name: tensor.shape for name, tensor in state.items()} for state in (ours, theirs)]
    alike = student.head_name == teacher.head_name and shapes[0] == shapes[1]
    if alike:
        student.head.load_state_dict(theirs)
    return alike


def check_same_tokens(teacher: Tokenizer, student: Tokenizer) -> None:
    """OptionError unless both cut a text into the same token ids, without which logits cannot be compared."""
    if teacher.get_vocab() != student.get_vocab() or teacher.normalizer.__getstate__() != student.normalizer.__getstate__():
        raise OptionError(
            "--student-encoder: its tokenizer differs from the teacher's (vocabulary or normalization), so their logits cannot "
            "be compared; choose a student encoder with the teacher's vocabulary, or use --student-layers"
        )


def check_same_width(teacher: QAModel, student: QAModel, hidden_weight: float) -> None:
    """OptionError when hidden states are to be compared but differ in width."""
    ours, theirs = student.encoder.hidden_size, teacher.encoder.hidden_size
    if hidden_weight > 0 and ours != theirs:
        raise OptionError(f"--hidden-weight {hidden_weight}: student is {ours} wide and teacher {theirs}; give --hidden-weight 0")

