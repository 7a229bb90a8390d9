"""Training without dropout, and a model without the autocast that training leaves on it."""

from torch import nn

from qa.models.model import QAModel


def disable_attention_dropout(model: QAModel) -> None:
    """Set attention dropout to 0 in place.

    It needs (B, heads, T, T) arrays, which cost a quarter of the speed (docs/results/training.md). What it is
    worth in F1 was not measured.
    """
    for parts in model.encoder.layer_parts():
        parts.attention_dropout.p = 0.0


def disable_dropout(model: QAModel) -> None:
    """Set all dropout to 0 in place."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0


def without_autocast(model: QAModel) -> QAModel:
    """Return the same model without the bf16 autocast that training leaves on it."""
    copied = QAModel.from_config(model.config())
    copied.load_state_dict(model.state_dict())
    return copied.eval()
