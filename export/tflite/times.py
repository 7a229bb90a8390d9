"""Measure what attention heads and feed-forward neurons cost in milliseconds: the table that --target-ms goes
by.

    python -m export.tflite.times --model runs/demo/teacher --out times.json

Narrower and shorter copies of the model are exported to TFLite and run in turns. Their weights do not matter,
their sizes do: the time of a window is a sum over layers, heads and neurons, whose terms are fitted by least
squares.
"""

import json
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from tqdm import tqdm
from tyro.conf import arg

from distill.prune_plan.allocation import PruningPlan
from distill.prune_plan.costs import PARTS
from distill.prune_plan.plan import prune_to
from distill.student import student_from_layers
from export.android.package import signature_name
from export.calibration import calibration_windows
from export.tflite.quantize import quietly
from export.tflite.stage import CALIBRATION_WINDOWS, SHORT_LENGTHS, convert_to
from qa.base.cli import check_option, run_command
from qa.base.errors import PocketQAError
from qa.base.files import check_writable, write_whole
from qa.bundles.hf_import import open_model
from qa.formats.precision import INTEGER_BITS
from qa.models.model import QAModel

# Shares of layers, heads and neurons that a copy keeps.
SHAPES = (
    (1.0, 1.0, 1.0),
    (1.0, 0.5, 1.0),
    (1.0, 1.0, 0.5),
    (1.0, 0.34, 0.34),
    (0.5, 1.0, 1.0),
    (0.5, 0.5, 0.5),
)
HEAD = "linear"  # the smallest; time_costs adds what a larger one takes


@dataclass(frozen=True)
class TimesConfig:
    """Measure on this machine, with one thread, what heads and neurons of a model's width cost in LiteRT."""

    model: Path
    """PyTorch bundle, or a transformers checkpoint, as wide as the students will be."""
    out: Path
    """JSON file to write."""
    quantize: Annotated[str, arg(help=f"Precision of the exports: {' or '.join(INTEGER_BITS)}.")] = "int8"
    rounds: int = 30
    """How often each copy computes a window of each length, in turns."""

    def __post_init__(self) -> None:
        check_option(self.quantize in INTEGER_BITS, "--quantize", self.quantize, " or ".join(INTEGER_BITS))
        check_option(self.rounds >= 3, "--rounds", self.rounds, "at least 3")
        check_writable(self.out, "--out")


def cpu_name() -> str:
    """As Linux says it, or the architecture."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


def copies(model: QAModel) -> list[QAModel]:
    """The model in all SHAPES under a linear head."""
    found = []
    for layers, heads, neurons in SHAPES:
        copy = student_from_layers(model, max(1, round(layers * len(model.encoder.layers))), HEAD)
        parts = copy.encoder.layer_parts()
        kept_heads = [torch.arange(max(1, round(heads * p.n_heads))) for p in parts]
        prune_to(
            copy, PruningPlan(kept_heads, [torch.arange(max(1, round(neurons * p.n_neurons))) for p in parts])
        )
        found.append(copy.eval())
    return found


def size(model: QAModel) -> list[int]:
    """What the time is a sum over, in the order of PARTS: 1, layers, heads, neurons; a shared layer counts
    each time it runs."""
    parts = model.encoder.layer_parts()
    repeats = len(model.encoder.layers) // len(parts)
    n_heads = sum(p.n_heads for p in parts)
    n_neurons = sum(p.n_neurons for p in parts)
    return [1, len(model.encoder.layers), repeats * n_heads, repeats * n_neurons]


def measure(files: list[bytes], length: int, rounds: int) -> np.ndarray:
    """Median milliseconds of one window of `length` tokens, one thread, by file."""
    from ai_edge_litert.interpreter import Interpreter

    with quietly():
        models = [Interpreter(model_content=file, num_threads=1) for file in files]
        runners = [model.get_signature_runner(signature_name(length)) for model in models]
    ones = np.ones((1, length), np.int32)
    inputs = {"input_ids": ones, "attention_mask": ones, "token_type_ids": 0 * ones}
    times = np.zeros((rounds + 1, len(runners)))
    for row in tqdm(times, desc=f"{length} tokens", unit="round"):
        for which, runner in enumerate(runners):
            began = time.perf_counter()
            runner(**inputs)
            row[which] = 1000 * (time.perf_counter() - began)
    return np.median(times[1:], axis=0)  # the first round warms up


def fit(sizes: list[list[int]], ms: np.ndarray) -> dict[str, float]:
    """The terms of PARTS, by least squares of relative errors. PocketQAError when they make no sense, as on a
    busy machine."""
    terms, *_ = np.linalg.lstsq(np.array(sizes) / ms[:, None], np.ones(len(ms)), rcond=None)
    found = dict(zip(PARTS, (float(f"{term:.4g}") for term in terms), strict=True))
    if not (found["head"] > 0 and found["neuron"] > 0):
        raise PocketQAError(
            f"the times fit no sum of heads and neurons ({found}): measure on a quiet machine, or more "
            "--rounds"
        )
    return found


def main(config: TimesConfig) -> dict[str, Any]:
    """Export, measure, fit; writes the table and prints it with the largest error of the fit at each
    length.
    """
    bundle = open_model(config.model, kind="pytorch")
    model = QAModel.from_pretrained(bundle.path)
    model.encoder.check_prunable("there is nothing to measure")
    longest = bundle.settings.max_length
    lengths = (*(n for n in SHORT_LENGTHS if n < longest), longest)
    models = copies(model)
    sizes = [size(one) for one in models]
    windows = calibration_windows(bundle, CALIBRATION_WINDOWS)
    files = [
        convert_to(one, config.quantize, lengths, windows, largest_error=np.inf).content for one in models
    ]
    table: dict[str, Any] = {
        "hidden_size": model.encoder.hidden_size,
        "head_size": model.encoder.layer_parts()[0].head_size,
        "measured": {"precision": config.quantize, "cpu": cpu_name(), "rounds": config.rounds},
        "ms": {},
    }
    for length in lengths:
        ms = measure(files, length, config.rounds)
        table["ms"][str(length)] = found = fit(sizes, ms)
        wrong = np.abs(np.array(sizes) @ list(found.values()) / ms - 1).max()
        print(
            f"{length} tokens: {', '.join(f'{part} {found[part]} ms' for part in PARTS)}; wrong by at most "
            f"{wrong:.1%}"
        )
    write_whole(config.out, json.dumps(table, indent=1) + "\n")
    return table


if __name__ == "__main__":
    run_command(main)
