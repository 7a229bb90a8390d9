"""Prune the least important heads and neurons; an ordinary dense model of the same depth is left.

The rest keeps its weights. Refitting them to the removed ones by least squares made a model worse before
training.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from distill.prune_plan.allocation import (
    NEURON_MULTIPLE,
    PruningPlan,
    best_within,
    between_layers,
    keep_best,
)
from distill.prune_plan.costs import UnitCosts, file_costs
from distill.prune_plan.importance import IMPORTANCE, Importance, cached_importance
from distill.prune_plan.options import KEEP_FFN, KEEP_HEADS, PruningOptions
from qa.base.cli import check_option
from qa.models.model import QAModel
from qa.models.surgery import keep_heads, keep_neurons
from qa.text.features import Window
from qa.text.settings import QASettings


def target_costs(flags: PruningOptions, model: QAModel, settings: QASettings) -> UnitCosts | None:
    """Return the costs of this model's units in the file that --target-mb limits; None without a limit."""
    if flags.target_mb is None:
        return None
    given, own = flags.target_embeddings, getattr(model.encoder.words, "form", None)
    if own is not None:
        smaller = " (python -m compress.embeddings makes pq4 of it)" if given == "pq4" else ""
        wanted = f"{own}, the form that the model has{smaller}"
        check_option(given in (None, own), "--target-embeddings", given, wanted)
    form = given or own or flags.target_quantize
    return file_costs(model, flags.target_quantize, form, settings.max_length)


def prune_by_importance(
    model: QAModel,
    trained: QAModel,
    windows: Sequence[Window],
    flags: PruningOptions,
    settings: QASettings,
    *,
    work: Path,
) -> dict[str, Any]:
    """Remove the least important heads and neurons in place; return facts for the manifest.

    Importance is that in `trained`, the same encoder under a trained head, on `windows`; the folder `work`
    stores it.
    """
    importance = cached_importance(trained, windows, work / IMPORTANCE)
    costs = target_costs(flags, model, settings)
    width = select_units(importance, costs, flags)
    for parts, heads, neurons in zip(model.encoder.layer_parts(), width.heads, width.neurons, strict=True):
        keep_heads(parts, heads)
        keep_neurons(parts, neurons)
    return {
        "importance": (
            "empirical Fisher information of a mask on each head and neuron, training windows, gold answers"
        ),
        "importance_windows": len(windows),
        "heads_per_layer": [len(k) for k in width.heads],
        "neurons_per_layer": [len(k) for k in width.neurons],
        "importance_kept_heads": _share(importance.heads, width.heads),
        "importance_kept_neurons": _share(importance.neurons, width.neurons),
        **({} if costs is None else {"predicted_mb": costs.of(model)}),
    }


def check_pruning(model: QAModel, flags: PruningOptions, settings: QASettings, instead: str) -> None:
    """Raise OptionError when the model cannot be pruned as the flags say; `instead` names another way."""
    model.encoder.check_prunable(instead)
    parts = model.encoder.layer_parts()
    equal = Importance([torch.ones(p.n_heads) for p in parts], [torch.ones(p.n_neurons) for p in parts])
    select_units(equal, target_costs(flags, model, settings), flags)


def select_units(importance: Importance, costs: UnitCosts | None, flags: PruningOptions) -> PruningPlan:
    """Return the best units within --target-mb, or without it the best shares."""
    comparable = between_layers(importance)
    if flags.target_mb is not None and costs is not None:
        return best_within(comparable, flags.target_mb, costs)
    share_of_heads = KEEP_HEADS if flags.keep_heads is None else flags.keep_heads
    share_of_neurons = KEEP_FFN if flags.keep_ffn is None else flags.keep_ffn
    heads = keep_best(comparable.heads, share_of_heads, 1)
    return PruningPlan(heads, keep_best(comparable.neurons, share_of_neurons, NEURON_MULTIPLE))


def _share(scores: Sequence[Tensor], kept: Sequence[Tensor]) -> float:
    return float(sum(s[k].sum() for s, k in zip(scores, kept, strict=True)) / sum(s.sum() for s in scores))
