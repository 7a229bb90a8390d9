"""Cut a model in width: remove the heads and neurons that matter least; an ordinary dense model of the same
depth is left.

What stays keeps its weights. Refitting them to what went, by least squares, made a model worse before
training.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from torch import Tensor
from tyro.conf import arg

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
from qa.base.cli import check_option
from qa.formats.precision import INTEGER_BITS, TABLE_FORMS
from qa.models.model import QAModel
from qa.models.surgery import keep_heads, keep_neurons
from qa.text.features import Window

# Without a target: shares, not a size or a time, since these suit any teacher. They leave half of a MiniLM's
# layers.
KEEP_HEADS = 0.67
KEEP_FFN = 0.5
TARGET_EMBEDDINGS_HELP = (
    f"Word table that --target-mb is meant for: {', '.join(TABLE_FORMS)}; by default as the precision."
)


@dataclass(frozen=True, kw_only=True)
class WidthFlags:
    """Options of every stage that cuts a model in width."""

    keep_heads: float | None = None
    """Share of attention heads kept, over all layers, in (0, 1]; 0.67 without a target."""
    keep_ffn: float | None = None
    """Share of feed-forward neurons kept, over all layers, in (0, 1]; 0.5 without a target."""
    target_mb: float | None = None
    """Keep what fits in so many MB (millions of bytes) of exported TFLite file, with its package."""
    target_ms: float | None = None
    """Keep what computes the longest window in so many milliseconds, by --times; with --target-mb, what keeps
    within both."""
    target_quantize: Annotated[
        str, arg(help=f"Precision that --target-mb is meant for: {' or '.join(INTEGER_BITS)}.")
    ] = "int8"
    target_embeddings: Annotated[str | None, arg(help=TARGET_EMBEDDINGS_HELP)] = None
    times: Path | None = None
    """Table of measured times that --target-ms goes by; python -m export.tflite.times makes it."""
    importance_windows: int = 256
    """Training windows on which importance is measured."""

    def check_width(self) -> None:
        """OptionError for values that cannot work."""
        shares = ("keep_heads", "keep_ffn")
        targets = ("target_mb", "target_ms")
        given = [name for name in (*shares, *targets) if getattr(self, name) is not None]
        flags = {name: "--" + name.replace("_", "-") for name in given}
        for name in given:
            value = getattr(self, name)
            check_option(0 < value <= 1 or name in targets, flags[name], value, "in (0, 1]")
            check_option(0 < value < float("inf"), flags[name], value, "above 0 and finite")
            check_option(
                name in targets or not self.has_target, flags[name], value, "left out when a target is given"
            )
        both = (self.target_ms is None) == (self.times is None)
        check_option(
            both,
            "--target-ms",
            self.target_ms,
            "given together with --times FILE, which python -m export.tflite.times makes",
        )
        check_option(
            self.target_quantize in INTEGER_BITS,
            "--target-quantize",
            self.target_quantize,
            " or ".join(INTEGER_BITS),
        )
        table = self.target_embeddings
        check_option(
            table is None or table in TABLE_FORMS,
            "--target-embeddings",
            table,
            f"one of {', '.join(TABLE_FORMS)}",
        )
        check_option(
            self.importance_windows >= 1, "--importance-windows", self.importance_windows, "at least 1"
        )

    @property
    def has_target(self) -> bool:
        """Whether the width follows from a size or a time."""
        return self.target_mb is not None or self.target_ms is not None

    @property
    def names_width(self) -> bool:
        """Whether any option says how wide."""
        return self.has_target or self.keep_heads is not None or self.keep_ffn is not None

    def targets(self, model: QAModel, max_length: int) -> list[Target]:
        """What the narrower model is to keep within."""
        found = []
        if self.target_mb is not None:
            own = getattr(model.encoder.words, "form", None)  # of a table that is compressed already
            costs = file_costs(
                model, self.target_quantize, self.target_embeddings or own or self.target_quantize
            )
            found.append(Target("mb", self.target_mb, costs))
        if self.target_ms is not None and self.times is not None:
            found.append(Target("ms", self.target_ms, time_costs(model, self.times, max_length)))
        return found


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
    targets = flags.targets(model, max_length)
    width = choose_width(importance, targets, flags)
    cut(model, width)
    return width_facts(importance, width, len(windows)) | {
        f"predicted_{t.unit}": t.costs.of(model) for t in targets
    }


def check_narrow(model: QAModel, max_length: int, flags: WidthFlags, instead: str) -> None:
    """OptionError when the model cannot be cut as the flags say, or at all, for which `instead` is what to
    do."""
    model.encoder.check_prunable(instead)
    choose_width(equal_importance(model), flags.targets(model, max_length), flags)


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
