"""Weights in int4: scales of least squared error, and that they are what a .tflite holds."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from compress.scales import SHARES, least_squares_bounds
from export.tflite.file import TFLiteFile
from export.tflite.passes.compact import compact
from export.tflite.quantize import quantize


def rounded(weight, bounds, bits=4):
    steps = 2 ** (bits - 1) - 1
    scale = np.where(bounds > 0, bounds / steps, 1)
    return np.clip(np.round(weight / scale), -steps, steps) * scale


def squared_error(weight, bounds, bits=4):
    return np.square(rounded(weight, bounds, bits) - weight).sum(axis=1)


def test_weights_that_are_integers_of_their_scale_are_not_clipped():
    weight = np.array([[-7, 7, 3, 0], [0.5, -3.5, 1, 2]], np.float32)  # scales 1 and 0.5
    bounds = least_squares_bounds(weight, 4)
    assert bounds.tolist() == [[7], [3.5]]
    assert squared_error(weight, bounds).tolist() == [0, 0]


def test_one_far_weight_is_clipped_for_many_near_ones():
    """With scale 10 / 7 each 0.7 rounds to 0 and costs 0.49; with 7 / 7 it costs 0.09, and the 10 costs 9."""
    weight = np.full((2, 101), 0.7, np.float32)
    weight[:, -1] = 10
    weight[1, 1:-1] = 0  # only one near weight: the far one decides
    clipped, whole = least_squares_bounds(weight, 4)[:, 0]
    assert squared_error(weight[:1], np.array([[10]])) == pytest.approx(100 * 0.7**2)
    assert squared_error(weight[:1], np.array([[7]])) == pytest.approx(100 * 0.3**2 + 9)
    assert clipped < 7.1
    assert squared_error(weight[:1], clipped) < 18
    assert whole > 9


def test_no_share_that_was_tried_has_a_smaller_error():
    weight = np.random.default_rng(0).standard_t(4, (20, 96)).astype(np.float32)
    least = squared_error(weight, least_squares_bounds(weight, 4))
    largest = np.abs(weight).max(axis=1, keepdims=True)
    others = np.array([squared_error(weight, share * largest) for share in SHARES])
    assert np.allclose(least, others.min(axis=0), rtol=1e-5)
    assert least.sum() < 0.9 * others[-1].sum(), "the last is min/max"


def test_more_bits_clip_less_and_rows_of_zeros_do_no_harm():
    weight = np.random.default_rng(0).normal(size=(20, 384)).astype(np.float32)
    assert (least_squares_bounds(weight, 8) >= least_squares_bounds(weight, 4)).all()
    assert least_squares_bounds(np.zeros((2, 3), np.float32), 4).tolist() == [[0], [0]]


def quantized(model, precision):
    file = quantize(TFLiteFile(model), precision)
    compact(file)
    return file


def weights(model):
    """(tensor, bytes of its data) of every weight of the first signature, in the order of its operators."""
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model, 0))
    wanted = (schema.BuiltinOperator.FULLY_CONNECTED, schema.BuiltinOperator.EMBEDDING_LOOKUP)
    graph = tree.subgraphs[0]
    codes = [code.builtinCode for code in tree.operatorCodes]
    tensors = [
        graph.tensors[operator.inputs[1]]
        for operator in graph.operators
        if codes[operator.opcodeIndex] in wanted
    ]
    return [(tensor, tree.buffers[tensor.buffer].data) for tensor in tensors]


def test_int4_holds_the_integers_of_least_squared_error(bare_tflite):
    pairs = list(zip(weights(bare_tflite), weights(quantized(bare_tflite, "int4").to_bytes()), strict=True))
    tables = [tensor for _, (tensor, _) in pairs if tensor.type == schema.TensorType.INT8]
    assert sorted(len(tensor.quantization.scale) for tensor in tables) == [512, 30522]
    for (tensor, data), (stored, packed) in pairs:
        if stored.type != schema.TensorType.INT8:
            assert stored.type == schema.TensorType.INT4
            weight = data.view(np.float32).reshape(tensor.shape)
            pairs = np.stack([packed & 15, packed >> 4], axis=1)  # low bits first
            integers = pairs.reshape(weight.shape).astype(np.int8)
            integers -= 16 * (integers > 7)
            bounds = least_squares_bounds(weight, 4)
            assert (stored.quantization.scale == bounds[:, 0] / 7).all()
            assert np.array_equal(integers, np.round(np.clip(weight, -bounds, bounds) / (bounds / 7)))
