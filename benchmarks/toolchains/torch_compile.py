"""torch.compile of the fp32 model, with dynamic shapes.

The artefact is the bundle's own weights. Compiling is part of loading. Batches of one and of more compile
apart, because torch.compile holds a size of 1 for a constant; both are ready when loading ends, so that no
turn times a compilation.
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure.worker import Model
from qa.formats.tensors import INPUTS, Inputs

PACKAGES = ("torch", "transformers")
LIBRARIES = ("torch._inductor.compile_fx", "qa.models.model")
MAX_BATCH = 32
WARM_UP_SHAPES = ((1, 96), (2, 96))


def prepare(source: Path, out: Path, calibration: Path, precision: str) -> None:
    """Copy config.json and model.safetensors. ValueError when there is no C++ compiler to run them with."""
    check_compiler()
    for name in ("config.json", "model.safetensors"):
        shutil.copy(source / name, out / name)


def load(path: Path, threads: int) -> Model:
    """Build, compile and warm up."""
    from qa.models.model import QAModel

    check_compiler()
    return compiled(QAModel.from_pretrained(path), threads)


def check_compiler() -> None:
    """Check that torch.compile has a C++ compiler on this machine. ValueError when it has none."""
    from torch._inductor import config

    candidates = config.cpp.cxx if isinstance(config.cpp.cxx, tuple) else (config.cpp.cxx,)
    if not any(name and shutil.which(name) for name in candidates):
        raise ValueError("torch.compile needs a C++ compiler, and there is none; install g++")


def compiled(model: Any, threads: int, mode: str | None = None) -> Model:
    """Compile a model in eval mode, for both batch shapes and inputs of any length."""
    import torch

    torch.set_num_threads(threads)
    fast = torch.compile(model, dynamic=True, mode=mode)

    def call(inputs: Inputs) -> Any:
        with torch.inference_mode():
            output = fast(**{name: torch.from_numpy(inputs[name]) for name in INPUTS})
        return output["start_logits"].numpy(), output["end_logits"].numpy()

    for shape in WARM_UP_SHAPES:
        call({name: np.ones(shape, np.int64) for name in INPUTS})  # three arrays, as in every later call
    return Model(("torch", torch.__version__, "compile"), None, call, MAX_BATCH)
