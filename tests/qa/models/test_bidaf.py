"""BiDAF: hand-worked attention flow, its LSTMs against torch's own, the passage as one text, and what exports
make of it."""

import runpy
import sys
from collections import Counter

import numpy as np
import onnx
import pytest
import torch
from torch import nn

from export.onnx.exporter import export as export_onnx
from export.options import OnnxOptions, TFLiteOptions
from export.tflite.exporter import export as export_tflite
from qa.base.errors import UnsupportedExport
from qa.models.encoders import Encoder
from qa.models.model import QAModel
from qa.models.standalone.bidaf import AttentionFlow, BiDAFConfig, BiLSTM, passage_order


def test_attention_flow_by_hand():
    """Two tokens of the passage, two of the question, 2 D = 2; S = w_h h + w_u u + w_m (h * u)."""
    attention = AttentionFlow(2)
    with torch.no_grad():
        attention.context.weight.copy_(torch.tensor([[3.0, 0]]))
        attention.question.weight.copy_(torch.tensor([[0.0, 1]]))
        attention.product.copy_(torch.tensor([2.0, 1]))
    passage = torch.tensor([[[1.0, 0], [0, 1]]])
    question = torch.tensor([[[1.0, 1], [0, 2]]])
    # S[1,1] = 3 + 1 + 2 = 6    S[1,2] = 3 + 2 + 0 = 5    largest 6
    # S[2,1] = 0 + 1 + 1 = 2    S[2,2] = 0 + 2 + 2 = 4    largest 4
    e = np.exp
    h = np.array([[1, 0], [0, 1]])
    u = np.array([[1 / (1 + e(-1)), 1 / (1 + e(1))], [1 / (1 + e(2)), 1 / (1 + e(-2))]]) @ [[1, 1], [0, 2]]
    asked = np.array([1 / (1 + e(-2)), 1 / (1 + e(2))]) @ h
    wanted = np.concatenate([h, u, h * u, h * asked], axis=1)
    ones = torch.ones(1, 2)
    first = torch.tensor([[1.0, 0]])
    assert np.abs(attention(passage, question, ones, ones)[0].detach().numpy() - wanted).max() < 1e-6
    # Without the second token of the question, each of the passage finds the first; S[1, 1] = 6 and S[2, 1] =
    # 2 are left.
    seen = attention(passage, question, ones, first)[0]
    assert torch.allclose(seen[:, 2:4], torch.ones(2, 2))
    shares = torch.tensor([1 / (1 + np.exp(-4)), 1 / (1 + np.exp(4))], dtype=torch.float)
    assert torch.allclose(seen.diagonal(6), shares)
    # Without the second token of the passage, the question asks for the first.
    asked = attention(passage, question, first, ones)[0, :, 6:]
    assert torch.allclose(asked, torch.tensor([[1.0, 0], [0, 0]]))


def test_an_lstm_equals_torchs_with_biases_on_each_row_alone():
    ours = BiLSTM(5, 8, 0.2).eval()
    theirs = nn.LSTM(5, 8, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for end in ("", "_reverse"):
            weights = getattr(ours.lstm, f"weight_ih_l0{end}")
            getattr(theirs, f"weight_ih_l0{end}").copy_(weights[:, :-1])
            getattr(theirs, f"bias_ih_l0{end}").copy_(weights[:, -1])
            getattr(theirs, f"bias_hh_l0{end}").zero_()
            getattr(theirs, f"weight_hh_l0{end}").copy_(getattr(ours.lstm, f"weight_hh_l0{end}"))
    lengths = (9, 4, 1)
    states = torch.randn(3, 9, 5, generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(9) < torch.tensor(lengths)[:, None]).float()
    for row, n in enumerate(lengths):
        assert (ours(states, mask)[row, :n] - theirs(states[row : row + 1, :n])[0][0]).abs().max() < 1e-6


def test_order_of_a_passage_by_hand():
    """[CLS] q q [SEP] p p p [SEP] and padding; [CLS] q [SEP] p p [SEP] and more; and a window without any
    question."""
    mask = torch.tensor([[1] * 8 + [0] * 2, [1] * 6 + [0] * 4, [1] * 10])
    types = torch.tensor([[0] * 4 + [1] * 4 + [0] * 2, [0] * 3 + [1] * 3 + [0] * 4, [1] * 10])
    there, back = passage_order(mask, types, torch.arange(10)[None])
    assert there.tolist()[0] == [0, 4, 5, 6, 7, 8, 9, 9, 9, 9]
    assert there.tolist()[1] == [0, 3, 4, 5, 6, 7, 8, 9, 9, 9]
    assert back.tolist()[0] == [0, 0, 0, 0, 1, 2, 3, 4, 5, 6]
    assert back.tolist()[1] == [0, 0, 0, 1, 2, 3, 4, 5, 6, 7]
    assert there[2].tolist() == back[2].tolist() == list(range(10))


def test_a_window_equals_its_question_and_its_passage_read_apart(make_whole):
    model = make_whole("bidaf")
    generator = torch.Generator().manual_seed(0)
    question, passage = (torch.randint(1000, 30000, (1, n), generator=generator) for n in (5, 9))
    cls = torch.tensor([[101]])
    sep = torch.tensor([[102]])
    ids = torch.cat([cls, question, sep, passage, sep], dim=1)
    types = (torch.arange(17) > 6).long()[None]
    seen = model(ids, torch.ones_like(ids), types)["end_logits"][0]
    parts = model.encoder.model
    ones = torch.ones(1, 10)
    h = parts.contextual(parts.embedding(torch.cat([cls, passage], dim=1)), ones)
    u = parts.contextual(parts.embedding(torch.cat([cls, question, sep], dim=1)), ones[:, :7])
    g = parts.attend(h, u, ones, ones[:, :7])
    m = parts.modelling[1](parts.modelling[0](g, ones), ones)
    wanted = model.head.end(torch.cat([g, parts.end(m, ones)], dim=-1))[0, :, 0]
    assert (torch.cat([seen[:1], seen[7:16]]) - wanted).abs().max() < 1e-6


def test_parameter_count_of_the_papers_size():
    with torch.device("meta"):
        counts = QAModel(Encoder(BiDAFConfig()), "bidaf").count_parameters()
    embedding = 384 * 100 + (5 * 8 + 1) * 100 + 2 * 2 * (200 + 1) * 200
    lstms = sum(2 * 4 * 100 * (n_inputs + 1 + 100) for n_inputs in (200, 800, 200, 200))
    assert counts.without_embeddings == embedding + lstms + 3 * 200 + 2 * (1000 + 1) == 1_649_102
    assert counts.total - counts.without_embeddings == 30522 * 384 + 127 * 8


@pytest.mark.usefixtures("converted_once")
@pytest.mark.parametrize(
    ("flag", "operator"), [("fp32", "LSTM"), ("int8", "DynamicQuantizeLSTM"), ("int8-weights", "LSTM")]
)
def test_onnx_has_lstms_of_any_length_and_stores_shared_weights_once(
    make_whole_bundle, tmp_path, flag, operator
):
    bundle = make_whole_bundle("bidaf")
    exported = export_onnx(OnnxOptions(model=bundle.path, out=tmp_path / "out", quantize=flag))
    graph = onnx.load(exported.weights).graph
    operators = Counter(node.op_type for node in graph.node)
    assert operators[operator] == 5
    assert operators["LSTM"] + operators["DynamicQuantizeLSTM"] == 5
    assert not {"Loop", "Scan", "If"} & operators.keys()
    stored = onnx.TensorProto.FLOAT if flag == "fp32" else onnx.TensorProto.INT8
    # Four LSTMs of two directions and 4 x 24 gates: three read 49 values and 24 of their state, one 193.
    wanted = 3 * [2 * 96 * 49] + [2 * 96 * 193] + 4 * [2 * 96 * 24]
    sizes = Counter(int(np.prod(t.dims)) for t in graph.initializer if t.data_type == stored)
    assert {n: sizes[n] for n in set(wanted)} == Counter(wanted)


def test_tflite_is_refused_before_converting_and_leaves_nothing(
    make_whole_bundle, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("export.tflite.convert.convert", None)
    model = make_whole_bundle("bidaf").path
    with pytest.raises(UnsupportedExport, match=r"bidaf.*unrolls an LSTM.*384.*use python -m export\.onnx"):
        export_tflite(TFLiteOptions(model=model, out=tmp_path / "out", lengths=(128,)))
    assert list(tmp_path.iterdir()) == []
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["export.tflite", "--model", str(model), "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as caught:
        runpy.run_module("export.tflite", run_name="__main__")
    assert caught.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
