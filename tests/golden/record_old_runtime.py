"""Record what a TFLite runtime computes for a bundle's probe; tests replay it. Needs numpy and that runtime
only.

The recording beside this script holds an old runtime, which computes dynamic int8 wrongly, and a current one:

    python -m export.tflite --model TEACHER --out BUNDLE --quantize int8
    python3.11 -m venv old && old/bin/pip install 'numpy<2' tflite-runtime==2.14.0
    old/bin/python tests/golden/record_old_runtime.py BUNDLE tests/golden/probe_old_runtime.json
    python tests/golden/record_old_runtime.py BUNDLE tests/golden/probe_old_runtime.json
"""

import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

try:
    from tflite_runtime.interpreter import Interpreter

    PACKAGE = "tflite-runtime"
except ImportError:
    from ai_edge_litert.interpreter import Interpreter

    PACKAGE = "ai-edge-litert"


def rounded(logits):
    """Six digits, as the probe itself has them."""
    return [float(f"{x:.6g}") for x in logits]


def record(bundle):
    """The runtime's logits for every window of the probe, padding cut off."""
    interpreter = Interpreter(model_path=str(bundle / "model.tflite"), num_threads=1)
    lengths = sorted(int(name[2:]) for name in interpreter.get_signature_list())
    logits = []
    for window in json.loads((bundle / "probe.json").read_text())["windows"]:
        n = len(window["input_ids"])
        length = next(length for length in lengths if length >= n)
        ids, mask, types = (np.zeros((1, length), np.int32) for _ in range(3))
        ids[0, :n], mask[0, :n], types[0, window["context_begin"] : n] = window["input_ids"], 1, 1
        output = interpreter.get_signature_runner(f"qa{length}")(
            input_ids=ids, attention_mask=mask, token_type_ids=types
        )
        logits.append({name: rounded(output[name][0, :n]) for name in ("start_logits", "end_logits")})
    return {"lengths": lengths, "logits": logits}


def main(bundle, out):
    """Add this runtime to the recording, or begin one."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    model = {
        "parent": manifest["parent"],
        "precision": manifest["precision"],
        "sha256": manifest["files"]["model.tflite"],
        "made_with": manifest["versions"],
    }
    begun = json.loads(out.read_text()) if out.is_file() else {}
    if begun.get("model") != model:
        begun = {"model": model, "probe": json.loads((bundle / "probe.json").read_text()), "recordings": {}}
    name = f"{PACKAGE} {version(PACKAGE)}"
    made_by = {
        "command": "python tests/golden/record_old_runtime.py BUNDLE tests/golden/probe_old_runtime.json"
    }
    made_by |= {"python": platform.python_version(), "numpy": np.__version__, "machine": platform.machine()}
    begun["recordings"][name] = {"made_by": made_by, **record(bundle)}
    out.write_text(json.dumps(begun) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
