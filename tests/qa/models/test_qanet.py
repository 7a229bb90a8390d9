"""QANet: hand-worked attention, positions, and its way to TFLite; test_standalone.py has what it shares with
others."""

import numpy as np
import pytest
import torch
from tflite_exports import ROW_SCALES

from export.options import TFLiteOptions
from export.tflite.exporter import export
from export.tflite.file import TFLiteFile
from export.tflite.structure import read_structure
from qa.models.standalone.qanet import ContextQueryAttention, position_table
from qa.runtime.runtimes import load_runtime

LENGTH = 128


def test_context_query_attention_by_hand():
    """Two context tokens, two question tokens, D = 2; S = w_c c + w_q q + w_m (c * q)."""
    attention = ContextQueryAttention(2)
    with torch.no_grad():
        attention.context.weight.copy_(torch.tensor([[1.0, 0]]))
        attention.question.weight.copy_(torch.tensor([[0.0, 1]]))
        attention.product.copy_(torch.tensor([2.0, 1]))
    context = torch.tensor([[[1.0, 0], [0, 1]]])
    question = torch.tensor([[[1.0, 1], [0, 2]]])
    # S[1,1] = 1 + 1 + 2 = 4    S[1,2] = 1 + 2 + 0 = 3
    # S[2,1] = 0 + 1 + 1 = 2    S[2,2] = 0 + 2 + 2 = 4
    e = np.exp
    rows = [[1 / (1 + e(-1)), 1 / (1 + e(1))], [1 / (1 + e(2)), 1 / (1 + e(-2))]]
    # By question token, over the context.
    columns = [[1 / (1 + e(-2)), 1 / (1 + e(2))], [1 / (1 + e(1)), 1 / (1 + e(-1))]]
    a = np.array(rows) @ [[1, 1], [0, 2]]
    b = np.array(rows) @ np.array(columns) @ [[1, 0], [0, 1]]
    c = np.array([[1, 0], [0, 1]])
    wanted = np.concatenate([c, a, c * a, c * b], axis=1)
    ones = torch.ones(1, 2)
    assert np.abs(attention(context, question, ones, ones)[0].detach().numpy() - wanted).max() < 1e-6
    # Without the second question token, each context token finds the first.
    seen = attention(context, question, ones, torch.tensor([[1.0, 0]]))[0, :, 2:4]
    assert torch.allclose(seen, torch.tensor([[1.0, 1], [1, 1]]))


def test_positions_by_hand():
    table = position_table(3, 4)
    assert torch.allclose(table[0], torch.tensor([0.0, 0, 1, 1]))
    wanted = torch.tensor([np.sin(2), np.sin(2e-4), np.cos(2), np.cos(2e-4)], dtype=torch.float)
    assert torch.allclose(table[2], wanted)


@pytest.mark.usefixtures("converted_once")
@pytest.mark.system  # tests of its ONNX files show the export of a model without an encoder
def test_tflite(make_whole_bundle, tmp_path):
    options = TFLiteOptions(make_whole_bundle("qanet").path, tmp_path / "out", "int8")
    exported = export(options)
    assert load_runtime(exported, 1).lengths == (128,), "not any length"
    types = read_structure(TFLiteFile(exported.weights.read_bytes())).weight_types
    assert {key[1:] for key in types if key != ROW_SCALES} == {("INT8", False)}
