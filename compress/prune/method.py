"""What a method of compress.prune.stage is: its options, what it does to a model before and during recovery,
and what it reports."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from distill.training.trainer import AfterStep
from qa.models.model import QAModel
from qa.text.features import Window

Flags = TypeVar("Flags")


class PruningMethod(Generic[Flags]):
    """One method with its `flags`, a dataclass that the options of compress.prune.stage are made of."""

    def __init__(self, flags: Flags) -> None:
        self.flags = flags

    def depends_on(self) -> tuple[Any, ...]:
        """The options that decide which weights are pruned: a checkpoint goes on only with the same."""
        raise NotImplementedError

    def check(self, model: QAModel, max_length: int) -> None:
        """OptionError when the model cannot be pruned so; before any work is done."""

    def prune(
        self,
        model: QAModel,
        before: QAModel,
        windows: Sequence[Window],
        max_length: int,
        work: Path,
        seed: int,
    ) -> dict[str, Any]:
        """Prune `model`, a copy of `before`, in place before it recovers; what was done, for the manifest."""
        return {}

    def after_step(self, model: QAModel) -> AfterStep | None:
        """What to do after each step of recovery."""
        return None

    def report(self, before: QAModel, after: QAModel) -> str:
        """What came of it, in a line."""
        raise NotImplementedError
