"""OpenVINO in fp32, and in int8 by nncf.quantize: post-training, static, model type transformer, windows of
training data.

Both start from the plain ONNX file. Served with the latency hint, one stream and as many threads as asked
for. The fp32 file is not compressed to fp16, and computes in fp32 also where the CPU has bf16: it is called
fp32. The int8 file is saved and run with OpenVINO's defaults.
"""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measure.worker import Model
from qa.formats.tensors import Inputs, padded_inputs

PACKAGES = ("openvino", "nncf")
LIBRARIES = ("openvino",)
FILES = {"fp32": "fp32.xml", "int8": "int8.xml"}
MAX_BATCH = 32


def prepare(source: Path, out: Path, calibration: Path, precision: str) -> None:
    """Convert, quantize to int8 if asked to, and save as OpenVINO's own format."""
    import openvino

    model = openvino.convert_model(source / "model.onnx")
    if precision == "int8":
        import nncf

        windows = json.loads(calibration.read_text(encoding="ascii"))
        samples = [padded_inputs([ids], [begin], len(ids)) for ids, begin in windows]
        model = nncf.quantize(
            model, nncf.Dataset(samples), model_type=nncf.ModelType.TRANSFORMER, subset_size=len(samples)
        )
        openvino.save_model(model, out / FILES[precision])
    else:
        openvino.save_model(model, out / FILES[precision], compress_to_fp16=False)


def load(path: Path, threads: int) -> Model:
    """Read and compile for the CPU."""
    import openvino

    settings: dict[str, Any] = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
    }
    if (path / FILES["fp32"]).is_file():
        name = FILES["fp32"]
        settings["INFERENCE_PRECISION_HINT"] = "f32"
    else:
        name = FILES["int8"]
    compiled = openvino.Core().compile_model(path / name, "CPU", settings)
    outputs = compiled.output("start_logits"), compiled.output("end_logits")

    def call(inputs: Inputs) -> Any:
        result = compiled(inputs)
        return result[outputs[0]], result[outputs[1]]

    return Model(("openvino", version("openvino"), ""), None, call, MAX_BATCH)
