"""Quantizing an ONNX graph: the arithmetic of balancing and rounding, and the check that a graph is what it
claims."""

import numpy as np
import onnxruntime
import pytest
import torch
from comparisons import copied
from onnx import numpy_helper
from torch import nn

from export.onnx.balance import calibration_windows, channel_ranges
from export.onnx.quantize import (
    balance,
    check_structure,
    int8_along,
    int8_for_products,
    large_constants,
    linear_nodes,
    quantize,
)
from export.onnx.trace import trace
from qa.base.errors import ParityError
from qa.bundles.bundle import open_bundle
from qa.data.squad import Example
from qa.models.model import QAModel
from qa.text.features import collate


@pytest.fixture(scope="module")
def fp32(make_bundle):
    """The tiny BERT's graph as it was traced."""
    return trace(QAModel.from_pretrained(make_bundle()))


def even_ranges(graph):
    constants = large_constants(graph)
    return {node.input[0]: np.ones(constants[node.input[1]].dims[0]) for node in linear_nodes(graph)}


def test_ranges_are_the_largest_over_all_windows(fp32, make_bundle):
    windows = calibration_windows(open_bundle(make_bundle()), 2)
    together, *alone = (channel_ranges(fp32, some) for some in (windows, windows[:1], windows[1:]))
    assert len(together) > 5
    for name, largest in together.items():
        assert np.array_equal(largest, np.maximum(*(one[name] for one in alone)))
        assert all((largest > one[name]).any() for one in alone)


def test_ranges_are_measured_on_questions_that_the_model_holds_out(make_bundle, tmp_path):
    """They are in its language."""
    held_out = [Example(str(n), "", f"Der Hafen {n} ist in Kiel.", "Wo?", (), True) for n in range(2)]
    bundle = copied(open_bundle(make_bundle()), tmp_path / "own", held_out=held_out)
    read = [bundle.tokenizer.decode(w.input_ids.tolist()) for w in calibration_windows(bundle, 2)]
    assert all("hafen" in text for text in read)
    assert len(calibration_windows(bundle, 3)) == 3, "of the excerpt, as these are too few"


def test_balancing_changes_no_product(fp32):
    generator = np.random.default_rng(0)
    first = linear_nodes(fp32)[0]
    weight = numpy_helper.to_array(large_constants(fp32)[first.input[1]])
    states = generator.normal(size=(5, weight.shape[0])) * np.linspace(0.1, 9, weight.shape[0])
    ranges = even_ranges(fp32)
    ranges[first.input[0]] = np.abs(states).max(axis=0)
    scale = balance(fp32, ranges)[first.input[0]]
    assert np.allclose((states / scale) @ (weight * scale[:, None]), states @ weight, atol=1e-5)
    balanced = np.abs(states / scale).max(axis=0)
    plain = np.abs(states).max(axis=0)
    assert balanced.max() / np.median(balanced) < 0.7 * plain.max() / np.median(plain)


def test_balancing_does_not_lift_channels_that_calibration_saw_silent(fp32):
    ranges = even_ranges(fp32)
    name = next(iter(ranges))
    wanted = balance(fp32, ranges)[name]
    ranges[name][:5] = 0
    assert np.array_equal(balance(fp32, ranges)[name], wanted)


def test_int8_rounds_to_half_a_step_and_keeps_zeros():
    weight = np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32)
    weight[:, 2] = 0
    for axis in (0, 1):
        values, scale = int8_along(weight, axis)
        assert values.dtype == np.int8
        assert np.abs(values).max() == 127
        assert (np.abs(values * scale - weight) <= scale * 0.5001).all()
        assert (values[:, 2] == 0).all()


@pytest.mark.parametrize("shape", [(20, 6), (2, 9, 4), (1, 3)])
def test_int8_that_multiplies_never_overflows_16_bits_in_pairs_and_rounds_to_half_a_step(shape):
    weight = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    weight[..., :2, 0] = 10  # both as large as can be: each gets half the range
    weight[..., :, 2] = 0
    values, scale = int8_for_products(weight)
    assert (values.dtype, scale.shape) == (np.int8, (*shape[:-2], 1, shape[-1]))
    assert (np.abs(values * scale - weight) <= scale * 0.5001).all()
    assert (values[..., :, 2] == 0).all()
    assert (values[..., :2, 0] == (64 if shape[-2] > 1 else 127)).all()
    rows = values.astype(int)
    for even in range(0, shape[-2] - 1, 2):
        for lowest, highest in ((0, 255), (255, 0), (255, 255)):
            pairs = lowest * rows[..., even, :] + highest * rows[..., even + 1, :]
            assert -(2**15) <= pairs.min() <= pairs.max() < 2**15


def test_every_matrix_that_multiplies_in_an_int8_graph_is_so(fp32, make_bundle):
    graph = quantize(fp32, "int8", calibration_windows(open_bundle(make_bundle()), 16)).graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    matrices = [
        constants[node.input[1]].astype(int) for node in graph.node if node.op_type == "MatMulInteger"
    ]
    assert len(matrices) == 15
    assert max(np.abs(matrix[::2] + matrix[1::2]).max() for matrix in matrices) <= 128


@pytest.mark.parametrize("precision", ["fp16", "int8", "int8-weights"])
def test_a_graph_that_is_not_what_it_should_be_is_refused(fp32, precision):
    check_structure(fp32, fp32, "fp32")
    with pytest.raises(ParityError, match=rf"not a true {precision} graph: .*FLOAT, wanted (FLOAT16|INT8)"):
        check_structure(fp32, fp32, precision)


def test_one_float_matrix_in_an_int8_graph_is_noticed(fp32):
    graph = quantize(fp32, "int8-weights", ())
    check_structure(graph, fp32, "int8-weights")
    with pytest.raises(ParityError, match="MatMulInteger nodes: 0, wanted 15"):
        check_structure(graph, fp32, "int8")
    stored = next(t for t in graph.graph.initializer if t.name.endswith("query/MatMul/weight"))
    stored.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(stored).astype(np.float32), stored.name))
    with pytest.raises(ParityError, match=r"query/MatMul/weight \[64, 64\]: FLOAT, wanted INT8"):
        check_structure(graph, fp32, "int8-weights")


def test_layers_with_the_same_weights_are_quantized_apart(make_bundle):
    model = QAModel.from_pretrained(make_bundle())
    first, second = model.encoder.layers
    second.load_state_dict(first.state_dict())
    graph = trace(model)
    windows = calibration_windows(open_bundle(make_bundle()), 16)
    int8 = quantize(graph, "int8", windows)
    check_structure(int8, graph, "int8")
    batch = collate(windows[:1])
    with torch.no_grad():
        wanted = model(**{name: torch.from_numpy(array) for name, array in batch.items()})
    seen = onnxruntime.InferenceSession(int8.SerializeToString()).run(None, batch)
    for name, logits in zip(("start_logits", "end_logits"), seen, strict=True):
        assert np.abs(wanted[name].numpy() - logits).max() < 1
    assert sum(isinstance(m, nn.Linear) for m in model.modules()) == len(linear_nodes(graph)) + 1
