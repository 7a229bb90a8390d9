"""Peak rate of int8 products, to compare a model's rate with: that of ONNX Runtime on one large matrix.

    python -m benchmarks.measure.peak THREADS [CORE ...]

prints billions of operations a second; a multiply-add counts as two. It is a process of its own, pinned to
the cores that the timed models are pinned to.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec

SIZE = 2048  # of the square matrices: both fit the caches of a server's core and keep its multipliers busy
N_RUNS = 10


def int8_peak(threads: int, cores: Sequence[int]) -> float | None:
    """Return the rate in a process with this many threads on these cores; None where onnx or ONNX Runtime is
    not installed.
    """
    if not all(map(find_spec, ("onnx", "onnxruntime"))):
        return None
    command = [sys.executable, "-m", "benchmarks.measure.peak", str(threads), *map(str, cores)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def measure(threads: int) -> float:
    """Return the rate of the fastest of some products of uint8 activations and int8 weights."""
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    weights = np.random.default_rng(0).integers(-127, 128, (SIZE, SIZE), np.int8)
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["a", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("a", TensorProto.UINT8, [SIZE, SIZE])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [SIZE, SIZE])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    inputs = {"a": np.random.default_rng(1).integers(0, 256, (SIZE, SIZE), np.uint8)}
    seconds = []
    for _ in range(N_RUNS):
        began = time.perf_counter()
        session.run(None, inputs)
        seconds.append(time.perf_counter() - began)
    return 2 * SIZE**3 / min(seconds) / 1e9


if __name__ == "__main__":
    if len(sys.argv) > 2 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [int(core) for core in sys.argv[2:]])
    print(measure(int(sys.argv[1])))
