"""int8 on x86 without VNNI, whose instruction for uint8 by int8 adds pairs of products into 16 bits: on an
emulated Haswell."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from places import ROOT
from tflite_exports import LENGTHS

from export.onnx.quantize import int8_along, int8_for_products
from export.onnx.trace import OPSET
from qa.bundles.bundle import PROBE
from qa.runtime.probe import read_probe
from qa.runtime.runtimes import check_probe, load_runtime

pytestmark = pytest.mark.system
TIMEOUT_S = 600  # seconds of computing, on a machine that may be busy

MULTIPLY = """
import sys, numpy, onnxruntime
for folder in sys.argv[1:]:
    session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
    products = session.run(["plain", "bounded"], {"states": numpy.load(f"{folder}/states.npy")})
    numpy.save(f"{folder}/products.npy", products)
"""
PROBE_IT = """
import json, pathlib, sys
from qa.bundles.bundle import PROBE, open_bundle
from qa.runtime.probe import read_probe
from qa.runtime.runtimes import check_probe, load_runtime
bundle = open_bundle(pathlib.Path(sys.argv[1]))
probe = read_probe((bundle.path / PROBE).read_text(), "probe")
print(json.dumps(check_probe(load_runtime(bundle, 1), probe, bundle.precision)))
"""


def on_haswell(code, *arguments):
    """What Python code prints on an emulated CPU with AVX2 and without AVX512 and VNNI."""
    qemu = shutil.which("qemu-x86_64")
    assert qemu, "qemu-x86_64 is needed: apt-get install qemu-user"
    command = [qemu, "-cpu", "Haswell", sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def multiplication(folder, n_rows, width):
    """Write a model of two products and its input; return the exact products."""
    generator = np.random.default_rng(0)
    weight = generator.normal(size=(width, 32)).astype(np.float32)
    states = generator.choice(np.array([0, 255], np.uint8), (n_rows, width))
    matrices = {"plain": int8_along(weight, axis=0)[0], "bounded": int8_for_products(weight)[0]}
    nodes = [helper.make_node("MatMulInteger", ["states", f"{name} int8"], [name]) for name in matrices]
    constants = [numpy_helper.from_array(matrix, f"{name} int8") for name, matrix in matrices.items()]
    inputs = [helper.make_tensor_value_info("states", TensorProto.UINT8, states.shape)]
    outputs = [helper.make_tensor_value_info(name, TensorProto.INT32, (n_rows, 32)) for name in matrices]
    graph = helper.make_graph(nodes, "products", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    folder.mkdir()
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    np.save(folder / "states.npy", states)
    return {name: states.astype(np.int32) @ matrix.astype(np.int32) for name, matrix in matrices.items()}


def test_products_are_exact_where_those_of_plain_int8_saturate(tmp_path):
    shapes = {tmp_path / "small": (1, 64), tmp_path / "odd": (5, 701)}
    exact = {folder: multiplication(folder, *shape) for folder, shape in shapes.items()}
    on_haswell(MULTIPLY, *shapes)  # one process, which starts slowly
    for folder in shapes:
        plain, bounded = np.load(folder / "products.npy")
        assert (bounded == exact[folder]["bounded"]).all()
        assert (plain != exact[folder]["plain"]).any()  # or this CPU would show nothing


@pytest.mark.parametrize("kind", ["onnx", "tflite"])
def test_an_int8_export_computes_what_it_does_here(kind, export_once):
    bundle = export_once(kind, "int8", LENGTHS)[1]
    probe = read_probe((bundle.path / PROBE).read_text(), "probe")
    here = check_probe(load_runtime(bundle, 1), probe, "int8")
    there = json.loads(on_haswell(PROBE_IT, bundle.path))
    assert there == pytest.approx(here, abs=0.01), (here, there)
