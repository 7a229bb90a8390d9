"""Interface of a pruning method: what it does to a model before and during recovery, and its report."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from torch import Tensor, nn

from distill.training.trainer import AfterStep
from qa.models.model import QAModel
from qa.text.features import Window
from qa.text.settings import QASettings

Flags = TypeVar("Flags")


class PruningMethod(Generic[Flags]):
    """Pruning method with its `flags`, a dataclass that PruneOptions extends, and the model's settings."""

    def __init__(self, flags: Flags, settings: QASettings) -> None:
        self.flags = flags
        self.settings = settings

    def check(self, model: QAModel) -> None:
        """Raise OptionError when the model cannot be pruned by this method, before any work is done."""

    def prune(
        self, model: QAModel, before: QAModel, windows: Sequence[Window], work: Path, seed: int
    ) -> dict[str, Any]:
        """Prune `model`, a copy of `before`, in place before it recovers; return facts for the manifest."""
        return {}

    def after_step(self, model: QAModel) -> AfterStep | None:
        """Return a callback for after each step of recovery."""
        return None

    def report(self, before: QAModel, after: QAModel) -> str:
        """Return one line about the result."""
        raise NotImplementedError


def linear_weights(model: QAModel) -> dict[str, Tensor]:
    """Return the weights that may become zero: those of every Linear and LSTM, without biases."""
    kinds = (nn.Linear, nn.LSTM)
    modules = [(name, module) for name, module in model.named_modules() if isinstance(module, kinds)]
    return {
        f"{name}.{key}": weight
        for name, module in modules
        for key, weight in module.named_parameters()
        if "weight" in key
    }


def share_of_zeros(model: QAModel) -> float:
    """Return the share of zeros among the weights that pruning may change."""
    weights = linear_weights(model).values()
    return sum(int((w == 0).sum()) for w in weights) / sum(w.numel() for w in weights)
