"""Structured pruning: remove heads and feed-forward neurons; an ordinary dense model is left."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compress.prune.method import PruningMethod
from distill.prune_plan.importance import sample_labelled
from distill.prune_plan.options import PruningOptions
from distill.prune_plan.plan import check_pruning, prune_by_importance
from qa.models.model import QAModel
from qa.text.features import Window


class Structured(PruningMethod[PruningOptions]):
    """Removes the least important heads and neurons before recovery."""

    def check(self, model: QAModel) -> None:
        """Raise OptionError for a model without such heads and neurons, or too large for --target-mb."""
        check_pruning(model, self.flags, self.settings, "--method magnitude works")

    def prune(
        self, model: QAModel, before: QAModel, windows: Sequence[Window], work: Path, seed: int
    ) -> dict[str, Any]:
        """Prune by importance, which is measured on some of the windows."""
        sample = sample_labelled(windows, self.flags.importance_windows, seed)
        pruned = prune_by_importance(model, before, sample, self.flags, self.settings, work=work)
        if model.count_parameters() == before.count_parameters():
            print("nothing is removed: the model is as small as was asked for", file=sys.stderr)
        return pruned

    def report(self, before: QAModel, after: QAModel) -> str:
        """Return the number of parameters before and after."""
        counts = [model.count_parameters().without_embeddings for model in (before, after)]
        return f"parameters without embeddings {counts[0]:,} -> {counts[1]:,}"
