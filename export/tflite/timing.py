"""Export narrower and shorter copies of a model, run them in turns, and fit what their parts cost."""

import json
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from distill.prune_plan.allocation import PruningPlan
from distill.prune_plan.costs import PARTS
from distill.prune_plan.plan import prune_to
from distill.student import student_from_layers
from export.tflite.convert import convert_to
from export.tflite.quiet import quietly
from export.tflite.times import TimesConfig
from qa.base.errors import PocketQAError
from qa.base.files import write_whole
from qa.base.next_step import say_next
from qa.base.progress import Progress
from qa.bundles.hf_import import open_model
from qa.formats.tflite import SHORT_LENGTHS, any_length_signature
from qa.models.model import QAModel

# Shares of layers, heads and neurons in each copy.
SHAPES = (
    (1.0, 1.0, 1.0),
    (1.0, 0.5, 1.0),
    (1.0, 1.0, 0.5),
    (1.0, 0.34, 0.34),
    (0.5, 1.0, 1.0),
    (0.5, 0.5, 0.5),
)
HEAD = "linear"  # the smallest; time_costs adds what a larger one takes


def cpu_name() -> str:
    """Return the CPU's name from Linux, or the architecture."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def copies(model: QAModel) -> list[QAModel]:
    """Return the model in all SHAPES under a linear head."""
    narrower = []
    for layers, heads, neurons in SHAPES:
        copy = student_from_layers(model, max(1, round(layers * len(model.encoder.layers))), HEAD)
        parts = copy.encoder.layer_parts()
        first_heads = [torch.arange(max(1, round(heads * p.n_heads))) for p in parts]
        first_neurons = [torch.arange(max(1, round(neurons * p.n_neurons))) for p in parts]
        prune_to(copy, PruningPlan(first_heads, first_neurons))
        narrower.append(copy.eval())
    return narrower


def size(model: QAModel) -> list[int]:
    """Return the counts that the time is a sum over, in the order of PARTS: 1, layers, heads, neurons.

    A shared layer counts each time it runs.
    """
    parts = model.encoder.layer_parts()
    repeats = len(model.encoder.layers) // len(parts)
    n_heads = sum(p.n_heads for p in parts)
    n_neurons = sum(p.n_neurons for p in parts)
    return [1, len(model.encoder.layers), repeats * n_heads, repeats * n_neurons]


def measure(files: list[bytes], length: int, rounds: int) -> np.ndarray:
    """Return the median milliseconds of a window of `length` tokens on one thread, by file."""
    from ai_edge_litert.interpreter import Interpreter

    with quietly():
        models = [Interpreter(model_content=file, num_threads=1) for file in files]
        runners = [model.get_signature_runner() for model in models]
    ones = np.ones((1, length), np.int32)
    inputs = {"input_ids": ones, "attention_mask": ones, "token_type_ids": 0 * ones}
    times = np.zeros((rounds + 1, len(runners)))
    for row in Progress(times, desc=f"{length} tokens", unit="round"):
        for which, runner in enumerate(runners):
            began = time.perf_counter()
            runner(**inputs)
            row[which] = 1000 * (time.perf_counter() - began)
    return np.median(times[1:], axis=0)  # the first round warms up


def fit(sizes: list[list[int]], ms: np.ndarray) -> dict[str, float]:
    """Return the terms of PARTS by least squares of relative errors.

    PocketQAError when they make no sense, as on a busy machine.
    """
    terms, *_ = np.linalg.lstsq(np.array(sizes) / ms[:, None], np.ones(len(ms)), rcond=None)
    fitted = dict(zip(PARTS, (float(f"{term:.4g}") for term in terms), strict=True))
    if not (fitted["head"] > 0 and fitted["neuron"] > 0):
        raise PocketQAError(
            f"the times fit no sum of heads and neurons ({fitted}): measure on a quiet machine, or more "
            "--rounds"
        )
    return fitted


def measure_times(config: TimesConfig) -> dict[str, Any]:
    """Export, measure and fit; write the table, and print the largest error of the fit at each length."""
    bundle = open_model(config.model, format="pytorch")
    model = QAModel.from_pretrained(bundle.path)
    model.encoder.check_prunable("there is nothing to measure")
    longest = bundle.settings.max_length
    lengths = (*(n for n in SHORT_LENGTHS if n < longest), longest)
    models = copies(model)
    sizes = [size(copy) for copy in models]
    signatures = [any_length_signature(longest)]
    files = [convert_to(copy, config.quantize, signatures).file.to_bytes() for copy in models]
    table: dict[str, Any] = {
        "hidden_size": model.encoder.hidden_size,
        "head_size": model.encoder.layer_parts()[0].head_size,
        "measured": {"precision": config.quantize, "cpu": cpu_name(), "rounds": config.rounds},
        "ms": {},
    }
    for length in lengths:
        ms = measure(files, length, config.rounds)
        fitted = fit(sizes, ms)
        table["ms"][str(length)] = fitted
        largest_error = np.abs(np.array(sizes) @ list(fitted.values()) / ms - 1).max()
        print(
            f"{length} tokens: {', '.join(f'{part} {fitted[part]} ms' for part in PARTS)}; wrong by at most "
            f"{largest_error:.1%}"
        )
    write_whole(config.out, json.dumps(table, indent=1) + "\n")
    say_next("prune", "--model", config.model, "--target-ms", "MS", "--times", config.out)
    return table
