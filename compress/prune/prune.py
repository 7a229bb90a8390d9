"""Prune a model and let it recover: what `python -m compress.prune` does."""

import time
import zlib
from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Any

import torch
from safetensors.torch import save

from compress.options import METHODS, PruneOptions
from compress.prune.method import PruningMethod, share_of_zeros
from compress.recovery import Recovery, open_making
from distill.prune_plan.importance import sample_windows
from distill.training.batches import model_inputs, to_tensors
from distill.training.dropout import without_autocast
from qa.bundles.bundle import Bundle
from qa.bundles.next_export import say_next_export
from qa.models.model import QAModel
from qa.models.storage import stored
from qa.text.features import Window

SPEED_WINDOWS = 24


def speed_ratio(before: QAModel, after: QAModel, windows: Sequence[Window]) -> float:
    """Return the time of `before` over that of `after` in PyTorch, window by window; above 1 is faster."""
    totals = [0.0, 0.0]
    batches = [model_inputs(to_tensors([w], most=before.encoder.max_length)) for w in windows]
    with torch.inference_mode():
        for round_number in range(3):  # the first warms up
            for batch in batches:
                for which, model in enumerate((before.eval(), after.eval())):
                    began = time.perf_counter()
                    model(**batch)
                    totals[which] += (time.perf_counter() - began) if round_number else 0.0
    return totals[0] / totals[1]


def gains(before: QAModel, after: QAModel, ratio: float) -> str:
    """Return one line about size and time before and after; both sizes are of fp32 weights, in any bundle.

    Compressed is zlib level 6: what a download or an APK would carry.
    """
    weights = [save(stored(model.state_dict(), "fp32")) for model in (before, after)]
    sizes = [f"{len(w) / 1e6:.1f} MB ({len(zlib.compress(w, 6)) / 1e6:.1f} compressed)" for w in weights]
    return f"weights in fp32: {' -> '.join(sizes)}; PyTorch runs {ratio:.2f} times as fast on real windows"


def prune(options: PruneOptions) -> Bundle:
    """Open the parent, prune, recover, save, and print what it gained."""
    making = open_making("prune", "compress.prune", options)
    if making.done:
        return making.done
    steps = METHODS[options.method].steps
    method: PruningMethod[Any] = (resolve_name(steps) if isinstance(steps, str) else steps)(options)
    recovery = Recovery(options, making)
    model = recovery.model
    method.check(model)
    windows = recovery.windows
    pruned = method.prune(model, recovery.before, windows, making.work, options.seed)
    trainer = recovery.train("recovery", {"pruning": method.depends_on()}, method.after_step(model))
    sample = sample_windows(windows, SPEED_WINDOWS, options.seed)
    ratio = speed_ratio(recovery.before, without_autocast(model), sample)
    pruning = {"method": options.method, **pruned, "zeros": share_of_zeros(model), "torch_speed_ratio": ratio}
    bundle = recovery.save(trainer, pruning=pruning)
    print(method.report(recovery.before, model))
    print(gains(recovery.before, model, ratio))
    say_next_export(bundle)
    return bundle
