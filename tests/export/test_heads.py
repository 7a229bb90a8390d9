"""Every head through the real exporters, in fp32 and int8: a tiny encoder with it converts, agrees with
PyTorch, and is int8."""

import numpy as np
import onnx
import pytest
import torch
from comparisons import largest_difference
from quick import EVERY_HEAD, quick
from tflite_exports import ROW_SCALES
from torch import nn

from export.onnx.balance import MIN_SIDE
from export.parity import real_windows
from export.tflite.file import TFLiteFile
from export.tflite.structure import read_structure
from qa.models.heads import HEADS
from qa.runtime.runtimes import TorchRuntime, load_runtime
from qa.text.features import collate

LENGTH = 128
# Layers and convolutions of the heads left out are those of the heads kept.
# The first family's head is that of the tiny BERT, which other tests export.
SHOWN_BY_OTHERS = {"pointer", "linear", "2l-gelu", "4l-relu", "qermit-cnn", "qermit-cnn-multi"}
OTHER_HEADS = [head for head in HEADS if head not in SHOWN_BY_OTHERS]


@pytest.fixture(scope="module")
def exported(export_once):
    """A function: (parent, export) of a head on one layer of BERT. The exporters check parity on 40 real
    windows themselves."""
    return lambda head, *how: export_once(*how, encoder="bert-1-layer", head=head)


def linear_calls(bundle):
    """(calls of Linears in one run, those of them with two sides large enough for ONNX's int8); the pointer's
    run twice."""
    model = TorchRuntime(bundle.weights, 1).model
    calls = []
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(lambda linear, *_: calls.append(min(linear.weight.shape)))
    ids = torch.ones(1, 8, dtype=torch.long)
    model(ids, ids, ids)
    return len(calls), sum(side >= MIN_SIDE for side in calls)


@pytest.mark.parametrize("head", EVERY_HEAD)
def test_onnx_fp32_takes_a_batch_of_any_length(exported, head):
    parent, bundle = exported(head, "onnx", "fp32")
    windows = real_windows(parent)
    chosen = [windows[0], windows[20], next(w for w in windows if len(w.input_ids) == LENGTH)]
    reference = TorchRuntime(parent.weights, 1)
    runtime = load_runtime(bundle, 1)
    for batch in (chosen, chosen[:1]):
        assert largest_difference(reference, runtime, batch) < 1e-4


@pytest.mark.parametrize("head", EVERY_HEAD)
def test_onnx_int8_multiplies_every_large_matrix_in_int8(exported, head):
    parent, bundle = exported(head, "onnx", "int8")
    graph = onnx.load(bundle.weights).graph
    operators = [node.op_type for node in graph.node]
    assert operators.count("MatMulInteger") == linear_calls(parent)[1]
    assert not {"Conv", "LSTM", "Gemm"} & set(operators), "nothing multiplies by weights except MatMul"
    floats = [t for t in graph.initializer if t.data_type == onnx.TensorProto.FLOAT and len(t.dims) > 1]
    assert all(min(t.dims) < MIN_SIDE for t in floats)


@pytest.mark.parametrize("head", quick(rest=["pointer", *OTHER_HEADS]))
def test_tflite_fp32_is_exported(exported, head):
    exported(head, "tflite", "fp32")


@pytest.mark.parametrize("head", quick(rest=["pointer", *OTHER_HEADS]))
def test_tflite_int8_stores_every_matrix_as_int8_and_needs_plain_operators(exported, head):
    parent, bundle = exported(head, "tflite", "int8", (LENGTH,))
    structure = read_structure(TFLiteFile(bundle.weights.read_bytes()))
    n_linears = linear_calls(parent)[0] - 2  # one for query, key and value
    assert structure.weight_types["FULLY_CONNECTED", "INT8", False] == n_linears
    assert {key[1:] for key in structure.weight_types if key != ROW_SCALES} == {("INT8", False)}
    scales = 4 * parent.tokenizer.get_vocab_size()  # one for each row of the word table
    assert structure.constant_bytes["INT8"] > 0.98 * (structure.constant_bytes.total() - scales)
    plain = {
        *("ADD", "SUB", "MUL", "SUM", "MEAN", "MINIMUM", "REDUCE_MAX", "RSQRT", "SQUARED_DIFFERENCE"),
        *("FULLY_CONNECTED", "BATCH_MATMUL", "EMBEDDING_LOOKUP", "QUANTIZE", "DEQUANTIZE", "CAST", "CUMSUM"),
        *("GELU", "RELU", "TANH", "LOGISTIC", "SOFTMAX"),
        *("CONCATENATION", "PAD", "RESHAPE", "SLICE", "SPLIT", "TRANSPOSE"),
    }
    assert structure.all_operators <= plain


def test_a_question_head_on_an_encoder_without_token_types(export_once):
    """DistilBERT ignores the input, the head does not: it must stay one in the exported graph, and matter."""
    parent, bundle = export_once("onnx", encoder="distilbert", head="qermit-maxpool")
    runtime = load_runtime(bundle, 1)
    batch = collate([real_windows(parent)[0]])
    moved = batch | {"token_type_ids": np.roll(batch["token_type_ids"], 2, axis=1)}
    assert np.abs(runtime(batch)[0] - runtime(moved)[0]).max() > 1e-3
