"""Cut a model in width: remove the heads and neurons that matter least; an ordinary dense model of the same
depth is left.

What stays keeps its weights. Refitting them to what went, by least squares, made a model worse before
training.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from distill.prune_plan.allocation import (
    NEURON_MULTIPLE,
    Target,
    Width,
    best_within,
    between_layers,
    keep_best,
)
from distill.prune_plan.costs import file_costs, time_costs
from distill.prune_plan.importance import IMPORTANCE, Importance, equal_importance, kept_importance
from distill.prune_plan.options import KEEP_FFN, KEEP_HEADS, WidthFlags
from qa.models.model import QAModel
from qa.models.surgery import keep_heads, keep_neurons
from qa.text.features import Window


def targets_of(flags: WidthFlags, model: QAModel, max_length: int) -> list[Target]:
    """Return the limits of size and time that the flags give, with the costs of this model's units."""
    targets = []
    if flags.target_mb is not None:
        form = flags.target_embeddings or getattr(model.encoder.words, "form", None) or flags.target_quantize
        costs = file_costs(model, flags.target_quantize, form)
        targets.append(Target("mb", flags.target_mb, costs))
    if flags.target_ms is not None and flags.times is not None:
        targets.append(Target("ms", flags.target_ms, time_costs(model, flags.times, max_length)))
    return targets


def narrow(
    model: QAModel,
    trained: QAModel,
    windows: Sequence[Window],
    flags: WidthFlags,
    *,
    max_length: int,
    work: Path,
) -> dict[str, Any]:
    """Remove the least important heads and neurons in place; what was kept, for a manifest.

    Importance is that in `trained`, the same encoder under a head that knows the task, on `windows`; the
    folder `work` keeps it.
    """
    importance = kept_importance(trained, windows, work / IMPORTANCE)
    targets = targets_of(flags, model, max_length)
    width = choose_width(importance, targets, flags)
    cut(model, width)
    return width_facts(importance, width, len(windows)) | {
        f"predicted_{t.unit}": t.costs.of(model) for t in targets
    }


def check_narrow(model: QAModel, max_length: int, flags: WidthFlags, instead: str) -> None:
    """OptionError when the model cannot be cut as the flags say, or at all, for which `instead` is what to
    do."""
    model.encoder.check_prunable(instead)
    choose_width(equal_importance(model), targets_of(flags, model, max_length), flags)


def choose_width(importance: Importance, targets: Sequence[Target], flags: WidthFlags) -> Width:
    """What stays: the best within the targets, or without one the best shares."""
    comparable = between_layers(importance)
    if targets:
        return best_within(comparable, targets)
    heads = keep_best(comparable.heads, KEEP_HEADS if flags.keep_heads is None else flags.keep_heads, 1)
    return Width(
        heads,
        keep_best(
            comparable.neurons, KEEP_FFN if flags.keep_ffn is None else flags.keep_ffn, NEURON_MULTIPLE
        ),
    )


def cut(model: QAModel, width: Width) -> None:
    """Remove all other heads and neurons, in place."""
    for parts, heads, neurons in zip(model.encoder.layer_parts(), width.heads, width.neurons, strict=True):
        keep_heads(parts, heads)
        keep_neurons(parts, neurons)


def width_facts(importance: Importance, width: Width, n_windows: int) -> dict[str, Any]:
    """What was kept, by layer, and its share of all importance: for a manifest."""
    return {
        "importance": (
            "empirical Fisher information of a mask on each head and neuron, training windows, gold answers"
        ),
        "importance_windows": n_windows,
        "heads_per_layer": [len(k) for k in width.heads],
        "neurons_per_layer": [len(k) for k in width.neurons],
        "importance_kept_heads": _share(importance.heads, width.heads),
        "importance_kept_neurons": _share(importance.neurons, width.neurons),
    }


def _share(scores: Sequence[Tensor], kept: Sequence[Tensor]) -> float:
    return float(sum(s[k].sum() for s, k in zip(scores, kept, strict=True)) / sum(s.sum() for s in scores))
