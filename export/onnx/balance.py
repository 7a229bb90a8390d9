"""Balance a graph before it is quantized: move the range of outlier channels into weights (SmoothQuant)."""

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from qa.base.sampling import evenly
from qa.bundles.bundle import Bundle
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad
from qa.evaluation.threshold import read_held_out
from qa.text.features import Window, collate, make_windows

# Matrices and tables with a side below this stay float: the two output logits and the two token types weigh
# nothing and err most.
MIN_SIDE = 8
# Share of a channel's range that the weights take over, alpha of SmoothQuant. On a trained 6 x 384 model the
# difference from fp32 was 0.09 of the logits' deviation without balancing, 0.075 at 0.6, and flat at 0.05
# from 0.7 to 0.85.
BALANCE = 0.75


def large_constants(model: ModelProto) -> dict[str, TensorProto]:
    """Return the matrices and tables of a graph whose last two sides are MIN_SIDE or more.

    An LSTM has a stack of matrices, one for each direction.
    """
    large = (t for t in model.graph.initializer if len(t.dims) in (2, 3) and min(t.dims[-2:]) >= MIN_SIDE)
    return {tensor.name: tensor for tensor in large}


def linear_nodes(model: ModelProto) -> list[NodeProto]:
    """Return the MatMuls with a constant matrix (K, N), one for each Linear."""
    constants = large_constants(model)
    return [node for node in model.graph.node if node.op_type == "MatMul" and node.input[1] in constants]


def weighted_nodes(model: ModelProto) -> list[NodeProto]:
    """Return the Linears' MatMuls and the LSTMs: nodes that multiply their first input by their second."""
    linears = {node.name for node in linear_nodes(model)}
    return [node for node in model.graph.node if node.name in linears or node.op_type == "LSTM"]


def calibration_windows(bundle: Bundle, n: int) -> list[Window]:
    """Return `n` windows to measure ranges of activations on: of questions that the model holds out, in its
    language, or of the shipped training excerpt where these are fewer."""
    held_out = read_held_out(bundle.path)
    examples = held_out if len(held_out) >= n else read_squad(resolve(EMBEDDED, "train"))
    chosen = [examples[i] for i in evenly(len(examples), n)]
    windows = make_windows(chosen, bundle.tokenizer, bundle.settings)
    return [windows[i] for i in evenly(len(windows), n)]


def channel_ranges(model: ModelProto, windows: Sequence[Window]) -> dict[str, np.ndarray]:
    """Return the largest magnitude (K,) of every channel that enters a Linear or an LSTM.

    Keys are tensor names; the maximum is over all windows.
    """
    import onnxruntime

    names = list(dict.fromkeys(node.input[0] for node in weighted_nodes(model)))
    watched = ModelProto()
    watched.CopyFrom(model)
    watched.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        watched.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    ranges: dict[str, np.ndarray] = {}
    for window in windows:
        for name, states in zip(names, session.run(names, collate([window])), strict=True):
            largest = np.abs(states).max(axis=tuple(range(states.ndim - 1)))
            ranges[name] = np.maximum(ranges.get(name, largest), largest)
    return ranges


def balance(model: ModelProto, ranges: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the scale (K,) that moves from the channels of each input into the matrices' rows.

    Activations are quantized by tensor, so the few channels of a BERT that are ten times the others take
    their bits. SmoothQuant (Xiao et al. 2022, equation 4): x @ w = (x / s) @ (s * w), s = range(x) ** alpha /
    range(w) ** (1 - alpha). A channel below the median range counts as the median: on other text it may
    exceed it. Inputs of one matrix share a scale, so that a layer which runs several times is still stored
    once.
    """
    constants = large_constants(model)
    group = scale_groups(model)
    rows = dict[str, np.ndarray]()
    channels = dict[str, np.ndarray]()
    for node in weighted_nodes(model):
        # (K, N), of an LSTM (directions, N, K).
        weight = np.abs(numpy_helper.to_array(constants[node.input[1]]))
        name = group[node.input[0]]
        largest = weight.max(axis=(0, 1) if node.op_type == "LSTM" else 1)
        rows[name] = np.maximum(rows.get(name, largest), largest)
        channels[name] = np.maximum(channels.get(name, ranges[node.input[0]]), ranges[node.input[0]])
    scales = {}
    for name, row in rows.items():
        channel = np.maximum(channels[name], max(float(np.median(channels[name])), 1e-6))
        scales[name] = (channel**BALANCE / np.maximum(row, 1e-6) ** (1 - BALANCE)).astype(np.float32)
    return {name: scales[first] for name, first in group.items()}


def scale_groups(model: ModelProto) -> dict[str, str]:
    """Return for each input of Linears and LSTMs a name that all inputs with the same scale have.

    Inputs share a scale when they enter the same matrix, and matrices when the same input enters them.
    """
    first: dict[str, str] = {}
    for node in weighted_nodes(model):
        names = [first.setdefault(name, name) for name in (node.input[0], node.input[1])]
        first = {name: names[0] if leader == names[1] else leader for name, leader in first.items()}
    return {node.input[0]: first[node.input[0]] for node in weighted_nodes(model)}
