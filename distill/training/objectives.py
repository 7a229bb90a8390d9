"""Training objectives: gold answers only (a teacher), or gold answers and a teacher's output (a student)."""

import numpy as np
from torch import Tensor, nn

from distill.training.batches import model_inputs
from distill.training.losses import hard_loss, hidden_loss, soft_loss
from distill.training.options import DistillationWeights
from distill.training.teacher_logits import TeacherLogits


def supervised(model: nn.Module, batch: dict[str, Tensor], indices: np.ndarray) -> dict[str, Tensor]:
    """Return the cross-entropy with the gold answer."""
    output = model(**model_inputs(batch))
    return {"loss": _hard_loss((output["start_logits"], output["end_logits"]), batch)}


def _hard_loss(logits: tuple[Tensor, Tensor], batch: dict[str, Tensor]) -> Tensor:
    positions = batch["start_positions"], batch["end_positions"]
    return hard_loss(*logits, *positions, batch["valid"], batch["n_labelled"])


class Distillation:
    """Weighted sum of hard, soft and hidden loss against one teacher."""

    def __init__(self, teacher: TeacherLogits, weights: DistillationWeights) -> None:
        self.teacher = teacher
        self.weights = weights

    def __call__(self, model: nn.Module, batch: dict[str, Tensor], indices: np.ndarray) -> dict[str, Tensor]:
        """Return the terms by name, and their sum as "loss"."""
        weights = self.weights
        compare_hidden = self.weights.hidden_weight > 0
        start, end, teacher_states = self.teacher(batch, indices, compare_hidden)
        output = model(**model_inputs(batch), hidden_states=compare_hidden)
        logits = (output["start_logits"], output["end_logits"])
        valid = batch["valid"]
        hard = _hard_loss(logits, batch)
        soft = soft_loss(logits, (start, end), valid, weights.temperature)
        terms = {"hard": hard, "soft": soft}
        loss = weights.alpha * hard + (1 - weights.alpha) * soft
        if compare_hidden:
            states = output["hidden_states"]
            terms["hidden"] = hidden_loss(states, teacher_states, batch["attention_mask"], batch["n_tokens"])
            loss = loss + weights.hidden_weight * terms["hidden"]
        return {"loss": loss, **terms}
