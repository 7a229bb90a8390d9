"""litert-torch as its README converts a model: `convert(model.eval(), sample_inputs)` with the one length of
the samples.

int8 is the recipe that ai-edge-quantizer's README recommends for a CPU, dynamic_wi8_afp32, on the converted
file. Weights, the embeddings too, are int8; XNNPACK quantizes activations when it runs. The length is that of
the model's longest window. Run by ai-edge-litert's interpreter, whose default is
XNNPACK, through the only signature. Batch 1, as the samples are.
"""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measure.worker import Model
from qa.formats.tensors import INPUTS, Inputs

PACKAGES = ("litert-torch", "ai-edge-quantizer", "ai-edge-litert", "torch", "transformers")
LIBRARIES = ("ai_edge_litert.interpreter",)
FILE = "model.tflite"


def prepare(source: Path, out: Path, calibration: Path, precision: str) -> None:
    """Convert, quantize to int8 if asked to, and save."""
    import litert_torch
    import torch

    from qa.models.model import QAModel

    length = json.loads((source / "qa.json").read_text(encoding="utf-8"))["max_length"]
    # A tensor for each input: one given twice may be traced as one input.
    samples = tuple(torch.ones(1, length, dtype=torch.long) for _ in INPUTS)
    path = str(out / FILE)
    litert_torch.convert(QAModel.from_pretrained(source).eval(), samples).export(path)
    if precision == "int8":
        from ai_edge_quantizer import quantizer, recipe

        quantizing = quantizer.Quantizer(path)
        quantizing.load_quantization_recipe(recipe.dynamic_wi8_afp32())
        quantizing.quantize().export_model(path, overwrite=True)


def load(path: Path, threads: int) -> Model:
    """Open an interpreter and allocate its tensors."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(path / FILE), num_threads=threads)
    interpreter.allocate_tensors()
    runner = interpreter.get_signature_runner()
    details = runner.get_input_details()
    # The converter names a signature's inputs after their places, args_0 and so on.
    places = dict(zip(sorted(details), INPUTS, strict=True))
    length = int(next(iter(details.values()))["shape"][1])

    def call(inputs: Inputs) -> Any:
        output = runner(
            **{place: inputs[name].astype(details[place]["dtype"]) for place, name in places.items()}
        )
        return output["start_logits"], output["end_logits"]

    return Model(("ai-edge-litert", version("ai-edge-litert"), ""), [length], call)
